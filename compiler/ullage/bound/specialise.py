"""From the resolved spec to a problem: one worker at a time, modes with their pipelines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ullage.bound.modes import compose
from ullage.bound.problem import (
    Constraint,
    Definition,
    Domain,
    ModeProblem,
    Problem,
    RunnerProblem,
    Variable,
)
from ullage.bound.relations import from_condition
from ullage.bound.sums import NotSummableError
from ullage.bound.targets import with_targets
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import BoolKind, Kind, ListKind
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    FALSE,
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
from ullage.spec.chains import chain_of, serving_by_mode
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Parameter, Runner, Worker

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

    return lambda each: fold(substitute(transform(each, without_upper), values))


def _upper(resolved: ResolvedSpec, parameter: Parameter) -> Expr:
    """The largest value of a varying parameter: the list's largest where the list exists."""
    varied = next(each for each in resolved.spec.parameters if each.name == parameter.varies)
    largest = Call("max", (Name(varied.name),))
    if varied.when == parameter.when:
        return largest  # there is no value to be the largest of where there is no list
    return Conditional(varied.when, largest, Name(parameter.name))


def specialise(resolved: ResolvedSpec, collector: Collector | None = None) -> Problem:
    """The problem of every runner and worker, over one common domain.

    Raises DiagnosticError with every mode that is outside of what can be bounded; they are
    gathered in `collector` if one is given.
    """
    found = Collector() if collector is None else collector
    workers = [
        (each, for_worker(resolved, each.name), serving_by_mode(resolved.spec.runners, each.name))
        for each in resolved.spec.workers
    ]
    runners = [
        runner_problem(resolved, runner, worker, rewrite, serving, found)
        for runner in resolved.spec.runners
        for worker, rewrite, serving in workers
        if worker.name in runner.workers
    ]
    found.raise_if_errors()
    return Problem(domain_of(resolved), tuple(runner for runner in runners if runner.modes))


def runner_problem(
    resolved: ResolvedSpec,
    runner: Runner,
    worker: Worker,
    rewrite: ForWorker,
    serving: Mapping[str, tuple[Runner, ...]],
    collector: Collector,
) -> RunnerProblem:
    """One runner of one worker, with the modes that the worker can be in.

    `serving`: the runners that serve each mode on the worker.
    """
    guard = fold(conjunction(rewrite(worker.when), rewrite(runner.when)))
    composed: list[ModeProblem] = []
    for mode in resolved.modes_of(runner):
        try:
            before = _asked_before(runner, serving.get(mode.name, ()))
            composed.append(compose(resolved, mode, runner, before, rewrite, guard))
        except NotSummableError as error:
            _report_sum(error, mode, collector)
    for problem in composed:
        _check_couplings(problem, collector)
    found = with_targets(resolved, runner, tuple(m for m in composed if m.guard != FALSE))
    targets = dict.fromkeys(target for mode in found.modes for target in mode.extents)
    name = f"{runner.name}_{worker.name}"
    return RunnerProblem(
        name,
        runner.name,
        worker.name,
        guard,
        found.modes,
        tuple(targets),
        runner.place,
        found.slack,
        found.dimensions,
        found.along,
    )


def _asked_before(runner: Runner, serving: tuple[Runner, ...]) -> tuple[Runner, ...]:
    """The exclusive runners that are asked for a batch before `runner` is."""
    asked = chain_of(serving)
    return tuple(each for each in asked[: asked.index(runner)] if each.exclusive)


def _report_sum(error: NotSummableError, mode: Mode, collector: Collector) -> None:
    collector.error(
        "U402",
        f"mode '{mode.name}': no closed maximum is known for the sum over requests of "
        f"{spell(error.operand)}",
        error.operand.place,
        hint="a sum may hold a * x + b * cdiv(x, p) + c, x counted per request",
        related=((mode.place, f"mode '{mode.name}'"),),
    )


_COUPLING = "a coupling compares live variables with <, <=, ==, >= or >, joined by 'and'"
_VARIES = (
    "take the largest value, upper(name), or put the bound into the range of the live variable"
)


def _check_couplings(mode: ModeProblem, collector: Collector) -> None:
    for coupling in (each for each in mode.couplings if each.bounds):
        condition = coupling.condition
        varies = any("@serving" in name for name in free_names(condition))
        if varies or from_condition(condition) is None:
            reason = "bounds a parameter that varies" if varies else "bounds no live variable"
            collector.error(
                "U402",
                f"mode '{mode.name}': {spell(condition)} {reason}",
                condition.place,
                hint=_VARIES if varies else _COUPLING,
                related=((mode.place, f"mode '{mode.name}'"),),
            )


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
        return Integer(0), Integer(len(parameter.values) - 1)
    if parameter.range is None:
        return None, None
    return parameter.range.low, parameter.range.high


def _kind_of(kind: Kind) -> Literal["int", "bool", "list"]:
    if isinstance(kind, BoolKind):
        return "bool"
    return "list" if isinstance(kind, ListKind) else "int"
