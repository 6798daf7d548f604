"""What a stated formula is compared with: extents, capacity and the slots that follow."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.audit.compared import Compared, compared
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.expr.tree import Binary, Expr
from ullage.plan.model import Dimension, PlannedRunner, PlannedSlot
from ullage.spec.stated import Audit, StatedFormula


@dataclass(frozen=True, slots=True)
class Question:
    """One formula, for one worker, beside what was derived.

    `formula` and `capacity` are over parameters, each of `extents` over those and the live
    variables of its mode. `guard` is where there is something to compare, and `somewhere` where
    one of the modes occurs as well.
    """

    audit: Audit
    stated: StatedFormula
    runner: RunnerProblem
    planned: PlannedRunner
    formula: Expr
    capacity: Expr
    when: Expr
    guard: Expr
    somewhere: Expr
    modes: tuple[ModeProblem, ...]
    extents: Mapping[str, Expr]


def questions(analysis: Analysis) -> tuple[Question, ...]:
    """All stated formulas that have something to be compared with, in declared order."""
    found = compared(analysis.resolved, analysis.problem, analysis.solver)
    return tuple(_question(analysis, each) for each in found if each.modes)


def _question(analysis: Analysis, each: Compared) -> Question:
    target, runner = each.stated.target, each.runner
    planned = next(other for other in analysis.plan.runners if other.name == runner.name)
    slot = next((other for other in planned.slots if other.name == target), None)
    if slot is None:
        capacity = analysis.capacities.of(runner.name, target).formula
        extents = {mode.name: mode.extents[target] for mode in each.modes}
    else:
        capacity = functools.reduce(_times, (side.capacity for side in slot.dimensions))
        extents = {mode.name: _size(slot, mode) for mode in each.modes}
    return Question(
        each.audit,
        each.stated,
        runner,
        planned,
        each.formula,
        capacity,
        each.when,
        each.guard,
        each.somewhere,
        each.modes,
        extents,
    )


def _size(slot: PlannedSlot, mode: ModeProblem) -> Expr:
    """How many elements a mode loads."""
    return functools.reduce(_times, (_extent(side, mode) for side in slot.dimensions))


def _extent(dimension: Dimension, mode: ModeProblem) -> Expr:
    return dimension.capacity if dimension.target is None else mode.extents[dimension.target]


def _times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)
