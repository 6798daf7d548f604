"""The legal domain, and what an expression is for one worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ullage.bound.problem import Constraint, Definition, Domain, Variable
from ullage.expr.kinds import BoolKind, Kind, ListKind
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    Boolean,
    Call,
    Conditional,
    Enumerant,
    Expr,
    Integer,
    Name,
    conjunction,
    disjunction,
    free_names,
    negation,
    substitute,
    transform,
)
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Parameter

ForWorker = Callable[[Expr], Expr]


def worker_name(name: str, worker: str) -> str:
    """The name of a worker's own parameter or definition."""
    return f"{name}_{worker}"


def for_worker(resolved: ResolvedSpec, worker: str) -> ForWorker:
    """Rewrites an expression for one worker: `worker` a constant, the worker's names in place."""
    workers = [each.name for each in resolved.spec.workers]
    values: dict[str, Expr] = {
        name: Name(worker_name(name, worker)) for name in resolved.worker_dependent
    }
    values["worker"] = Enumerant("worker", worker, workers.index(worker))
    for definition in resolved.spec.definitions:
        if isinstance(definition.value, Integer | Boolean):
            values[definition.name] = definition.value  # a named constant is its value
    uppers = {
        parameter.name: _upper(resolved, parameter)
        for parameter in resolved.spec.parameters
        if parameter.varies is not None
    }

    def without_upper(node: Expr) -> Expr:
        match node:
            case Call("upper", (Name(name=name),)) if name in uppers:
                return uppers[name]
            case _:
                return node

    known: dict[int, tuple[Expr, Expr]] = {}  # the same expressions are asked for in each mode

    def rewritten(node: Expr) -> Expr:
        if id(node) not in known:
            known[id(node)] = node, fold(substitute(transform(node, without_upper), values))
        return known[id(node)][1]

    return rewritten


def _upper(resolved: ResolvedSpec, parameter: Parameter) -> Expr:
    """The largest value of a varying parameter: the list's largest where the list exists."""
    varied = next(each for each in resolved.spec.parameters if each.name == parameter.varies)
    largest = Call("max", (Name(varied.name),))
    if varied.when == parameter.when:
        return largest  # there is no value to be the largest of where there is no list
    return Conditional(varied.when, largest, Name(parameter.name))


def domain_of(resolved: ResolvedSpec) -> Domain:
    """All parameters, definitions and constraints; one name for each worker where they differ."""
    variables: list[Variable] = []
    definitions: list[Definition] = []
    constraints: list[Constraint] = []
    instances = _Instances(resolved)
    for parameter in resolved.spec.parameters:
        variables.extend(_variables(instances, parameter))
    for definition in resolved.spec.definitions:
        kind = _kind_of(resolved.kinds[definition.name])
        for name, rewrite, exists in instances.of((definition.name,)):
            guard = conjunction(rewrite(definition.when), exists)
            value = rewrite(definition.value)
            full_name = definition.name if name is None else worker_name(definition.name, name)
            definitions.append(Definition(full_name, kind, value, guard, definition.place))
    for constraint in resolved.spec.constraints:
        mentioned = tuple(free_names(constraint.that) | free_names(constraint.when))
        for _, rewrite, exists in instances.of(mentioned):
            unless = negation(conjunction(rewrite(constraint.when), exists))
            that = fold(disjunction(unless, rewrite(constraint.that)))
            constraints.append(Constraint(that, constraint.reason, constraint.place))
    return Domain(tuple(variables), tuple(definitions), tuple(constraints))


class _Instances:
    """The workers that a declaration stands for."""

    def __init__(self, resolved: ResolvedSpec) -> None:
        self._differing = resolved.worker_dependent | {"worker"}
        self._workers = [(each, for_worker(resolved, each.name)) for each in resolved.spec.workers]

    def of(self, names: tuple[str, ...]) -> list[tuple[str | None, ForWorker, Expr]]:
        """Of one about `names`: each worker, or one without a name if all agree."""
        if self._differing.isdisjoint(names):
            return [(None, self._workers[0][1], conjunction())]
        return [(each.name, rewrite, rewrite(each.when)) for each, rewrite in self._workers]


def _variables(instances: _Instances, parameter: Parameter) -> list[Variable]:
    found: list[Variable] = []
    for name, rewrite, exists in instances.of((parameter.name,)):
        low, high = _range(parameter)
        found.append(
            Variable(
                parameter.name if name is None else worker_name(parameter.name, name),
                parameter.type,
                None if low is None else rewrite(low),
                None if high is None else rewrite(high),
                fold(conjunction(rewrite(parameter.when), exists)),
                parameter.place,
            )
        )
    return found


def _range(parameter: Parameter) -> tuple[Expr | None, Expr | None]:
    if parameter.type == "enum":
        return Integer(0), Integer(len(parameter.choices) - 1)
    if parameter.range is None:
        return None, None
    return parameter.range.low, parameter.range.high


def _kind_of(kind: Kind) -> Literal["int", "bool", "list"]:
    if isinstance(kind, BoolKind):
        return "bool"
    return "list" if isinstance(kind, ListKind) else "int"
