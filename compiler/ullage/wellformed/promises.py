"""Batches that a runner promises to take: none of them may get to its fallback."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Final

from ullage.bound.domain import ForWorker, for_worker
from ullage.bound.offered import Offered, offered
from ullage.bound.problem import Live
from ullage.bound.sums import NotSummableError
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import (
    Comparison,
    Expr,
    Integer,
    Name,
    Over,
    conjunction,
    substitute,
    walk,
)
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Worker

BROKEN: Final = "U618"
UNBOUNDED: Final = "U402"


def check_promises(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report each promise that some batch breaks, for the first mode and worker where it does."""
    for runner in resolved.spec.runners:
        workers = [
            (worker, for_worker(resolved, worker.name))
            for worker in resolved.spec.workers
            if worker.name in runner.workers
        ]
        for promise in runner.promises:
            for name, of in product(promise.modes, workers):
                about = (resolved.modes[name], promise.condition)
                if _Promise(resolved, solver, runner, *of, *about).is_broken(collector):
                    break


@dataclass(frozen=True)
class _Promise:
    """One promise of a runner on one worker, of one mode. Facts are so many unknown numbers."""

    resolved: ResolvedSpec
    solver: Solver
    runner: Runner
    worker: Worker
    rewrite: ForWorker
    mode: Mode
    promise: Expr

    def is_broken(self, collector: Collector) -> bool:
        """Whether some condition refuses a batch that is promised; the first is reported."""
        try:
            for position in range(1, len(self._asked)):
                if not self._follows(position) and not self._follows_of_batches(position):
                    self._report(position, collector)
                    return True
        except NotSummableError as error:
            self._report_sum(error.operand, collector)
            return True
        return False

    @cached_property
    def _asked(self) -> tuple[Expr, ...]:
        """The promise, and then what a batch is asked, in order."""
        answers: dict[str, Expr] = {
            fact.name: Comparison("<=", Integer(1), Name(f"fact {fact.name}"))
            for fact in self.runner.facts
        }
        accepts = self.runner.accepts_in(self.mode.name)
        conditions = (self.promise, self.runner.when, *accepts)
        return tuple(substitute(each, answers) for each in conditions)

    def _follows(self, position: int) -> bool:
        """Whether a condition follows from what stands before it, whatever axes come to.

        Sums over requests have no value then.
        """
        asked = self._asked[: position + 1]
        if any(isinstance(node, Over) for each in asked for node in walk(each)):
            return False
        *given, claim = map(self.rewrite, asked)
        axes = (name for axis in self.resolved.axes for name in (axis, f"live_{axis}"))
        counts = (Comparison("<=", Integer(0), Name(axis)) for axis in axes)
        return self.solver.proves(claim, (*self._occurs, *given, *counts))

    def _follows_of_batches(self, position: int) -> bool:
        """The same for the axes that batches of the mode have behind its pipeline."""
        return self.solver.proves(self._offered.conditions[position], self._given(position))

    @cached_property
    def _offered(self) -> Offered:
        """What is asked, as conditions on what batches bring."""
        return offered(self.resolved, self.mode, self.runner, self.rewrite, self._asked)

    @cached_property
    def _occurs(self) -> tuple[Expr, ...]:
        return self.rewrite(self.worker.when), self.rewrite(self.mode.when)

    def _given(self, position: int) -> tuple[Expr, ...]:
        """What is known of a batch when it is asked this."""
        return (*self._occurs, *self._offered.relations, *self._offered.conditions[:position])

    def _report(self, position: int, collector: Collector) -> None:
        condition = (self.runner.when, *self.runner.accepts_in(self.mode.name))[position - 1]
        message = (
            f"runner '{self.runner.name}' promises to take the batches of mode "
            f"'{self.mode.name}' with {spell(self.promise)}, but takes only those with "
            f"{spell(condition)}"
        )
        hint = self._example(position) or "say so in the promise, or take them"
        related = ((condition.place, "the condition"),)
        collector.error(BROKEN, message, self.promise.place, hint=hint, related=related)

    def _example(self, position: int) -> str | None:
        """A batch that is promised and refused."""
        zero, one = Integer(0), Integer(1)
        facts = tuple(
            Live(f"fact {fact.name}", zero, one, conjunction(), "own", fact.name, fact.place)
            for fact in self.runner.facts
        )
        live = (*self._offered.live, *facts)
        claim, given = self._offered.conditions[position], self._given(position)
        return Examples(self.resolved, self.solver).against(claim, given, live)

    def _report_sum(self, operand: Expr, collector: Collector) -> None:
        message = (
            f"what runner '{self.runner.name}' promises of mode '{self.mode.name}': no closed form "
            f"is known for the sum over requests of {spell(operand)}"
        )
        hint = "a sum may hold a * x + b * cdiv(x, p) + c, x counted per request"
        collector.error(UNBOUNDED, message, operand.place, hint=hint)
