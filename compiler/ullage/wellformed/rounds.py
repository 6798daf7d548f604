"""Whether a rank without work has a mode in every round in which others wait for it."""

from __future__ import annotations

from collections.abc import Callable

from ullage.bound.domain import for_worker
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Expr, Integer, disjunction
from ullage.prove.solver import Solver, at_least_one
from ullage.spec.chains import chain
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Transform, Worker
from ullage.spec.peers import are_peers, collectives_of

NO_RANK = "U410"
NO_IDLE_PEER = "U610"


def check_rank_count(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report a number of ranks that can be below one: the rank that asks is one of them."""
    count = resolved.spec.rank_count
    if count is None:
        return
    rewrite = for_worker(resolved, resolved.spec.workers[0].name)
    claim = at_least_one(rewrite(count))
    if not solver.proves(claim):
        message = f"the number of ranks can be below 1: {spell(count)}"
        hint = Examples(resolved, solver).against(claim, ())
        collector.error(NO_RANK, message, count.place, hint=hint)


def check_rounds(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Warn of each mode with a collective that no idle mode joins, if the spec has idle modes."""
    idle = tuple(mode for mode in resolved.spec.modes if not mode.live)
    for mode in resolved.spec.modes:
        if idle and mode.live:
            _check(mode, idle, resolved, solver, collector)


def _check(
    mode: Mode,
    idle: tuple[Mode, ...],
    resolved: ResolvedSpec,
    solver: Solver,
    collector: Collector,
) -> None:
    joins = tuple(each for each in idle if are_peers(mode, each))
    for worker in resolved.spec.workers:
        rewrite = for_worker(resolved, worker.name)
        for step in collectives_of(mode, resolved.transforms):
            given = _waiting(mode, step, worker, resolved, rewrite)
            claim = disjunction(*(rewrite(each.when) for each in joins))
            if given is None or solver.proves(claim, given):
                continue
            subject = "no mode without rows has it as a peer"
            if joins:
                names = ", ".join(f"'{each.name}'" for each in joins)
                subject = f"its peer without rows, {names}, may not occur then"
            message = f"mode '{mode.name}' runs the collective '{step.name}', but {subject}"
            examples = Examples(resolved, solver)
            hint = examples.against(claim, given) if joins else None
            hint = hint or f"name '{mode.name}' in the 'peers' of a mode that an idle rank is in"
            mine = collectives_of(mode, resolved.transforms)
            could = joins or tuple(
                each for each in idle if collectives_of(each, resolved.transforms) == mine
            )
            related = tuple((each.place, "an idle rank is in this mode") for each in could)
            collector.warn(NO_IDLE_PEER, message, mode.place, hint=hint, related=related)
            return


def _waiting(
    mode: Mode,
    step: Transform,
    worker: Worker,
    resolved: ResolvedSpec,
    rewrite: Callable[[Expr], Expr],
) -> tuple[Expr, ...] | None:
    """Where a rank of this mode meets others in the collective; None if it never does."""
    count = resolved.spec.rank_count
    if count is None or not chain(resolved.spec.runners, worker.name, mode.name):
        return None
    several = Comparison("<=", Integer(2), count)
    return tuple(map(rewrite, (worker.when, mode.when, step.when, several)))
