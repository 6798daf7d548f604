"""Lower bounds of 0 and 1, by the shape of what is bounded.

Most claims about a spec say that an amount is not negative, or that a divisor is at least 1. They
follow from the same claims about the names within, which serve many others.
"""

from __future__ import annotations

from collections.abc import Callable

from ullage.expr.tree import (
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    negation,
)

Proves = Callable[[Comparison, tuple[Expr, ...]], bool]


def is_at_least(bound: int, node: Expr, given: tuple[Expr, ...], proves: Proves) -> bool:
    """Whether `bound <= node` follows under `given` for a bound of 0 or 1.

    `proves` decides about names. A divisor counts only if it is at least 1, since below that an
    expression has no value.
    """

    def least(bound: int, node: Expr, *more: Expr) -> bool:
        return is_at_least(bound, node, (*given, *more), proves)

    match node:
        case Integer(value=value):
            return bound <= value
        case Name():
            return proves(Comparison("<=", Integer(bound), node), given)
        case Binary("+", left, right):
            if not (least(0, left) and least(0, right)):
                return False
            # To ask for 0 again would double what is asked at every term of a sum.
            return bound == 0 or least(bound, left) or least(bound, right)
        case Binary("*", left, right):
            return least(bound, left) and least(bound, right)
        case Binary("//", left, right):
            return bound == 0 and least(0, left) and least(1, right)
        case Call("align_up" | "cdiv", (operand, divisor)):
            return least(bound, operand) and least(1, divisor)
        case Call("max", (_, _, *_) as arguments):
            return any(least(bound, each) for each in arguments)
        case Call("min", (_, _, *_) as arguments):
            return all(least(bound, each) for each in arguments)
        case Conditional(condition, then, otherwise):
            return least(bound, then, condition) and least(bound, otherwise, negation(condition))
        case _:
            return False
