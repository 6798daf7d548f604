"""Whether a runner's batches stay within the rows that the engine has room for elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.capacities import Capacities
from ullage.bound.domain import ForWorker
from ullage.bound.problem import RunnerProblem
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Expr
from ullage.plan.claims import Claims
from ullage.plan.told import Told
from ullage.spec.model import Runner

ABOVE_LIMIT = "U616"


@dataclass(frozen=True, slots=True)
class Limits:
    """Checks the `limits` of one runner of one worker."""

    runner: Runner
    problem: RunnerProblem
    rewrite: ForWorker
    capacities: Capacities
    claims: Claims
    told: Told

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
        place = next(each.place for each in self.problem.modes if each.name == mode)
        hint = example or "bound what the mode and its pipeline come to, or refuse configurations"
        related = ((place, f"mode '{mode}'"),)
        self.told.error((written.place,), ABOVE_LIMIT, message, hint=hint, related=related)
