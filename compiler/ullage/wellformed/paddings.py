"""Pipelines after which fewer rows are computed than a batch brings."""

from __future__ import annotations

from ullage.bound.problem import ModeProblem, Problem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Expr
from ullage.place import Place
from ullage.prove.names import with_labels
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec

TOO_FEW_ROWS = "U411"
EFFORT = 20_000
"""Steps of z3 at each level; where they tell nothing, `load` refuses such a batch (U712)."""


def check_paddings(
    resolved: ResolvedSpec, problem: Problem, solver: Solver, collector: Collector
) -> None:
    """Report each mode of which a legal batch is known to end with fewer rows than it has."""
    told: set[tuple[Place, str]] = set()
    for runner in problem.runners:
        for mode in runner.modes:
            for axis, live in mode.live_extents.items():
                if axis not in mode.extents or (mode.stages[-1].place, axis) in told:
                    continue
                if _check(resolved, solver, collector, runner, mode, axis, live):
                    told.add((mode.stages[-1].place, axis))


def _check(
    resolved: ResolvedSpec,
    solver: Solver,
    collector: Collector,
    runner: RunnerProblem,
    mode: ModeProblem,
    axis: str,
    live: Expr,
) -> bool:
    """Whether an error was reported."""
    padded = mode.extents[axis]
    claim = Comparison("<=", live, padded)
    given = (runner.guard, mode.guard, *(each.claim for each in relations_of(mode)))
    if live == padded or solver.decide(claim, given, "full", EFFORT).answer != "refuted":
        return False
    left, right = (with_labels(spell(each), mode.live) for each in (padded, live))
    message = (
        f"batches of mode '{mode.name}' end with {axis} = {left} in runner '{runner.runner}', "
        f"which can be less than the {right} that they bring"
    )
    hint = Examples(resolved, solver).against(claim, given, mode.live)
    related = ((mode.place, f"mode '{mode.name}'"),)
    collector.error(TOO_FEW_ROWS, message, mode.stages[-1].place, hint=hint, related=related)
    return True
