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
    """Says of a name whether it has no negative values.

    `lows` are the least values of parameters and live variables, and the values of definitions.
    """

    lows: Mapping[str, Expr]

    def __call__(self, name: str) -> bool:
        return name in self.lows and Polarity((), self).is_count(self.lows[name])


def declared_lows(resolved: ResolvedSpec, rewrite: Callable[[Expr], Expr]) -> Mapping[str, Expr]:
    """The least values of parameters, and the values of definitions, by their rewritten names."""
    lows: dict[str, Expr] = {}
    for parameter in resolved.spec.parameters:
        written = rewrite(Name(parameter.name))
        if parameter.range is not None and isinstance(written, Name):
            lows[written.name] = parameter.range.low
    for definition in resolved.spec.definitions:
        written = rewrite(Name(definition.name))
        if isinstance(written, Name):
            lows[written.name] = rewrite(definition.value)
    return lows
