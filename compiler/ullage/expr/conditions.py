"""Conditions as lists of what they say, and the choices that they decide."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.expr.simplify import fold
from ullage.expr.tree import (
    TRUE,
    Comprehension,
    Conditional,
    Expr,
    Logical,
    Not,
    children,
    conjunction,
    disjunction,
    negation,
    rebuild,
)


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """What a condition says one after another; nothing of one that always holds."""
    if isinstance(condition, Logical) and condition.junction == "and":
        return condition.operands
    return () if condition == TRUE else (condition,)


def clauses(condition: Expr) -> Iterator[Expr]:
    """What a condition says, in small parts: `c or a and b` says `c or a`, and `c or b`."""
    operands = condition.operands if isinstance(condition, Logical) else ()
    if isinstance(condition, Logical) and condition.junction == "and":
        for each in operands:
            yield from clauses(each)
        return
    several = next((each for each in operands if len(conjuncts(each)) > 1), None)
    if several is None:
        yield condition
        return
    others = [each for each in operands if each is not several]
    for each in conjuncts(several):
        yield from clauses(disjunction(*others, each))


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


def left_open(condition: Expr, known: Expr) -> Expr:
    """What a condition says beyond what is known."""
    said = conjuncts(known)
    return conjunction(*(part for part in conjuncts(condition) if part not in said))


def where_holds(node: Expr, condition: Expr) -> Expr:
    """The expression where a condition holds: the choices that it decides are made."""
    for part in conjuncts(condition):
        if isinstance(part, Not):
            node = with_choice_made(node, part.operand, False)
        else:
            node = with_choice_made(node, part, True)
    return node


def with_choice_made(node: Expr, condition: Expr, holds: bool) -> Expr:
    """The expression where a condition holds, or does not."""
    if isinstance(node, Conditional) and node.condition == condition:
        return with_choice_made(node.then if holds else node.otherwise, condition, holds)
    if isinstance(node, Comprehension):
        return node
    parts = children(node)
    if not parts:
        return node
    return rebuild(node, tuple(with_choice_made(part, condition, holds) for part in parts))
