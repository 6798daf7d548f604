"""What declared ranges say in numbers, without asking a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ullage.bound.polarity import Polarity
from ullage.expr.tree import Comparison, Expr, Integer, Name
from ullage.spec.check import ResolvedSpec


@dataclass(frozen=True, slots=True)
class Declared:
    """Knows what the declared ranges of parameters say in numbers, and nothing else."""

    resolved: ResolvedSpec

    def __call__(self, claim: Expr, given: tuple[Expr, ...], /) -> bool:
        match claim:
            case Comparison("<=", Integer(value=bound), Name(name=name)):
                return any(
                    each.name == name
                    and each.range is not None
                    and isinstance(each.range.low, Integer)
                    and each.range.low.value >= bound
                    for each in self.resolved.spec.parameters
                )
            case _:
                return False

    def refutes(self, claim: Expr, given: tuple[Expr, ...], /) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Counts:
    """Says of a parameter, definition or live variable that it has no negative values.

    `lows` are the least values of live variables.
    """

    resolved: ResolvedSpec
    for_worker: Callable[[Expr], Expr]
    lows: Mapping[str, Expr]

    def __call__(self, name: str) -> bool:
        lows = {**self.lows}
        for parameter in self.resolved.spec.parameters:
            if parameter.range is not None and self.for_worker(Name(parameter.name)) == Name(name):
                lows[name] = parameter.range.low
        for definition in self.resolved.spec.definitions:
            if self.for_worker(Name(definition.name)) == Name(name):
                lows[name] = self.for_worker(definition.value)
        return name in lows and Polarity((), self).is_count(lows[name])
