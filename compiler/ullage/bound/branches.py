"""The branches of a capacity: one peak of one mode each, and how they are put together."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.eliminate import Peak
from ullage.bound.problem import ModeProblem
from ullage.expr.conditions import conjuncts
from ullage.expr.simplify import fold
from ullage.expr.tree import Call, Conditional, Expr, Integer


@dataclass(frozen=True, slots=True)
class Branch:
    """One peak of one mode, before the capacity is put together."""

    mode: ModeProblem
    cases: tuple[Expr, ...]
    extent: Expr
    condition: Expr
    peak: Peak

    @property
    def formula(self) -> Expr:
        """The peak in parameters."""
        return self.peak.formula


@dataclass(frozen=True, slots=True)
class Stated:
    """A branch as the capacity states it: `formula` may leave out what other branches cover.

    `attained` is what its witness has to attain.
    """

    branch: Branch
    formula: Expr
    attained: Expr

    @property
    def condition(self) -> Expr:
        """Where the branch can occur."""
        return self.branch.condition


def breadth(branch: Branch) -> tuple[int, int]:
    """Branches of other ranks' extents go first, then those that apply most widely."""
    foreign = any("@" in name for name in branch.peak.witness)
    return (0 if foreign else 1, len(conjuncts(branch.condition)))


def largest(stated: list[Stated]) -> Expr:
    """The maximum of the branches, each zero where it cannot occur."""
    parts = tuple(where(each.formula, each.condition) for each in stated)
    if not parts:
        return Integer(0)
    return fold(parts[0] if len(parts) == 1 else Call("max", parts))


def first_that_applies(stated: list[Stated]) -> Expr:
    """The first branch that can occur, the narrowest first: never above the largest."""
    result: Expr = Integer(0)
    for each in sorted(stated, key=lambda each: breadth(each.branch)):
        result = Conditional(each.condition, each.formula, result)
    return fold(result)


def where(formula: Expr, condition: Expr) -> Expr:
    return fold(Conditional(condition, formula, Integer(0)))
