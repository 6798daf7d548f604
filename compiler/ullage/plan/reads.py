"""Reads of padded rows: who wants to find what in the tail of a slot."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.expr.spell import spell
from ullage.expr.tree import Expr
from ullage.plan.claims import Bounds
from ullage.spec.model import Range, Read, Reader


@dataclass(frozen=True, slots=True)
class PaddedRead:
    """One reader's read of padded rows in one mode; `condition` says for which configurations.

    `claims`: that the fill is within each limit of the slot, which is named.
    """

    reader: Reader
    read: Read
    condition: Expr
    fill: Expr | None
    bounds: Bounds | None
    claims: tuple[tuple[Expr, str], ...]

    @property
    def fill_as_written(self) -> str:
        """The fill in the author's words; empty if there is none."""
        return "" if self.read.fill is None else spell(self.read.fill)

    @property
    def wish(self) -> str:
        """What the reader wants to find, as the author wrote it."""
        if self.read.fill is not None:
            return f"a fill of {spell(self.read.fill)}"
        return (
            "any value"
            if self.read.range is None
            else f"values in {spelled_range(self.read.range)}"
        )


@dataclass(frozen=True, slots=True)
class Wish:
    """What a read of padded rows comes to for one worker, whatever the mode."""

    read: Read
    fill: Expr | None
    bounds: Bounds | None
    claims: tuple[tuple[Expr, str], ...]


def spelled_range(bounds: Range) -> str:
    """A range as its author wrote it."""
    return f"[{spell(bounds.low)}, {spell(bounds.high)}]"
