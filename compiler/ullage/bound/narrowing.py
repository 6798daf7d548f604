"""Where exclusive runners take every batch of a mode, so that those asked later get none.

An exclusive runner takes all batches of a mode where the most that each limited amount comes to is
within its limit. That most is derived as a capacity is; for all other configurations the runner
that is asked later keeps the whole mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ullage.bound.derive import derive
from ullage.bound.eligibility import couplings_of, leaves
from ullage.bound.problem import ModeProblem, Reach, Rewriting, RunnerProblem, Taken
from ullage.bound.search import Oracle
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.conditions import conjuncts, merged
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    Binary,
    Comparison,
    Expr,
    Integer,
    conjunction,
    disjunction,
    free_names,
    negation,
)

AMOUNT = "amount"


def narrow(runner: RunnerProblem, oracle_of: Callable[[RunnerProblem], Oracle]) -> RunnerProblem:
    """The runner with a mode only where some batches of it are left."""
    if not any(mode.taken for mode in runner.modes):
        return runner
    oracle = oracle_of(runner)
    modes = tuple(_Narrowing(runner, mode, oracle).mode_left() for mode in runner.modes)
    return replace(runner, modes=modes)


@dataclass(frozen=True, slots=True)
class _Narrowing:
    """Narrows one mode of one runner to where some of its batches are left."""

    runner: RunnerProblem
    mode: ModeProblem
    oracle: Oracle

    def mode_left(self) -> ModeProblem:
        """The mode with a guard that does not hold where all batches are taken."""
        if not self.mode.taken:
            return self.mode
        taken = tuple(self._with_reaches(each) for each in self.mode.taken)
        guard = conjunction(self.mode.offered, *(self._some_left(each) for each in taken))
        return replace(self.mode, guard=fold(guard), taken=taken)

    def _with_reaches(self, taken: Taken) -> Taken:
        found = [
            self._reach(taken, leaf) for condition in taken.accepts for leaf in leaves(condition)
        ]
        known = tuple(each for each in found if each is not None)
        return replace(taken, reaches=known) if len(known) == len(found) else taken

    def _reach(self, taken: Taken, leaf: Rewriting) -> Reach | None:
        """The most that the limited amount of one comparison comes to, if it can be derived."""
        if not isinstance(leaf.condition, Comparison) or leaf.condition.operator != "<=":
            return None
        amount, limit = self._apart(leaf.condition)
        guard = fold(conjunction(self.mode.offered, taken.exists, leaf.guard))
        mode = replace(self._whole(), guard=guard, extents={AMOUNT: amount}, rounds=())
        alone = replace(self.runner, guard=guard, modes=(mode,), targets=(AMOUNT,), slack={})
        capacity = derive(alone, AMOUNT, self.oracle, Collector())
        if capacity is None or mode.name not in capacity.sound:
            return None
        return Reach(amount, limit, leaf.guard, capacity.formula, capacity.sound[mode.name])

    def _whole(self) -> ModeProblem:
        """The mode with the batches that are taken."""
        live = frozenset(each.name for each in self.mode.live)
        left = [c for each in self.mode.taken for c in couplings_of((each.left,), live)]
        couplings = tuple(each for each in self.mode.couplings if each not in left)
        return replace(self.mode, couplings=couplings, taken=())

    def _apart(self, condition: Comparison) -> tuple[Expr, Expr]:
        """The amount that batches differ in, and its limit by the configuration."""
        if not free_names(condition.right) & {each.name for each in self.mode.live}:
            return condition.left, condition.right
        return Binary("-", condition.left, condition.right), Integer(0)

    def _some_left(self, taken: Taken) -> Expr:
        """Where batches are left, without what is known anyway where any are offered."""
        if taken.reaches is None:
            return taken.some_left
        known = (self.mode.offered, taken.exists)
        passed: dict[Expr, list[Expr]] = {}
        for reach in taken.reaches:
            guard = self._unknown(reach.guard, known)
            within = Comparison("<=", reach.most, reach.limit)
            if not self.oracle(within, (*known, *conjuncts(guard))):
                passed.setdefault(fold(negation(within)), []).append(guard)
        beyond = (
            conjunction(guard, too_much)
            for too_much, guards in passed.items()
            for guard in merged(guards)
        )
        return disjunction(negation(self._unknown(taken.exists, known[:1])), *beyond)

    def _unknown(self, condition: Expr, known: tuple[Expr, ...]) -> Expr:
        """The condition without the parts that hold wherever `known` does."""
        parts = (each for each in conjuncts(condition) if not self.oracle(each, known))
        return conjunction(*parts)
