"""Assignments in the engine's terms: enums by their values, nothing that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ullage.audit.model import Counterexample, Shown
from ullage.audit.space import Assignment, Space, Value, excess, touched
from ullage.bound.problem import Domain
from ullage.bound.specialise import worker_name
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.expr.evaluate import evaluate_integer
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
        return Configuration(parameters, complete(self._resolved, given))

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


def counterexample(
    shower: Shower,
    space: Space,
    assignment: Assignment,
    claim: tuple[Expr, Expr],
    guards: tuple[str, ...],
    raised: tuple[str, ...],
    minimal: bool,
) -> Counterexample:
    """The record of an assignment in which the left side of the claim is above the right.

    Raises AssertionError if the configuration reader and the solver see different numbers.
    """
    found = shower.configuration(assignment)
    live = {
        each.name: evaluate_integer(Name(each.name), assignment)
        for each in space.live
        if each.name in assignment
    }
    extent, stated = (evaluate_integer(each, {**found.values, **live}) for each in claim)
    if extent <= stated:
        raise AssertionError(f"{found.parameters} with {live} fits after all")
    matter = {
        **shower.part(found.parameters, assignment, claim),
        **shower.raised(found.parameters, assignment),
    }
    return Counterexample(
        {name: found.parameters[name] for name in found.parameters if name in matter},
        found.parameters,
        {each.label: live[each.name] for each in space.live if each.name in live},
        extent,
        stated,
        guards,
        raised,
        space.size(assignment),
        minimal,
    )


def _enums(resolved: ResolvedSpec) -> Iterable[tuple[str, tuple[str, ...]]]:
    for parameter in resolved.spec.parameters:
        if parameter.type == "enum":
            yield parameter.name, parameter.values
            for worker in resolved.spec.workers:
                yield worker_name(parameter.name, worker.name), parameter.values
