"""Public bug reports as specs: what each case holds, read from one small file.

A case is a spec that states the right rule, made of the pieces under `spec` over a shared base,
with the configuration and the batches of the report, the numbers that are right, and the faulty
rules. The files of the spec are the texts as they stand in the case, so places point into them.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import yaml

FILES = Path(__file__).parent / "cases"
INDEX = Path(__file__).parent / "index.yaml"

Files = Mapping[str, str]
Plain = int | bool | str | list[int]
Configuration = Mapping[str, Plain]
Numbers = Mapping[str, int]

_BASE = """\
ullage: 1
engine: corpus
axes:
  requests: {unit: requests, doc: rows of the batch}
  tokens: {unit: tokens, doc: token positions}
workers:
  target: {doc: the served model}
definitions:
  one: {value: 1, unit: tokens/requests}
  one_token: {value: 1, unit: tokens}
  one_request: {value: 1, unit: requests}
"""

_EAGER = """\
runner: eager
workers: [target]
modes: all
slots: all
steps:
  - {do: load}
"""


@dataclass(frozen=True, slots=True)
class Formula:
    """A rule of the engine for one axis or slot, and what it comes to in the report."""

    of: str
    formula: str
    expect: Literal["proved", "overflows", "wastes"]
    gives: int | None = None
    runner: str = "eager"
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """What the engine did: a formula beside the spec, the spec with other texts, or both.

    `refused` is the code of the error, `at` the text that it points to. Without it the formula is
    decided; `batch` is what does not fit, if it is another one than those of the right rule.
    """

    change: Mapping[str, str] = field(default_factory=dict)
    formula: Formula | None = None
    refused: str | None = None
    at: str | None = None
    batch: Batch | None = None


@dataclass(frozen=True, slots=True)
class Brought:
    """What one rank brings: numbers, and one list for each value that every request has."""

    mode: str
    live: Numbers
    requests: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of the report with the batches of other ranks, and what is right for it.

    `needs` are extents after padding, `padding` the rows of an axis that padding adds, `tails` what
    stands in those, `takes` which runners have the batch. `configuration` is what differs from that
    of the case.
    """

    own: Brought
    others: tuple[Brought, ...]
    configuration: Configuration
    needs: Numbers
    padding: Numbers
    tails: Numbers
    takes: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Case:
    """One report. `capacity` and `largest` value are numbers of `runner` in the configuration."""

    name: str
    title: str
    report: str
    files: Files
    configuration: Configuration
    batches: tuple[Batch, ...]
    capacity: Numbers
    largest: Numbers
    illegal: tuple[Configuration, ...]
    right: tuple[Formula, ...]
    faulty: tuple[Fault, ...]
    runner: str

    @property
    def number(self) -> str:
        """What its file starts with."""
        return self.name.partition("_")[0]


def cases() -> tuple[Case, ...]:
    """All cases, by name."""
    return tuple(read_case(path) for path in sorted(FILES.glob("*.yaml")))


@dataclass(frozen=True, slots=True)
class NotStated:
    """A report that no spec can state, and why."""

    report: str
    why: str


@dataclass(frozen=True, slots=True)
class Index:
    """The numbers of the cases that the fast suite runs, and the reports that are left out."""

    fast: tuple[str, ...]
    not_stated: tuple[NotStated, ...]


@functools.cache
def index() -> Index:
    """What is known of the corpus as a whole."""
    said = yaml.safe_load(INDEX.read_text())
    left_out = (NotStated(each["report"], each["why"]) for each in said["not_stated"])
    return Index(tuple(said["fast"]), tuple(left_out))


def read_case(path: Path) -> Case:
    """The case of one file."""
    text = path.read_text()
    said = yaml.safe_load(text)
    return Case(
        path.stem,
        said["title"],
        said["report"],
        dict(_files(text)),
        said.get("configuration", {}),
        tuple(_batch(each) for each in said.get("batches", ())),
        said.get("capacity", {}),
        said.get("largest", {}),
        tuple(said.get("illegal", ())),
        tuple(_formula(each, "proved") for each in said.get("right", ())),
        tuple(_fault(each) for each in said["faulty"]),
        said.get("runner", "eager"),
    )


def _files(text: str) -> Iterator[tuple[str, str]]:
    """The texts of the spec by path: those of the case, and the base where it has none."""
    pieces = dict(_pieces(text))
    yield "base.yaml", _BASE
    if _needs_eager(pieces.values()):
        yield "eager.yaml", _eager(pieces)
    for name, piece in pieces.items():
        yield f"{name}.yaml", piece


def _needs_eager(pieces: Collection[str]) -> bool:
    """Whether the case has no runner of its own, or leaves the last one to the base."""
    runners = [piece for piece in pieces if piece.startswith("runner:")]
    return not runners or any("fallback: eager" in piece for piece in runners)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """The mappings under `spec` as they are written."""
    lines = text.splitlines(keepends=True)
    for key, node in _items(_items_of(text)["spec"]):
        written = lines[node.start_mark.line : node.end_mark.line]
        yield key, textwrap.dedent("".join(written))


def _eager(pieces: Mapping[str, str]) -> str:
    """A runner that launches every mode; all readers of the case read in its one step."""
    readers = [
        name
        for piece in pieces.values()
        for section, node in _items_of(piece).items()
        if section == "readers"
        for name, _ in _items(node)
    ]
    return f"{_EAGER}  - {{step: forward, readers: [{', '.join(readers)}]}}\n"


def _items_of(text: str) -> dict[str, yaml.Node]:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    return dict(_items(node))


def _items(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise TypeError("the pieces of a spec are mappings")
    for key, value in node.value:
        yield key.value, value


def _brought(said: Mapping[str, object]) -> Brought:
    mode, live = said.get("mode", "decode"), said.get("live", {})
    if not isinstance(mode, str) or not isinstance(live, dict):
        raise TypeError("a batch has the name of a mode and a mapping of live values")
    columns = {name: tuple(value) for name, value in live.items() if isinstance(value, list)}
    return Brought(mode, {k: v for k, v in live.items() if k not in columns}, columns)


def _batch(said: Mapping[str, object]) -> Batch:
    others = said.get("others", [])
    if not isinstance(others, list):
        raise TypeError("the batches of other ranks are a list")
    return Batch(
        _brought(said),
        tuple(_brought({"mode": said.get("mode", "decode"), **each}) for each in others),
        _mapping(said, "configuration"),
        _mapping(said, "needs"),
        _mapping(said, "padding"),
        _mapping(said, "tails"),
        {name: bool(taken) for name, taken in _mapping(said, "takes").items()},
    )


def _mapping(said: Mapping[str, object], key: str) -> dict[str, int]:
    found = said.get(key, {})
    if not isinstance(found, dict):
        raise TypeError(f"{key} is a mapping")
    return found


def _formula(said: Mapping[str, object], expect: str) -> Formula:
    known = ("of", "formula", "expect", "gives", "runner", "mode")
    given = {"expect": expect, **{key: said[key] for key in known if key in said}}
    return Formula(**given)  # type: ignore[arg-type]  # as they stand in the case


def _fault(said: Mapping[str, object]) -> Fault:
    formula = _formula(said, "overflows") if "formula" in said else None
    refused, at = said.get("refused"), said.get("at")
    change = said.get("change", {})
    if not isinstance(change, dict):
        raise TypeError("change is a mapping from texts to texts")
    batch = said.get("batch")
    return Fault(
        change,
        formula,
        None if refused is None else str(refused),
        None if at is None else str(at),
        _batch(batch) if isinstance(batch, dict) else None,
    )
