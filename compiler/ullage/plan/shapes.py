"""Proving claims by the shapes of their sides: of several roundings at once z3 knows little."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.problem import RunnerProblem
from ullage.bound.search import Oracle, Search
from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Comparison, Expr, Logical, negation
from ullage.prove.checker import Checker
from ullage.prove.oracle import Oracles
from ullage.prove.solver import Solver

Given = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Proves claims about the batches of one runner."""

    solver: Solver
    oracle: Oracle

    @staticmethod
    def of(runner: RunnerProblem, solver: Solver) -> Shapes:
        """Those of a runner."""
        return Shapes(solver, Oracles(solver).of(runner))

    def prove(self, claim: Expr, given: Given) -> bool:
        """Whether the claim is shown to hold wherever all of `given` does."""
        match claim:
            case Comparison("<=", left, right):
                return self._at_most(left, right, given)
            case Comparison(">=", left, right):
                return self._at_most(right, left, given)
            case Comparison("==", left, right):
                return self._at_most(left, right, given) and self._at_most(right, left, given)
            case Logical("and", operands):
                return all(self.prove(each, given) for each in operands)
            case Logical("or", (*rest, last)):
                unless = tuple(fold(negation(each)) for each in rest)
                return self.prove(last, (*given, *unless))
            case _:
                return claim == TRUE or self.solver.proves(claim, given)

    def _at_most(self, left: Expr, right: Expr, given: Given) -> bool:
        if self.solver.proves(Comparison("<=", left, right), given):
            return True
        step = Search(self.oracle, given).at_most(left, right)
        return step is not None and Checker(self.solver).holds(step, (left, right), given)
