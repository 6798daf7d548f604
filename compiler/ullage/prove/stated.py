"""What follows from a single assumption, perhaps for a condition that is assumed as well."""

from __future__ import annotations

from collections.abc import Sequence

from ullage.bound.assumptions import Assumptions
from ullage.expr.tree import Comparison, Expr, Integer, Logical, Not


def stating(claim: Expr, given: Sequence[Expr]) -> frozenset[Expr] | None:
    """Assumptions that state the claim: one, and the condition for which it does, if it has one.

    Ranges are stated so, as `1 <= requests`, or `not several or 1 <= requests` for other ranks.
    The first in order, since what is remembered of it must not depend on hashes.
    """
    given = Assumptions.of(given)
    for assumed in given:
        match assumed:
            case Logical("or", (Not(condition), stated)):
                if _is_as_strong(stated, claim) and condition in given.every:
                    return frozenset((assumed, condition))
            case _:
                if _is_as_strong(assumed, claim):
                    return frozenset((assumed,))
    return None


def _is_as_strong(stated: Expr, claim: Expr) -> bool:
    """Whether they are the same, or both bound one amount from below by numbers."""
    match stated, claim:
        case Comparison("<=", Integer(value), amount), Comparison("<=", Integer(bound), wanted):
            return bound <= value and amount == wanted
        case _:
            return stated == claim
