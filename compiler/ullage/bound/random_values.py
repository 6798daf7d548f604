"""One random value of a parameter's range."""

from __future__ import annotations

import random

from ullage.bound.problem import Variable
from ullage.expr.environment import Environment, EvaluationError, Value
from ullage.expr.evaluate import evaluate
from ullage.expr.tree import Expr, Integer

ELEMENTS = 4
# Sizes that divide each other are powers of two, and small ones; others are as likely as these.
LARGEST_POWER = 7
REACHES = (1, 4, 12, 100, 5_000, 2**31)


def draw_value(variable: Variable, sample: Environment, source: random.Random) -> Value:
    """A random value of a parameter's range, given those before it; near its lower end mostly."""
    if variable.type == "bool":
        return source.random() < 0.5
    low = end_of(variable.low, sample, 0)
    high = end_of(variable.high, sample, low + 64)
    if high < low:
        return low  # no value is legal: the guard is false here, or something else drawn again
    if variable.type == "list":
        return _drawn_list(low, high, source)
    if source.random() < 0.5:
        return max(low, min(high, 1 << source.randint(0, LARGEST_POWER)))
    return source.randint(low, min(high, low + source.choice(REACHES)))


def _drawn_list(low: int, high: int, source: random.Random) -> list[int]:
    """Some elements, in two of three cases multiples of one power of two."""
    step = 1 << source.randint(0, LARGEST_POWER) if source.random() < 0.67 else 1
    reach = step * source.choice((4, 16, 64))
    drawn = (low + source.randint(0, reach) for _ in range(ELEMENTS))
    return sorted({max(low, min(high, each // step * step)) for each in drawn})


def end_of(end: Expr | None, sample: Environment, default: int) -> int:
    """The value of an end of a range; the default where there is none, or it has no value."""
    if end is None:
        return default
    if isinstance(end, Integer):
        return end.value
    try:
        value = evaluate(end, sample)
    except EvaluationError:
        return default  # no value of this configuration is legal, or its guard is false here
    return value if isinstance(value, int) else default
