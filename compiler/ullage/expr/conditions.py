"""Conditions as lists of what they say: the parts of a conjunction, the ways of a disjunction."""

from __future__ import annotations

from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Expr, Logical, conjunction, negation


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """What a condition says one after another; nothing of one that always holds."""
    if isinstance(condition, Logical) and condition.junction == "and":
        return condition.operands
    return () if condition == TRUE else (condition,)


def merged(guards: list[Expr]) -> list[Expr]:
    """Guards that hold where one of the given does: two that differ in one sign become one."""
    for place, guard in enumerate(guards):
        for later, other in enumerate(guards[place + 1 :], place + 1):
            common = _but_for_one_sign(conjuncts(guard), conjuncts(other))
            if common is not None:
                rest = [each for at, each in enumerate(guards) if at not in (place, later)]
                return merged([*rest, conjunction(*common)])
    return guards


def _but_for_one_sign(these: tuple[Expr, ...], those: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """What two conjunctions have in common where they differ in the sign of one part at most."""
    common = tuple(each for each in these if each in those)
    own, other = ([each for each in parts if each not in common] for parts in (these, those))
    if not own or not other:
        return common
    is_opposite = len(own) == len(other) == 1 and fold(negation(own[0])) == fold(other[0])
    return common if is_opposite else None
