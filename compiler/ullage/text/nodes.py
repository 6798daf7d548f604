"""The tree of a YAML file in which every scalar is still the text that the author wrote."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from ullage.place import Place


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of a scalar, from text offset `start` on, that stand side by side in the file."""

    start: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text: `off`, `017` and `2^31` are what they look like, a missing value is the empty text.

    `place` is the first unbroken run of content, without quotes. `runs` says where the other
    characters stand when the text is folded, spans lines or uses escapes; else it is empty.
    """

    text: str
    place: Place
    quoted: bool = False
    runs: tuple[Run, ...] = field(default=(), repr=False)

    def at(self, offset: int, width: int = 1) -> Place:
        """Where `width` characters from text offset `offset` stand, cut at the end of their run."""
        offset = min(max(offset, 0), len(self.text))
        width = max(1, min(width, len(self.text) - offset))
        if not self.runs:
            return self.place.within(offset, width)
        index = max(0, bisect_right(self.runs, offset, key=lambda run: run.start) - 1)
        run = self.runs[index]
        if index + 1 < len(self.runs):
            width = max(1, min(width, self.runs[index + 1].start - offset))
        return Place(self.place.file, run.line, run.column + offset - run.start, width)


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of a mapping."""

    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """`key: value` pairs in the order of the file; keys are distinct."""

    entries: tuple[Entry, ...]
    place: Place

    def get(self, key: str) -> Node | None:
        """The value of `key`, or None if it is not there."""
        return next((entry.value for entry in self.entries if entry.key.text == key), None)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Values in the order of the file."""

    items: tuple[Node, ...]
    place: Place


Node = Scalar | Mapping | Sequence


def kind_of(node: Node) -> str:
    """How a message calls a node."""
    match node:
        case Scalar(text="", quoted=False):
            return "nothing"
        case Scalar():
            return "text"
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
