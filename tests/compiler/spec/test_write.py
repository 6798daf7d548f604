"""Writing is the inverse of loading: nothing that a spec says is lost, and nothing is added."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings

from support.barrel import BARREL
from support.canal import CANAL
from support.cask import CASK
from support.dipper import DIPPER
from support.flume import FLUME
from support.ladle import LADLE
from support.meaning import meaning, references, same_meaning, without_places
from support.press import PRESS
from support.random_specs import random_spec
from support.sluice import SLUICE, WEIR
from support.small_specs import mode_text, small
from support.spec_records import specs
from support.spec_words import LOOK_LIKE_YAML
from support.specs import MINI, Files, edited, loaded
from support.tank import TANK
from ullage.expr.errors import ExpressionError
from ullage.spec import elements, model, runner_parts, wrappers
from ullage.spec.load import load_spec
from ullage.spec.model import NamedText, Spec
from ullage.spec.write import write_spec
from ullage.text.sources import load_sources
from ullage.text.write import WIDTH

SGLANG = Path(__file__).parents[3] / "specs" / "sglang"
_WITH_DEFINITION = edited(
    "engine.yaml",
    ("rows: align_up(max_requests, tp_size)", "rows: {value: max_requests, when: sync}"),
)
_WITH_READER = edited(
    "slots.yaml",
    ("    doc: reads one padded slot\n", "    when: sync\n"),
    files=_WITH_DEFINITION,
)
_WITH_FORMULAS = edited(
    "audits/stated.yaml",
    ("{runner: eager,", "{runner: quick,"),
    ("- runner: eager", "- runner: quick"),
    ("audit: stated\ndoc: the sizes that the engine states", "audit: quoted"),
    files=_WITH_READER,
)
GUARDED = edited(
    "runners/eager.yaml",
    ("runner: eager", "runner: quick"),
    ("step: autotune, modes: [decode]", "step: settle, modes: [idle]"),
    ("modes: all", "modes: [decode, idle]"),
    ("slots: all", "slots: [input_ids, lengths, indices]"),
    ("- {do: load}", "- {do: load, doc: before everything else}"),
    files=_WITH_FORMULAS,
)
_WITH_LIVE_RANGE = edited(
    "slots.yaml",
    ("input_ids, range: [0, 99]}", "input_ids, range: [0, 99], live_range: [1, 98]}"),
    ("fill: 1}", "fill: 1, scatters: true}"),
    files=SLUICE,
)
_CAPTURES = """\
captures:
  decode: {modes: [idle], free: {tokens: max(captured) > 2}}
  idle: [decode]
