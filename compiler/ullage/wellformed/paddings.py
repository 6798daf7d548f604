"""Whether every batch fits into what its pipeline makes of it: padding adds rows, and takes none.

What stands for the ranks together may be less than they ever bring, so that a claim which is not
proved of it is an error only where a round that there really is breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ullage.bound.problem import Live, ModeProblem, Problem, Round, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.counterexample.examples import Examples
from ullage.counterexample.space import members_of
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Comparison, Expr, Integer, free_names
from ullage.place import Place
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec

FEWER_ROWS = "U411"
MAY_BE_FEWER = "U412"


def check_paddings(
    resolved: ResolvedSpec, problem: Problem, solver: Solver, collector: Collector
) -> None:
    """Report each mode that can end with fewer rows along an axis than its batches bring."""
    reported: set[tuple[Place, str]] = set()
    for runner in problem.runners:
        for mode in runner.modes:
            for axis in sorted(resolved.brought_axes & mode.live_extents.keys()):
                if (mode.place, axis) not in reported:
                    padding = _Padding(resolved, runner, mode, axis, solver)
                    if padding.check(collector):
                        reported.add((mode.place, axis))


@dataclass(frozen=True, slots=True)
class _Padding:
    """One axis of one mode, as one runner pads it."""

    resolved: ResolvedSpec
    runner: RunnerProblem
    mode: ModeProblem
    axis: str
    solver: Solver

    def check(self, collector: Collector) -> bool:
        """Report what breaks the claim, or that it is not proved; whether there is either."""
        live, padded = self.mode.live_extents[self.axis], self.mode.extents[self.axis]
        claim = fold(Comparison("<=", live, padded))
        if claim == TRUE or live == Integer(0):  # that no extent is negative is U408
            return False
        relations = (each.claim for each in relations_of(self.mode))
        accepted = (each.condition for each in self.mode.accepts)
        given = (self.runner.guard, self.mode.guard, *relations, *accepted)
        if self.solver.proves(claim, given):
            return False
        example = next((each for each in self._examples(live) if each is not None), None)
        self._report(example, collector)
        return True

    def _examples(self, live: Expr) -> Iterator[str | None]:
        """A batch of which rows are lost in a round of one kind, for each kind of round."""
        examples = Examples(self.resolved, self.solver)
        for each in self.mode.real_rounds:
            brought = self._brought(each)
            claim = Comparison("<=", live, each.extents[self.axis])
            given = (self.runner.guard, self.mode.guard, each.guard, each.takes)
            known = (*given, *self._relations(brought))
            members = members_of(self.resolved, self.solver.domain, self.runner.worker, brought)
            yield examples.against(claim, known, brought, members)

    def _brought(self, round_: Round) -> tuple[Live, ...]:
        """The live variables of the batches in a round, without what only stands for ranks."""
        return tuple(
            each
            for each in self.mode.live
            if each.origin in ("own", round_.others) or each.name.startswith("total(")
        )

    def _relations(self, brought: tuple[Live, ...]) -> Iterator[Expr]:
        """What is so of batches of the mode, whichever runner gets them."""
        left_out = {each.name for each in self.mode.live} - {each.name for each in brought}
        for relation in relations_of(self.mode.of_all_runners):
            if not free_names(relation.claim) & left_out:
                yield relation.claim

    def _report(self, example: str | None, collector: Collector) -> None:
        steps = [each for each in self.mode.stages if self.axis in each.extents]
        changing = [
            later
            for earlier, later in pairwise(steps)
            if later.extents[self.axis] != earlier.extents[self.axis]
        ]
        where = changing[-1] if changing else steps[-1]
        said = f"of mode '{self.mode.name}' with fewer {self.axis} than it brings"
        related = ((self.mode.place, f"mode '{self.mode.name}'"),)
        if example is None:
            message = f"it is not proved that no round leaves a batch {said}"
            hint = "take the larger of both: max(rows, what the transform comes to)"
            collector.warn(MAY_BE_FEWER, message, where.place, hint=hint, related=related)
        else:
            message = f"the pipeline leaves a batch {said}"
            collector.error(FEWER_ROWS, message, where.place, hint=example, related=related)
