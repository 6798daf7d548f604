"""Which totals over the requests of a batch are those of some requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage.bound.problem import Live
from ullage.expr.environment import Value
from ullage.expr.evaluate import evaluate_integer
from ullage.expr.tree import Binary, Call, Expr, Name

MOST_STATES = 100_000
"""How many combinations of totals are looked at before lengths are given up."""


def is_derived(live: Live) -> bool:
    """Whether a variable is a total that follows from the values that a batch brings."""
    return live.origin == "total" and not _is_sum(live)


def _is_sum(live: Live) -> bool:
    """Whether it is the plain total of a value of each request, which takes every value."""
    return live.name.startswith("total(") and isinstance(live.low, Binary)


def realised(live: Sequence[Live], values: Mapping[str, Value]) -> bool:
    """Whether requests exist whose lengths have the totals among the values."""
    totals = [each for each in live if each.name in values and _is_sum(each)]
    return all(_has_lengths(each, live, values) for each in totals)


def _has_lengths(total: Live, live: Sequence[Live], values: Mapping[str, Value]) -> bool:
    """Whether `count` lengths within their range add up to the total, and so do their quotients."""
    count, low = _factors(total.low, values)
    _, high = _factors(total.high, values)
    divided = ((each.name, _divisor(total, each)) for each in live if each.name in values)
    divisors = {
        name: evaluate_integer(divisor, values) for name, divisor in divided if divisor is not None
    }
    wanted = tuple(evaluate_integer(Name(name), values) for name in (total.name, *divisors))
    if not divisors:
        return count * low <= wanted[0] <= count * high
    return _reaches(count, range(low, high + 1), tuple(divisors.values()), wanted)


def _factors(product: Expr, values: Mapping[str, Value]) -> tuple[int, int]:
    """The two factors of `count * length`."""
    if not isinstance(product, Binary):
        raise AssertionError("a total ranges over a number of requests times a length")
    return evaluate_integer(product.left, values), evaluate_integer(product.right, values)


def _divisor(total: Live, each: Live) -> Expr | None:
    """The divisor, if a variable is the total of quotients of the lengths of another total."""
    match each.low:
        case Call("cdiv", (Name(name=name), divisor)) if name == total.name:
            return divisor
        case _:
            return None


def _reaches(count: int, lengths: range, divisors: Sequence[int], wanted: tuple[int, ...]) -> bool:
    """Whether `count` lengths have the wanted sum and sums of quotients; False if that is open."""
    states = {(0,) * len(wanted)}
    for _ in range(count):
        if len(states) * len(lengths) > MOST_STATES:
            return False
        states = {
            reached
            for state in states
            for length in lengths
            for reached in (_with_length(state, length, divisors),)
            if all(part <= limit for part, limit in zip(reached, wanted, strict=True))
        }
    return wanted in states


def _with_length(state: tuple[int, ...], length: int, divisors: Sequence[int]) -> tuple[int, ...]:
    added = (length, *(-(-length // divisor) for divisor in divisors))
    return tuple(part + more for part, more in zip(state, added, strict=True))