limits: {requests: max(captured)}
promises: {decode: requests <= max(captured) and requests >= 1, idle: requests <= max(captured)}
"""
WITH_ANOTHER_FALLBACK = edited(
    "runners/decode_graph.yaml",
    ("fallback: eager", f"{_CAPTURES}fallback: plain"),
    files=edited("runners/eager.yaml", ("runner: eager", "runner: plain"), files=_WITH_LIVE_RANGE),
)
_HALVES = small(
    *(
        mode_text(name, live={"n": "1; cap"}, requests="n", tokens="n", pipeline=["pad"])
        for name in ("decode", "whole")
    ),
    axes=("raw: {begins_as: requests}", "second: {begins_as: 0}"),
    transforms=("pad: {requests: requests + 1}", "halve: {second: tokens - tokens // 2}"),
    pipeline="[pad, {transform: halve, modes: [decode]}]",
)
SMALL: Mapping[str, Files] = {
    "halves": _HALVES,
    "mini": MINI,
    "guarded": GUARDED,
    "barrel": BARREL,
    "cask": CASK,
    "dipper": DIPPER,
    "flume": FLUME,
    "ladle": LADLE,
    "tank": TANK,
    "sluice": SLUICE,
    "weir": WEIR,
    "canal": CANAL,
    "press": PRESS,
    "other sluice": WITH_ANOTHER_FALLBACK,
}


@cache
def small_spec(name: str) -> Spec:
    return load(SMALL[name])


@cache
def sglang() -> Spec:
    return load_spec(load_sources(SGLANG))


def load(files: Files) -> Spec:
    with TemporaryDirectory() as folder:
        return loaded(Path(folder), files)


def check_round_trip(spec: Spec) -> Spec:
    """The spec as it is loaded again."""
    files = write_spec(spec)
    again = load(files)
    assert meaning(again) == meaning(spec)
    assert write_spec(again) == files
    return again


@pytest.mark.slow
def test_the_spec_of_sglang_survives() -> None:
    """But for groups, of which runners name the slots then."""

    def named(spec: Spec) -> frozenset[tuple[str, str, str]]:
        return frozenset(each for each in references(spec) if each[0] != "slot or group")

    assert named(check_round_trip(sglang())) == named(sglang())


@pytest.mark.parametrize("name", SMALL)
def test_small_specs_survive(name: str) -> None:
    spec = small_spec(name)
    assert references(check_round_trip(spec)) == references(spec)


@pytest.mark.parametrize("seed", range(12))
def test_random_specs_that_make_sense_survive(seed: int) -> None:
    check_round_trip(load(random_spec(seed)))


@given(specs())
@settings(max_examples=60)
@pytest.mark.slow
def test_whatever_a_spec_can_say_survives(spec: Spec) -> None:
    check_round_trip(spec)


@pytest.mark.parametrize("text", LOOK_LIKE_YAML)
def test_texts_that_look_like_yaml_survive(text: str) -> None:
    """In brackets, in blocks, and where a line is too short for them."""
    spec = small_spec("mini")
    long = text + " padded" * 20
    changed = replace(
        spec,
        doc=long,
        axes=tuple(replace(axis, doc=text) for axis in spec.axes),
        workers=tuple(replace(worker, doc=long) for worker in spec.workers),
        families=tuple(replace(family, doc=text) for family in spec.families),
        constraints=tuple(replace(each, reason=long + text) for each in spec.constraints),
    )
    check_round_trip(changed)


def test_the_written_form_is_the_one_of_the_language(golden: Callable[[str, str], None]) -> None:
    files = write_spec(small_spec("mini"))
    golden("spec/written.txt", "".join(f"# {path}\n{text}" for path, text in files.items()))


def test_lines_are_short_where_yaml_lets_them_be() -> None:
    lines = [line for text in write_spec(sglang()).values() for line in text.splitlines()]
    assert max(map(len, lines)) <= WIDTH


def test_a_formula_that_stands_for_each_worker_is_written_once() -> None:
    assert (
        "{runner: eager, axis: requests, formula: rows, expect: proved}"
        in (write_spec(small_spec("mini"))["audits/stated.yaml"])
    )


def test_specs_that_differ_in_one_word_do_not_mean_the_same() -> None:
    other = load(edited("modes/decode.yaml", ("family: decode", "family: idle")))
    assert not same_meaning(small_spec("mini"), other)
    assert same_meaning(small_spec("mini"), load(MINI))


def test_what_only_the_author_could_spell_shortly_enough_is_refused_at_its_place() -> None:
    values = ", ".join(f"v{index}" for index in range(80))
    member = f"max_requests_of_one_rank in [{values}]"
    spec = load(edited("engine.yaml", ("rows: align_up(max_requests, tp_size)", f"rows: {member}")))
    with pytest.raises(ExpressionError) as raised:
        write_spec(spec)
    definition = spec.definitions[0]
    assert definition.name == "rows"
    assert raised.value.place == definition.value.place


# Each field of each record: one that nobody writes could be lost without a spec that shows it.

NOT_WRITTEN = {
    "place": "where something is written is up to the writer",
    "digest": "of the texts, not of what they say",
    "references": "repeat names that the records hold",
    "groups": "are written as the slots that they hold",
}
PARTS = tuple(each.__name__ for each in (elements, model, runner_parts, wrappers))
RECORDS = tuple(
    record
    for module in (model, wrappers)
    for _, record in inspect.getmembers(module, is_dataclass)
    if isinstance(record, type) and record.__module__ in PARTS
    if record is not model.Reference
)
FIELDS = [
    pytest.param(record, field.name, id=f"{record.__name__}.{field.name}")
    for record in RECORDS
    for field in fields(record)
    if field.name not in NOT_WRITTEN
]


@cache
def samples() -> tuple[Spec, ...]:
    return tuple(without_places(small_spec(name)) for name in SMALL)


@cache
def written(place: int) -> Mapping[str, str]:
    """What is written of one sample."""
    return write_spec(samples()[place])


def records_in(value: object, record: type) -> Iterator[Any]:
    """Every instance of a record of the model below `value`."""
    if isinstance(value, record):
        yield value
    if isinstance(value, tuple):
        for item in value:
            yield from records_in(item, record)
    elif isinstance(value, RECORDS):
        for field in fields(value):
            yield from records_in(getattr(value, field.name), record)


def exchanged(value: Any, old: object, new: object) -> Any:
    """`value` with `new` in the place of the very object `old`."""
    if value is old:
        return new
    if isinstance(value, tuple):
        return tuple(exchanged(item, old, new) for item in value)
    if isinstance(value, RECORDS):
        parts = {
            each.name: exchanged(getattr(value, each.name), old, new) for each in fields(value)
        }
        return replace(value, **parts)
    return value


def is_said(record: object, field: str) -> bool:
    """Whether a field says something that the others do not: not every step has a name or steps."""
    wanted = {"name": "call", "steps": "group"}.get(field)
    return not isinstance(record, model.Step) or wanted in (None, record.action)


def changes(record: type, field: str) -> Iterator[tuple[int, Spec]]:
    """The places of samples, each with what differs in one field, by a value of some sample."""
    values = [getattr(each, field) for each in records_in(samples(), record)]
    for place, spec in enumerate(samples()):
        for found in islice(records_in(spec, record), 3):
            others = [each for each in values if each != getattr(found, field)]
            if others and is_said(found, field):
                yield place, exchanged(spec, found, replace(found, **{field: others[0]}))


@pytest.mark.parametrize(("record", "field"), FIELDS)
@pytest.mark.slow
def test_no_field_of_the_model_is_left_out(record: type, field: str) -> None:
    pairs = list(changes(record, field))
    assert pairs, f"give '{field}' two different values in the samples"
    assert all(write_spec(changed) != written(place) for place, changed in pairs)


def test_the_samples_hold_every_record_of_the_model() -> None:
    assert {NamedText, runner_parts.Within, model.Range} <= set(RECORDS)
    assert all(list(records_in(samples(), record)) for record in RECORDS)
