"""Constant bounds of an expression over all legal configurations.

Coarse, but quick and always right: each subexpression is bounded by itself, whatever the guards
and constraints say. What this settles needs no solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field

from ullage.bound.problem import Domain, Variable
from ullage.expr.tree import (
    Binary,
    Boolean,
    Call,
    Comparison,
    Comprehension,
    Conditional,
    Enumerant,
    Expr,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
    Progression,
)

End = int | None


@dataclass(frozen=True, slots=True)
class Interval:
    """`low <= value <= high`; None where there is no bound."""

    low: End
    high: End


ANY = Interval(None, None)
TRUTH = Interval(0, 1)


@dataclass
class Intervals:
    """The interval of each expression over the names of one domain; other names are unbounded.

    The interval of a list is that of its elements.
    """

    domain: Domain
    known: dict[str, Interval] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._variables: Mapping[str, Variable] = {
            each.name: each for each in self.domain.variables
        }
        self._values = {each.name: each.value for each in self.domain.definitions}
        self._found: dict[Expr, Interval] = {}

    def of(self, node: Expr) -> Interval:
        """Bounds of the value of `node`."""
        if node not in self._found:
            self._found[node] = self._of(node)
        return self._found[node]

    def _of(self, node: Expr) -> Interval:
        match node:
            case Integer(value=value) | Boolean(value=value) | Enumerant(code=value):
                return Interval(int(value), int(value))
            case Comparison() | Logical() | Not():
                return TRUTH
            case Name(name=name):
                return self._name(name)
            case Binary(operator=operator, left=left, right=right):
                return _arithmetic(operator, self.of(left), self.of(right))
            case Conditional(then=then, otherwise=otherwise):
                return _hull(self.of(then), self.of(otherwise))
            case Call():
                return self._call(node)
            case Progression(first=first, end=end):
                return _hull(self.of(first), self.of(end))
            case ListOf(elements=elements) if elements:
                return _hull(*map(self.of, elements))
            case Comprehension():
                drawn = self.of(node.source)
                return self.knowing({node.variable: drawn}).of(node.element)
            case ListOf() | Over():
                return ANY

    def at_most(self, low: Expr, high: Expr) -> bool:
        """Whether `low <= high` whatever the values."""
        most, least = self.of(low).high, self.of(high).low
        return most is not None and least is not None and most <= least

    def knowing(self, names: Mapping[str, Interval]) -> Intervals:
        """The same, where some other names have bounds as well."""
        other = copy(self)
        other.known, other._found = {**self.known, **names}, {}
        return other

    def _name(self, name: str) -> Interval:
        if name not in self.known:
            self.known[name] = ANY  # what a cyclic guard would find
            self.known[name] = self._bounds_of(name)
        return self.known[name]

    def _bounds_of(self, name: str) -> Interval:
        if name in self._values:
            return self.of(self._values[name])
        variable = self._variables.get(name)
        if variable is None:
            return ANY
        if variable.type == "bool":
            return TRUTH
        low = None if variable.low is None else self.of(variable.low).low
        high = None if variable.high is None else self.of(variable.high).high
        return Interval(low, high)

    def _call(self, node: Call) -> Interval:
        match node.function, node.arguments:
            case (("min" | "max" | "upper"), (single,)):
                return self.of(single)
            case "min", arguments:
                return _least(*map(self.of, arguments))
            case "max", arguments:
                return _negative(_least(*(_negative(self.of(each)) for each in arguments)))
            case "next_in", (value, source):
                return Interval(self.of(value).low, self.of(source).high)
            case "align_up", (value, step):
                return _aligned(self.of(value), self.of(step))
            case "cdiv", (value, step):
                return _negative(_quotient(_negative(self.of(value)), self.of(step)))
            case _:
                return ANY


def _hull(*parts: Interval) -> Interval:
    lows, highs = [part.low for part in parts], [part.high for part in parts]
    return Interval(
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
    )


def _least(*parts: Interval) -> Interval:
    """The interval of the least of several values."""
    highs = [part.high for part in parts if part.high is not None]
    return Interval(_hull(*parts).low, min(highs, default=None))


def _negative(part: Interval) -> Interval:
    return Interval(
        None if part.high is None else -part.high, None if part.low is None else -part.low
    )


def _sum(left: Interval, right: Interval) -> Interval:
    return Interval(
        None if left.low is None or right.low is None else left.low + right.low,
        None if left.high is None or right.high is None else left.high + right.high,
    )


def _arithmetic(operator: str, left: Interval, right: Interval) -> Interval:
    match operator:
        case "+":
            return _sum(left, right)
        case "-":
            return _sum(left, _negative(right))
        case "*":
            return _product(left, right)
        case "//":
            return _quotient(left, right)
        case _:
            return Interval(0, None if right.high is None else max(0, right.high - 1))


def _product(left: Interval, right: Interval) -> Interval:
    ends = (left.low, left.high, right.low, right.high)
    if all(end is not None for end in ends):
        products = [a * b for a in (left.low, left.high) for b in (right.low, right.high)
                    if a is not None and b is not None]  # fmt: skip
        return Interval(min(products), max(products))
    if left.low is None or right.low is None or left.low < 0 or right.low < 0:
        return ANY
    zero = 0 in (left.high, right.high)
    return Interval(left.low * right.low, 0 if zero else None)


def _quotient(value: Interval, divisor: Interval) -> Interval:
    """Rounded down. A divisor is at least one; a larger one brings the quotient nearer to zero."""
    least = max(1, divisor.low or 1)
    low = high = None
    if value.low is not None:
        low = value.low // least if value.low < 0 else 0
        if value.low >= 0 and divisor.high is not None:
            low = value.low // max(1, divisor.high)
    if value.high is not None:
        high = value.high // least if value.high >= 0 else -1
        if value.high < 0 and divisor.high is not None:
            high = value.high // max(1, divisor.high)
    return Interval(low, high)


def _aligned(value: Interval, step: Interval) -> Interval:
    high = None
    if value.high is not None and step.high is not None:
        high = value.high + max(1, step.high) - 1
    return Interval(value.low, high)
