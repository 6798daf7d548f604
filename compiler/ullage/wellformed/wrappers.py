"""Wrappers have what they are made over: formulas with values, slots that exist, rows to take."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.bound.domain import for_worker
from ullage.bound.problem import Problem, RunnerProblem
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import FALSE, Comparison, Expr, Name, free_names
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Slot
from ullage.spec.problems import NOT_TOGETHER
from ullage.spec.wrappers import Wrapper
from ullage.wellformed.uses import Reached, Use, Walker


def uses_of_wrappers(resolved: ResolvedSpec, problem: Problem, solver: Solver) -> Iterator[Use]:
    """What the wrappers of an engine need.

    They see what is the same for every worker; their slots are those of a runner's own worker.
    """
    walker = Walker(solver)
    rewrite = for_worker(resolved, resolved.spec.workers[0].name)
    for wrapper in resolved.spec.wrappers:
        exists = Reached((rewrite(wrapper.when),))
        yield from walker.uses(rewrite(wrapper.when), Reached())
        for formula in wrapper.formulas:
            yield from walker.uses(rewrite(formula), exists)
        for runner in problem.runners:
            if _has_all(resolved, runner, wrapper):
                yield from _uses_of_slots(resolved, runner, wrapper)


def check_wrappers(resolved: ResolvedSpec, problem: Problem, collector: Collector) -> None:
    """Report a wrapper whose slots no runner has that serves some mode of its worker."""
    for wrapper in resolved.spec.wrappers:
        if not any(_has_all(resolved, runner, wrapper) for runner in problem.runners):
            message = f"no runner that serves any mode has all slots of wrapper '{wrapper.name}'"
            collector.error(NOT_TOGETHER, message, wrapper.place)


def _has_all(resolved: ResolvedSpec, runner: RunnerProblem, wrapper: Wrapper) -> bool:
    names = {slot.name for slot in resolved.slots_of(resolved.runners[runner.runner])}
    return all(value.slot in names for value in wrapper.slot_values)


def _uses_of_slots(
    resolved: ResolvedSpec, runner: RunnerProblem, wrapper: Wrapper
) -> Iterator[Use]:
    """Each slot exists where the wrapper and the runner do, and has a row for each object."""
    rewrite = for_worker(resolved, runner.worker)
    reached = Reached((runner.guard, rewrite(wrapper.when)))
    differing = resolved.worker_dependent | {"worker"}  # what only some workers have, they look for
    for value in wrapper.slot_values:
        slot = resolved.slots[value.slot]
        related = ((slot.place, "the slot"),)
        if not free_names(slot.when) & differing:
            guard = rewrite(slot.when)
            yield Use("guard", guard, reached, Name(slot.name), value.place, related=related)
        if value.at is not None and wrapper.each is not None:
            claim = rewrite(_has_rows(resolved, slot, wrapper.each.count))
            yield Use("rows", claim, reached, Name(slot.name), value.place, related=related)


def _has_rows(resolved: ResolvedSpec, slot: Slot, count: Expr) -> Expr:
    """That the first extent is the count; rows of a batch, and what varies, never are."""
    known = resolved.kinds.keys() - resolved.varying - resolved.serving.keys()
    if not slot.shape or not free_names(slot.shape[0]) <= known | {"worker"}:
        return FALSE
    return Comparison("==", slot.shape[0], count)
