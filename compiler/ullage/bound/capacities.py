"""What the deriver hands on: capacities in closed form, each with its derivation and witness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ullage.bound.steps import Step
from ullage.expr.tree import Expr


@dataclass(frozen=True, slots=True)
class Elimination:
    """One live variable replaced by the end of its range that makes the extent largest."""

    variable: str
    value: Expr
    extent: Expr


@dataclass(frozen=True, slots=True)
class Candidate:
    """The largest extent of one mode, or of one branch of it.

    `formula` and `condition` are over parameters only; the branch can occur exactly where the
    condition holds. `witness` gives every live variable of the mode, over parameters only.
    `tight` claims that the formula is no more than the extent there in the largest of some rounds;
    `others` are the origins of what the other ranks bring in them.
    `binding` says that the capacity's formula names this candidate; one that does not is never
    larger than one that is.
    """

    mode: str
    condition: Expr
    formula: Expr
    witness: Mapping[str, Expr]
    eliminations: tuple[Elimination, ...]
    tight: Step
    binding: bool
    others: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of one target of one runner: the maximum over its candidates.

    `sound` claims extent <= formula for each mode; `attained` claims that the formula is no more
    than the largest binding candidate.
    """

    runner: str
    target: str
    formula: Expr
    candidates: tuple[Candidate, ...]
    sound: Mapping[str, Step]
    attained: Step

    @property
    def binding(self) -> tuple[Candidate, ...]:
        """The candidates that the formula names."""
        return tuple(candidate for candidate in self.candidates if candidate.binding)


@dataclass(frozen=True)
class Capacities:
    """All capacities of all runners, in declared order."""

    by_target: tuple[Capacity, ...]

    def of(self, runner: str, target: str) -> Capacity:
        """The capacity of `target` (an axis, or `slot.dimension`) of `runner`."""
        return self._named[runner, target]

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Capacity]:
        return {(each.runner, each.target): each for each in self.by_target}
