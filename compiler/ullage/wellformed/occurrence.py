"""That there is something to prove about: of nothing at all, anything would be proved."""

from __future__ import annotations

import random

from ullage.bound.problem import ModeProblem, Problem
from ullage.bound.relations import relations_of
from ullage.bound.sampling import ConfigurationDrawer
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import FALSE, Expr, conjunction, free_names
from ullage.place import Place
from ullage.prove.batches import batch_of
from ullage.prove.oracle import SEED
from ullage.prove.solver import Solver

DRAWS = 2
"""Batches of a mode that are drawn before z3 is asked whether it has any."""


def check_occurrence(problem: Problem, solver: Solver, collector: Collector) -> None:
    """Report constraints that exclude each other, and modes that never have a batch."""
    stated = (*problem.domain.inhabited, *problem.domain.constraints)
    constraints = tuple(each.that for each in stated)
    if _contradict(solver, constraints):
        message = "no configuration satisfies all constraints and ranges"
        collector.error("U409", message, stated[-1].place)
        return
    drawer = ConfigurationDrawer(problem.domain, random.Random(SEED))
    occurring: dict[str, bool] = {}
    places: dict[str, Place] = {}
    for runner in problem.runners:
        for mode in runner.modes:
            places.setdefault(mode.name, mode.place)
            if not occurring.get(mode.name, False):
                relations = (each.claim for each in relations_of(mode.of_all_runners))
                legal = (runner.guard, mode.offered, *relations)
                occurring[mode.name] = _is_drawn(mode, legal, drawer) or not _contradict(
                    solver, (*constraints, *legal)
                )
    for name, occurs in occurring.items():
        if not occurs:
            message = (
                f"mode '{name}' never has a batch: its conditions and ranges exclude each other"
            )
            collector.error("U409", message, places[name])


def _is_drawn(mode: ModeProblem, conditions: tuple[Expr, ...], drawer: ConfigurationDrawer) -> bool:
    """Whether a batch that satisfies the conditions is drawn: sooner than z3 finds one."""
    live = {each.name for each in mode.live}
    fixed = conjunction(*(each for each in conditions if not free_names(each) & live))
    rest = tuple(each for each in conditions if free_names(each) & live)
    for _ in range(DRAWS):
        configuration = drawer.draw(fixed)
        if configuration is None:
            return False
        if batch_of(configuration, mode, rest, drawer.source) is not None:
            return True
    return False


def _contradict(solver: Solver, conditions: tuple[Expr, ...]) -> bool:
    return bool(conditions) and solver.decide(FALSE, conditions, "related").proved
