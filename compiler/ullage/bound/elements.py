"""The elements of a slot that is written once: each by its position, which counts from 0."""

from __future__ import annotations

from collections.abc import Iterable

from ullage.bound.problem import Live
from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Binary, Comparison, Expr, Integer, Name
from ullage.spec.elements import Elements


def drawn_position(elements: Elements, extents: Iterable[Expr]) -> tuple[Live, ...]:
    """The position as a variable with that of each element; none where they are all the same.

    `extents`: of the slot, over parameters.
    """
    if not elements.position:
        return ()
    count: Expr = Integer(1)
    for extent in extents:
        count = Binary("*", count, extent)
    last = fold(Binary("-", fold(count), Integer(1)))
    label = f"position '{elements.position}'"
    return (Live(elements.position, Integer(0), last, TRUE, "own", label, elements.place),)


def inside(drawn: Iterable[Live]) -> tuple[Expr, ...]:
    """That each variable lies in its range."""
    return tuple(
        claim
        for each in drawn
        for claim in (
            Comparison("<=", each.low, Name(each.name)),
            Comparison("<=", Name(each.name), each.high),
        )
    )
