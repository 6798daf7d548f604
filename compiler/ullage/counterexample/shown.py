"""Assignments in the engine's terms: enums by their values, nothing that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ullage.bound.domain import worker_name
from ullage.bound.problem import Domain
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.counterexample.space import Assignment, Value, excess, touched
from ullage.counterexample.values import Shown
from ullage.expr.tree import Expr, Name
from ullage.spec.check import ResolvedSpec


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every parameter as one would give it, and the value of every name."""

    parameters: Mapping[str, Shown]
    values: Mapping[str, Value]


class Shower:
    """Shows assignments of one engine, after the compiler's own reader accepted them."""

    def __init__(self, resolved: ResolvedSpec, domain: Domain) -> None:
        self._resolved = resolved
        self._domain = domain
        self._enums = dict(_enums(resolved))

    def configuration(self, assignment: Assignment) -> Configuration:
        """The configuration of an assignment. Raises DiagnosticError if it is not legal."""
        parameters = self.parameters(assignment)
        given: dict[str, Plain] = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in parameters.items()
        }
        return Configuration(parameters, complete(self._resolved, given, domain=self._domain))

    def parameters(self, values: Mapping[str, Value]) -> Mapping[str, Shown]:
        """Every parameter that has a value, in declared order."""
        names = (each.name for each in self._domain.variables)
        return {name: self._shown(name, values[name]) for name in names if name in values}

    def part(
        self, parameters: Mapping[str, Shown], assignment: Assignment, numbers: Iterable[Expr]
    ) -> Mapping[str, Shown]:
        """The parameters that enter the numbers, and the switches that are on."""
        entering = frozenset[str]().union(
            *(touched(each, assignment, self._domain) for each in numbers)
        )
        return {
            each.name: parameters[each.name]
            for each in self._domain.variables
            if each.name in parameters
            and (each.name in entering or (each.type in ("bool", "enum") and assignment[each.name]))
        }

    def raised(
        self, parameters: Mapping[str, Shown], assignment: Assignment
    ) -> Mapping[str, Shown]:
        """The integers that are above their least values."""
        return {
            each.name: parameters[each.name]
            for each in self._domain.variables
            if each.type == "int"
            and each.low is not None
            and excess(Name(each.name), each.low, each.guard, assignment) > 0
        }

    def _shown(self, name: str, value: Value) -> Shown:
        if name in self._enums and isinstance(value, int):
            return self._enums[name][value]
        return tuple(value) if isinstance(value, list) else value


def _enums(resolved: ResolvedSpec) -> Iterable[tuple[str, tuple[str, ...]]]:
    for parameter in resolved.spec.parameters:
        if parameter.type == "enum":
            yield parameter.name, parameter.choices
            for worker in resolved.spec.workers:
                yield worker_name(parameter.name, worker.name), parameter.choices
