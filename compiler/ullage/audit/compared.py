"""What a stated formula says for one worker, and where there is something to compare it with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ullage.bound.domain import for_worker
from ullage.bound.problem import ModeProblem, Problem, RunnerProblem
from ullage.bound.targets import loaded_slots
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, TRUE, Expr, conjunction, disjunction, negation, substitute
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Slot
from ullage.spec.stated import Audit, StatedFormula


@dataclass(frozen=True, slots=True)
class Compared:
    """One formula of one worker, over parameters and definitions, without local names.

    `guard`: where it is stated and has a buffer to be compared with. `modes`: those that load
    this buffer.
    """

    audit: Audit
    stated: StatedFormula
    runner: RunnerProblem
    formula: Expr
    when: Expr
    guard: Expr
    modes: tuple[ModeProblem, ...]

    @property
    def somewhere(self) -> Expr:
        """Where the formula is evaluated: under its guard, in any of the modes."""
        occurs = disjunction(*(mode.guard for mode in self.modes))
        return conjunction(self.runner.guard, self.guard, occurs)

    def occurring(self, solver: Solver) -> Compared:
        """The same with the modes that load the buffer in some configuration of the guard."""
        modes = tuple(mode for mode in self.modes if _occurs(solver, mode, self.guard))
        return replace(self, modes=modes)


def compared(resolved: ResolvedSpec, problem: Problem) -> tuple[Compared, ...]:
    """All stated formulas, in declared order; one for each worker that has such a runner."""
    runners = {(each.runner, each.worker): each for each in problem.runners}
    return tuple(
        _compared(resolved, audit, stated, runners[stated.runner, stated.worker])
        for audit in resolved.spec.audits
        for stated in audit.formulas
        if (stated.runner, stated.worker) in runners
    )


def expanded(resolved: ResolvedSpec, audit: Audit, worker: str, node: Expr) -> Expr:
    """An expression of an audit as it is for one worker, the local names written out."""
    local: dict[str, Expr] = {}
    for name, value in audit.let:
        local[name] = substitute(value, local)
    return for_worker(resolved, worker)(substitute(node, local))


def _compared(
    resolved: ResolvedSpec,
    audit: Audit,
    stated: StatedFormula,
    runner: RunnerProblem,
) -> Compared:
    rewrite = for_worker(resolved, stated.worker)
    formula, when = (
        expanded(resolved, audit, stated.worker, each) for each in (stated.formula, stated.when)
    )
    slot = next((each for each in resolved.spec.slots if each.name == stated.target), None)
    exists = TRUE if slot is None else rewrite(slot.when)
    guard = fold(conjunction(when, exists))
    modes = tuple(
        mode for mode in runner.modes if slot is None or _loads(resolved, runner, mode, slot)
    )
    return Compared(audit, stated, runner, formula, when, guard, modes)


def _loads(resolved: ResolvedSpec, runner: RunnerProblem, mode: ModeProblem, slot: Slot) -> bool:
    declared = next(each for each in resolved.spec.runners if each.name == runner.runner)
    own = next(each for each in resolved.spec.modes if each.name == mode.name)
    return any(each.name == slot.name for each in loaded_slots(resolved, declared, own))


def _occurs(solver: Solver, mode: ModeProblem, guard: Expr) -> bool:
    """Whether a mode, which is known to be possible, can be where a guard holds."""
    condition = conjunction(mode.guard, guard)
    if condition in (FALSE, mode.guard):
        return condition != FALSE
    return not solver.proves(negation(condition))
