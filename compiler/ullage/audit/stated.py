"""What a stated formula is compared with: extents, capacity and the slots that follow."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.bound.specialise import for_worker
from ullage.expr.tree import TRUE, Binary, Expr, substitute
from ullage.plan.model import Dimension, PlannedRunner, PlannedSlot
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Audit, StatedFormula


@dataclass(frozen=True, slots=True)
class Question:
    """One formula, for one worker, beside what was derived.

    `formula` and `capacity` are over parameters, each of `extents` over those and the live
    variables of its mode. `guard` is where there is something to compare.
    """

    audit: Audit
    stated: StatedFormula
    runner: RunnerProblem
    planned: PlannedRunner
    formula: Expr
    capacity: Expr
    guard: Expr
    extents: Mapping[str, Expr]

    @property
    def modes(self) -> tuple[ModeProblem, ...]:
        """The modes that have an extent to compare."""
        return tuple(mode for mode in self.runner.modes if mode.name in self.extents)


def questions(analysis: Analysis) -> tuple[Question, ...]:
    """All stated formulas whose runner exists for their worker, in declared order."""
    runners = {(each.runner, each.worker): each for each in analysis.problem.runners}
    return tuple(
        _question(analysis, audit, stated, runners[stated.runner, stated.worker])
        for audit in analysis.resolved.spec.audits
        for stated in audit.formulas
        if (stated.runner, stated.worker) in runners
    )


def expanded(resolved: ResolvedSpec, audit: Audit, stated: StatedFormula) -> Expr:
    """The formula over parameters and definitions of its worker, without local names."""
    local: dict[str, Expr] = {}
    for name, value in audit.let:
        local[name] = substitute(value, local)
    return for_worker(resolved, stated.worker)(substitute(stated.formula, local))


def _question(
    analysis: Analysis, audit: Audit, stated: StatedFormula, runner: RunnerProblem
) -> Question:
    planned = next(each for each in analysis.plan.runners if each.name == runner.name)
    formula = expanded(analysis.resolved, audit, stated)
    slot = next((each for each in planned.slots if each.name == stated.target), None)
    if slot is not None:
        return Question(
            audit,
            stated,
            runner,
            planned,
            formula,
            _product(slot),
            slot.guard,
            _sizes(slot, runner),
        )
    capacity = analysis.capacities.of(runner.name, stated.target).formula
    extents = {mode.name: mode.extents[stated.target] for mode in runner.modes}
    return Question(audit, stated, runner, planned, formula, capacity, TRUE, extents)


def _product(slot: PlannedSlot) -> Expr:
    return functools.reduce(_times, (each.capacity for each in slot.dimensions))


def _sizes(slot: PlannedSlot, runner: RunnerProblem) -> Mapping[str, Expr]:
    """How many elements each mode loads."""
    return {
        mode.name: functools.reduce(_times, (_extent(each, mode) for each in slot.dimensions))
        for mode in runner.modes
        if mode.name in slot.tails
    }


def _extent(dimension: Dimension, mode: ModeProblem) -> Expr:
    return dimension.capacity if dimension.target is None else mode.extents[dimension.target]


def _times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)
