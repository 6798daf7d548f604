"""From the resolved spec to a problem: one worker at a time, modes with their pipelines."""

from __future__ import annotations

from collections.abc import Mapping

from ullage.bound.declared import declared_lows
from ullage.bound.domain import ForWorker, domain_of, for_worker
from ullage.bound.modes import OfRunner, compose
from ullage.bound.problem import ModeProblem, Problem, RunnerProblem
from ullage.bound.relations import from_condition
from ullage.bound.sums import NotSummableError
from ullage.bound.targets import own_dimensions, with_targets
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import FALSE, conjunction, free_names
from ullage.spec.chains import chain_of, serving_by_mode
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Worker


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
    lows = declared_lows(resolved, rewrite)
    declared = OfRunner(guard, lows, own_dimensions(resolved, runner))
    composed: list[ModeProblem] = []
    for mode in resolved.modes_of(runner):
        if fold(conjunction(rewrite(mode.when), guard)) == FALSE:
            continue  # another worker's
        try:
            before = _asked_before(runner, serving.get(mode.name, ()))
            composed.append(compose(resolved, mode, runner, before, rewrite, declared))
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
