"""An upper bound that lets each occurrence of a variable take its own end of the range."""

from __future__ import annotations

from ullage.bound.relations import Interval
from ullage.expr.simplify import fold
from ullage.expr.tree import Binary, Call, Conditional, Expr, Name, free_names, rebuild


def loosened(extent: Expr, variable: str, interval: Interval) -> Expr | None:
    """No less than `extent` for any value in the interval; None where a part has no direction.

    Not attained in general: `x + (10 - x)` is bounded by high + (10 - low).
    """
    return _bound(extent, variable, interval, upper=True)


def _bound(node: Expr, variable: str, interval: Interval, *, upper: bool) -> Expr | None:
    if variable not in free_names(node):
        return node
    directed: tuple[tuple[Expr, bool], ...]
    match node:
        case Name():
            return interval.high if upper else interval.low
        case Binary("+" | "*", left, right):
            directed = ((left, upper), (right, upper))
        case Binary("-" | "//", left, right):
            directed = ((left, upper), (right, not upper))
        case Call("align_up", (operand, alignment)) if variable not in free_names(alignment):
            directed = ((operand, upper), (alignment, upper))
        case Call("cdiv", (operand, divisor)):
            directed = ((operand, upper), (divisor, not upper))
        case Call("min" | "max", arguments) if len(arguments) > 1:
            directed = tuple((argument, upper) for argument in arguments)
        case Conditional(condition, then, otherwise) if variable not in free_names(condition):
            directed = ((condition, upper), (then, upper), (otherwise, upper))
        case _:
            return None
    parts = [_bound(part, variable, interval, upper=way) for part, way in directed]
    known = tuple(part for part in parts if part is not None)
    return fold(rebuild(node, known)) if len(known) == len(parts) else None
