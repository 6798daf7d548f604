"""What a stated formula is compared with: extents, capacity and the slots that follow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.audit.compared import Compared, compared
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    conjunction,
    free_names,
)
from ullage.plan.model import Dimension, PlannedRunner
from ullage.prove.solver import Solver
from ullage.spec.stated import Audit, StatedFormula


@dataclass(frozen=True, slots=True)
class Question:
    """One formula, for one worker, beside what was derived.

    `formula` and `capacity` are over parameters, each of `extents` over those and the live
    variables of its mode; each of `attained` is what a batch really comes to, where its extent also
    stands for what cannot be. `limited` is the same size where each capacity that it rests on is
    an amount that `limits` keep within it. `guard` is where there is something to compare, and
    `somewhere` where one of the modes occurs as well.
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
    attained: Mapping[str, Expr]
    limited: Expr
    limits: tuple[Expr, ...]
    proved: bool

    @property
    def given(self) -> tuple[Expr, ...]:
        """What holds of all amounts that are compared."""
        return self.runner.guard, self.guard, *self.limits


def questions(
    analysis: Analysis, solver: Solver, audits: Collection[Audit] | None = None
) -> tuple[Question, ...]:
    """All stated formulas that have something to be compared with, in declared order.

    `audits`: those whose formulas they are, all if it is None.
    """
    stated = compared(analysis.resolved, analysis.problem)
    wanted = (each for each in stated if audits is None or each.audit in audits)
    found = [each.occurring(solver) for each in wanted]
    return tuple(_question(analysis, each) for each in found if each.modes)


def _question(analysis: Analysis, each: Compared) -> Question:
    target, runner = each.stated.target, each.runner
    planned = next(other for other in analysis.plan.runners if other.name == runner.name)
    slot = next((other for other in planned.slots if other.name == target), None)
    if slot is None:
        targets: tuple[str, ...] = (target,)
        capacity = analysis.capacities.of(runner.name, target).formula

        def size(extents: Mapping[str, Expr]) -> Expr:
            return extents[target]
    else:
        sides = slot.dimensions
        targets = tuple(dict.fromkeys(side.target for side in sides if side.target is not None))
        capacity = functools.reduce(_times, (side.capacity for side in sides))

        def size(extents: Mapping[str, Expr]) -> Expr:
            return functools.reduce(_times, (_extent(side, extents) for side in sides))

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
        {mode.name: size(mode.extents) for mode in each.modes},
        {mode.name: _attained(mode, size) for mode in each.modes},
        size({name: _amount(name) for name in targets}),
        tuple(limit for name in targets for limit in _limits(analysis, runner.name, name)),
        all(analysis.certificate.of(runner.name, name).sound for name in targets),
    )


def _amount(target: str) -> Name:
    """What stands for any extent of a target."""
    return Name(f"any {target}")


def _limits(analysis: Analysis, runner: str, target: str) -> tuple[Expr, Expr]:
    capacity = analysis.capacities.of(runner, target).formula
    amount = _amount(target)
    return Comparison("<=", Integer(0), amount), Comparison("<=", amount, capacity)


def _attained(mode: ModeProblem, size: Callable[[Mapping[str, Expr]], Expr]) -> Expr:
    """What a batch comes to: the extent, or the largest in real rounds where that is less.

    Zero where the runner does not get the batch in any of these.
    """
    extent = size(mode.extents)
    standing_in = {each.name for each in mode.live if each.origin == "ranks"}
    if not free_names(extent) & standing_in:
        return extent
    rounds = (
        Conditional(conjunction(each.guard, each.takes), size(each.extents), Integer(0))
        for each in mode.real_rounds
    )
    return fold(Call("max", (Integer(0), *rounds)))


def _extent(dimension: Dimension, extents: Mapping[str, Expr]) -> Expr:
    if dimension.target is None:
        return dimension.capacity
    return dimension.of(extents[dimension.target])


def _times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)
