"""Whether a runner's batches stay within the rows that the engine has room for elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.capacities import Capacities
from ullage.bound.problem import RunnerProblem
from ullage.bound.specialise import ForWorker
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Expr
from ullage.place import Place
from ullage.plan.claims import Claims
from ullage.spec.model import Runner

ABOVE_LIMIT = "U616"


@dataclass(frozen=True, slots=True)
class Limits:
    """Checks the `limits` of one runner of one worker; each is told once for all workers."""

    runner: Runner
    problem: RunnerProblem
    rewrite: ForWorker
    capacities: Capacities
    claims: Claims
    collector: Collector
    reported: set[tuple[str, Place]]

    def check(self) -> None:
        """Reports the first mode whose largest batch can be above a limit."""
        for axis, written in self.runner.limits:
            limit = self.rewrite(written)
            for candidate in self.capacities.of(self.problem.name, axis).binding:
                claim = Comparison("<=", candidate.formula, limit)
                given = (candidate.condition, self.problem.guard)
                failure = self.claims.failure(claim, given)
                if failure is not None:
                    self._report(axis, candidate.mode, written, failure.example)
                    break

    def _report(self, axis: str, mode: str, written: Expr, example: str | None) -> None:
        message = (
            f"a padded batch of mode '{mode}' can have more {axis} than runner "
            f"'{self.runner.name}' has room for: {spell(written)}"
        )
        if (ABOVE_LIMIT, written.place) in self.reported:
            return
        self.reported.add((ABOVE_LIMIT, written.place))
        place = next(each.place for each in self.problem.modes if each.name == mode)
        hint = example or "bound what the mode and its pipeline come to, or refuse configurations"
        related = ((place, f"mode '{mode}'"),)
        self.collector.error(ABOVE_LIMIT, message, written.place, hint=hint, related=related)
