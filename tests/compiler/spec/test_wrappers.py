"""Wrappers: what is read of them, and what is said of each mistake at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.press import PRESS
from support.specs import Files, edited, golden_name, problems_of, resolved
from ullage.expr.spell import spell
from ullage.spec.wrappers import FormulaValue, GivenValue, SlotValue

WRAPPERS = "wrappers.yaml"
SLOTS = "slots.yaml"


def wrong(*changes: tuple[str, str], path: str = WRAPPERS) -> Files:
    return edited(path, *changes, files=PRESS)


def test_a_name_alone_is_a_slot_before_it_is_a_formula(tmp_path: Path) -> None:
    attention, by_layer, mode = resolved(tmp_path, PRESS).spec.wrappers
    made = {argument.name: argument.value for argument in attention.make}
    assert isinstance(made["workspace"], SlotValue)
    assert isinstance(made["graph"], FormulaValue)
    found = made["table"]
    assert isinstance(found, SlotValue)
    assert (found.slot, found.at, found.flat) == ("table", None, True)
    planned = {argument.name: argument.value for argument in attention.plan}
    assert isinstance(planned["heads"], FormulaValue)
    assert isinstance(planned["scale"], GivenValue)
    assert by_layer.each is not None
    assert (by_layer.each.index, spell(by_layer.each.count)) == ("layer", "layers")
    assert mode.run == ()


def test_the_slot_of_a_name_that_is_a_parameter_too_is_meant_by_its_key(tmp_path: Path) -> None:
    by_layer = resolved(tmp_path, PRESS).spec.wrappers[1]
    marks = {argument.name: argument.value for argument in by_layer.plan}["marks"]
    assert isinstance(marks, SlotValue)


RULES: dict[str, Files] = {
    "a wrapper has the class of a library": wrong(
        ("library: press_kernels.Sampler", "library: press_kernels")
    ),
    "a library is named by identifiers": wrong(
        ("library: press_kernels.Sampler", "library: press-kernels.Sampler")
    ),
    "a library is named without reserved words": wrong(
        ("library: press_kernels.Sampler", "library: press_kernels.lambda.Sampler")
    ),
    "an argument of a library is no reserved word": wrong(("      number: 3", "      global: 3")),
    "a run has kinds that are known": wrong(("run: {query: tensor}", "run: {query: tensr}")),
    "what is given has a kind that is known": wrong(("{given: float}", "{given: number}")),
    "a wrapper that is declared twice is an error": {
        **PRESS,
        "more.yaml": "wrappers:\n  mode: {library: a.B, run: {}}\n",
    },
    "a wrapper has a run": wrong(("    run: {}\n", "")),
    "a wrapper has known keys": wrong(("    each: {part: heads}\n", "    eech: {part: heads}\n")),
    "a wrapper is made over known slots": wrong(("{slot: table, flat: true}", "{slot: tabel}")),
    "a name alone is a slot or a formula": wrong(("offsets: offsets\n", "offsets: offset\n")),
    "a name alone is not a slot and a parameter": wrong(("marks: {slot: marks}", "marks: marks")),
    "a wrapper is made of known names": wrong(("narrow: heads < 4", "narrow: headz < 4")),
    "a wrapper sees no axis": wrong(("number: 3", "number: requests + 1")),
    "a wrapper sees no live variable of a batch": wrong(("number: 3", "number: live_requests")),
    "a wrapper is the same for every worker": wrong(("number: 3", "number: max_tokens")),
    "a wrapper uses nothing that varies while serving": wrong(("upper(length)", "length")),
    "a library gets integers and truth values": wrong(("number: 3", "number: backend")),
    "the condition of a wrapper is true or false": wrong(
        ("    when: fancy\n    make", "    when: heads\n    make")
    ),
    "each has one index": wrong(("{layer: layers}", "{layer: layers, other: 2}")),
    "each has an index at all": wrong(("{layer: layers}", "{}")),
    "an index is counted by an integer": wrong(("{part: heads}", "{part: fancy}")),
    "an index has a name of its own": wrong(("{part: heads}", "{heads: 3}")),
    "a row is taken where there is an index": wrong(
        ("{slot: table, flat: true}", "{slot: table, at: layer}")
    ),
    "a row is taken at the index of its wrapper": wrong(
        ("at: layer, flat: true", "at: layers, flat: true")
    ),
    "a slot is in one axis where only its first extent varies": wrong(
        ("{slot: table, flat: true}", "{slot: token_table, flat: true}")
    ),
    "one runner has all slots of a wrapper": wrong(
        ("slots: all", "slots: [input_ids, workspace, marks, mode, tables]"),
        path="runners/eager.yaml",
    )
    | {
        SLOTS: PRESS[SLOTS].replace(
            "  mode: {", "  elsewhere: {shape: [4], dtype: int8, written_by: plan}\n  mode: {"
        ),
        WRAPPERS: PRESS[WRAPPERS].replace("modes: mode", "modes: mode, more: elsewhere"),
    },
    "one mode loads all slots of a wrapper": wrong(
        ("marks: {slot: marks}", "marks: {slot: marks}\n      prompts: prompts\n      mode: mode")
    )
    | {
        SLOTS: PRESS[SLOTS].replace(
            "  mode: {",
            "  prompts: {shape: [4], dtype: int8, written_by: plan, modes: [prompt]}\n  mode: {",
        )
    },
}


def test_these_wrappers_are_right_before_they_are_broken(tmp_path: Path) -> None:
    assert problems_of(tmp_path, PRESS) == ""


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_shown_at_its_place(
    rule: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    found = problems_of(tmp_path, RULES[rule])
    assert found
    golden(golden_name(rule), found)
