"""Batches that a runner promises to take: none of them may get to its fallback."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

from ullage.bound.domain import ForWorker, for_worker
from ullage.bound.problem import Live
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Expr, Integer, Name, conjunction, free_names, substitute
from ullage.place import Place
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Worker

BROKEN: Final = "U618"
MOST_ROWS: Final = Integer(2**40)
"""What an example may have of an axis; the proof knows no bound."""


def check_promises(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report each promise that some batch breaks, for the first mode and worker where it does."""
    for runner in resolved.spec.runners:
        workers = [worker for worker in resolved.spec.workers if worker.name in runner.workers]
        for promise in runner.promises:
            for name, worker in product(promise.modes, workers):
                made = promise.condition
                found = _Promise(resolved, solver, runner, worker, resolved.modes[name], made)
                if found.is_broken(collector):
                    break


@dataclass(frozen=True, slots=True)
class _Promise:
    """One promise of a runner on one worker.

    What axes and live variables come to is left open, and facts are so many unknown numbers: what
    holds of all values holds of those that batches have.
    """

    resolved: ResolvedSpec
    solver: Solver
    runner: Runner
    worker: Worker
    mode: Mode
    promise: Expr

    def is_broken(self, collector: Collector) -> bool:
        rewrite = for_worker(self.resolved, self.worker.name)
        given = [rewrite(each) for each in (self.worker.when, self.mode.when)]
        given += [self._of_batch(self.promise, rewrite), *self._counts()]
        for condition in (self.runner.when, *self.runner.accepts_in(self.mode.name)):
            claim = self._of_batch(condition, rewrite)
            if not self.solver.proves(claim, given):
                self._report(condition, claim, given, collector)
                return True
            given.append(claim)
        return False

    def _of_batch(self, condition: Expr, rewrite: ForWorker) -> Expr:
        asked: dict[str, Expr] = {
            fact.name: Comparison(">=", Name(f"fact {fact.name}"), Integer(1))
            for fact in self.runner.facts
        }
        return substitute(rewrite(condition), asked)

    def _names(self) -> dict[str, Place]:
        """What a condition may name besides parameters, each at least 0."""
        found = {variable.name: variable.place for variable in self.mode.live}
        for axis in self.resolved.spec.axes:
            found |= {axis.name: axis.place, f"live_{axis.name}": axis.place}
        return found | {f"fact {fact.name}": fact.place for fact in self.runner.facts}

    def _counts(self) -> list[Expr]:
        return [Comparison("<=", Integer(0), Name(name)) for name in self._names()]

    def _report(
        self, condition: Expr, claim: Expr, given: list[Expr], collector: Collector
    ) -> None:
        message = (
            f"runner '{self.runner.name}' promises to take the batches of mode "
            f"'{self.mode.name}' with {spell(self.promise)}, but takes only those with "
            f"{spell(condition)}"
        )
        used = free_names(conjunction(claim, *given))
        live = tuple(
            Live(name, Integer(0), MOST_ROWS, conjunction(), "own", name, place)
            for name, place in self._names().items()
            if name in used
        )
        hint = Examples(self.resolved, self.solver).against(claim, given, live)
        hint = hint or "say so in the promise, or take them"
        related = ((condition.place, "the condition"),)
        collector.error(BROKEN, message, self.promise.place, hint=hint, related=related)
