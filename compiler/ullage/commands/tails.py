"""What the rows behind the live ones hold, grouped by the modes that agree on it."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.expr.tree import Expr
from ullage.plan.model import PlannedSlot


@dataclass(frozen=True, slots=True)
class TailRule:
    """One content of the padded rows, who asked for it, and in which modes it is written."""

    fill: Expr | None
    readers: tuple[str, ...]
    modes: tuple[str, ...]


def tail_rules(slot: PlannedSlot) -> tuple[TailRule, ...]:
    """The rules of a slot in the order of its modes."""
    modes: dict[tuple[Expr | None, tuple[str, ...]], list[str]] = {}
    for mode, tail in slot.tails.items():
        modes.setdefault((tail.fill, tail.readers), []).append(mode)
    return tuple(TailRule(fill, readers, tuple(names)) for (fill, readers), names in modes.items())
