"""Whether every rank enters the collectives of its mode: it does so where its runner loads."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.bound.domain import for_worker
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import FALSE, Comparison, Expr, Integer, disjunction, free_names
from ullage.prove.solver import Solver
from ullage.spec.chains import chain
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Step, Transform, Worker
from ullage.spec.steps import circumstances

SKIPPED = "U620"


def check_skips(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report each mode in which a rank may run a step without the collectives of its pipeline.

    Where several runners serve a mode, they are chosen among after its pipeline.
    """
    count = resolved.spec.rank_count
    if count is None:
        return
    several = Comparison("<=", Integer(2), count)
    for runner in resolved.spec.runners:
        for mode in resolved.modes_of(runner):
            for worker in resolved.spec.workers:
                asked = chain(resolved.spec.runners, worker.name, mode.name)
                if asked == (runner,):
                    _Entered(resolved, solver, collector, runner, mode, worker).check(several)


class _Entered:
    """One mode of one runner and worker."""

    def __init__(
        self,
        resolved: ResolvedSpec,
        solver: Solver,
        collector: Collector,
        runner: Runner,
        mode: Mode,
        worker: Worker,
    ) -> None:
        self.resolved, self.solver, self.collector = resolved, solver, collector
        self.runner, self.mode, self.worker = runner, mode, worker

    def check(self, several: Expr) -> None:
        """Report the first collective that may be skipped."""
        rewrite = for_worker(self.resolved, self.worker.name)
        loads = tuple(self._loads())
        facts = {fact.name for fact in self.runner.facts}
        sure = disjunction(*(when for _, when in loads if not free_names(when) & facts), FALSE)
        for entry in self.mode.pipeline:
            step = self.resolved.transforms[entry.transform]
            guards = (self.worker.when, self.runner.when, self.mode.when, step.when, several)
            given = tuple(map(rewrite, guards))
            if step.collective is not None and not self.solver.proves(rewrite(sure), given):
                self._report(step, loads, facts, rewrite(sure), given)
                return

    def _loads(self) -> Iterator[tuple[Step, Expr]]:
        """The steps that load the mode, each with when it does."""
        for step, inner in circumstances(self.runner.steps, self.resolved.modes_of(self.runner)):
            if step.action == "load" and self.mode.name in inner.modes:
                yield step, inner.when

    def _report(
        self,
        step: Transform,
        loads: tuple[tuple[Step, Expr], ...],
        facts: set[str],
        sure: Expr,
        given: tuple[Expr, ...],
    ) -> None:
        asked = sorted({*facts} & {name for _, when in loads for name in free_names(when)})
        group = step.collective.group if step.collective else ""
        why = "does not load it"
        if loads:
            where = " or ".join(f"({spell(when)})" for _, when in loads)
            why = f"loads it only where {where}"
        ending = ", which each rank answers by itself" if asked else ""
        message = (
            f"ranks in mode '{self.mode.name}' take part in '{step.name}' over '{group}' when "
            f"they load, but runner '{self.runner.name}' {why}{ending}: one would skip it "
            "while others wait"
        )
        example = None if asked else Examples(self.resolved, self.solver).against(sure, given)
        hint = example or "load in every round of the mode, or take the collective off its pipeline"
        place = loads[0][0].place if loads else self.runner.place
        related = ((self.mode.place, f"mode '{self.mode.name}'"), (step.place, "the collective"))
        self.collector.error(SKIPPED, message, place, hint=hint, related=related)
