"""Whether a runner's batches stay within the rows that the engine has room for elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.bound.capacities import Capacities
from ullage.bound.domain import ForWorker
from ullage.bound.problem import RunnerProblem
from ullage.expr.spell import spell
from ullage.expr.tree import Call, Comparison, Expr, Name, walk
from ullage.plan.claims import Claims
from ullage.plan.told import Told
from ullage.spec.model import Runner

ABOVE_LIMIT = "U616"
NO_LIMIT = "U627"


@dataclass(frozen=True, slots=True)
class Limits:
    """Checks the `limits` of one runner of one worker."""

    runner: Runner
    problem: RunnerProblem
    rewrite: ForWorker
    capacities: Capacities
    brought: frozenset[str]
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

    def check_unstated(self) -> None:
        """Warns of a runner that pads to the largest of a list and states no limit at all."""
        if self.runner.limits or self.runner.fallback is None:
            return
        for axis in sorted(self.brought.intersection(self.problem.targets)):
            formula = self.capacities.of(self.problem.name, axis).formula
            named = next(_largest(formula), None)
            if named is not None:
                message = (
                    f"runner '{self.runner.name}' makes room for {axis} by the list '{named}', "
                    "and states no limit: the list may ask for more than there is room elsewhere"
                )
                hint = (
                    f"limits: {{{axis}: …}}, with what the request pool or the pool of keys holds"
                )
                same = (self.runner.place,)
                self.told.add(same, NO_LIMIT, message, hint=hint, severity="warning")
                return

    def _report(self, axis: str, mode: str, written: Expr, example: str | None) -> None:
        message = (
            f"a padded batch of mode '{mode}' can have more {axis} than runner "
            f"'{self.runner.name}' has room for: {spell(written)}"
        )
        place = next(each.place for each in self.problem.modes if each.name == mode)
        hint = example or "bound what the mode and its pipeline come to, or refuse configurations"
        related = ((place, f"mode '{mode}'"),)
        self.told.add((written.place,), ABOVE_LIMIT, message, hint=hint, related=related)


def _largest(formula: Expr) -> Iterator[str]:
    """The lists whose largest element is part of a formula."""
    for node in walk(formula):
        match node:
            case Call("max", (Name(name=name),)):
                yield name
