"""Counterexamples in words: a legal configuration that shows what is wrong, as small as it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ullage.bound.problem import Variable
from ullage.bound.specialise import worker_name
from ullage.expr.evaluate import EvaluationError, evaluate_boolean, evaluate_integer
from ullage.expr.tree import (
    TRUE,
    Comparison,
    Expr,
    Integer,
    Name,
    conjunction,
    free_names,
    negation,
)
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec

MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Examples:
    """Finds and spells counterexamples over one legal domain."""

    resolved: ResolvedSpec
    solver: Solver

    def against(self, claim: Expr, given: Sequence[Expr]) -> str | None:
        """`for example where a = 1`: values that `claim` is false for, each as small as can be.

        Parameters are made smaller in the order in which they are declared. None where the
        solver finds no counterexample within its limit.
        """
        model = self.solver.decide(claim, given).model
        if model is None:
            return None
        shown = self._named_by(claim, given)
        fixed = tuple(given)
        for name in shown:
            model, relation = self._smaller(claim, fixed, model, name)
            fixed = (*fixed, relation)
        present = [name for name in shown if name in model and self._exists(name, model)]
        texts = [self._spelled(name, model[name]) for name in present]
        return f"for example where {', '.join(texts[:MOST_SHOWN])}" if texts else None

    def _named_by(self, claim: Expr, given: Sequence[Expr]) -> list[str]:
        """The parameters that the claim rests on, or else what is given; then the live values."""
        reached = self.solver.closure(free_names(claim) or free_names(conjunction(*given)))
        for condition in given:
            if free_names(condition) & reached:
                reached |= self.solver.closure(free_names(condition))
        parameters = [
            name
            for name, variable in self.solver.variables.items()
            if name in reached and variable.type != "list"
        ]
        known = {*self.solver.variables, *self.solver.definitions}
        return [*parameters, *sorted(reached - known)]

    def _smaller(
        self, claim: Expr, given: tuple[Expr, ...], model: Mapping[str, int], name: str
    ) -> tuple[Mapping[str, int], Expr]:
        """A model whose value of `name` is the least found, and the relation that fixes it."""
        if name not in model:
            return model, TRUE
        if name in self.solver.booleans:
            return self._smaller_truth(claim, given, model, name)
        low = self._least(self.solver.variables.get(name), model)
        best = model
        while low is not None and low < best[name]:
            middle = (low + best[name]) // 2
            cap = Comparison("<=", Name(name), Integer(middle))
            found = self.solver.decide(claim, (*given, cap)).model
            if found is None:
                low = middle + 1
            else:
                best = found
        return best, Comparison("==", Name(name), Integer(best[name]))

    def _smaller_truth(
        self, claim: Expr, given: tuple[Expr, ...], model: Mapping[str, int], name: str
    ) -> tuple[Mapping[str, int], Expr]:
        off = negation(Name(name))
        found = self.solver.decide(claim, (*given, off)).model
        return (model, Name(name)) if found is None else (found, off)

    def _exists(self, name: str, model: Mapping[str, int]) -> bool:
        """Whether the guard of a parameter holds, as far as the model tells."""
        variable = self.solver.variables.get(name)
        values = {
            each: bool(value) if each in self.solver.booleans else value
            for each, value in model.items()
        }
        try:
            return variable is None or evaluate_boolean(variable.guard, values)
        except EvaluationError:
            return False

    def _least(self, variable: Variable | None, model: Mapping[str, int]) -> int | None:
        if variable is None:
            return 0
        if variable.low is None:
            return None
        try:
            return evaluate_integer(variable.low, model)
        except EvaluationError:
            return None

    def _spelled(self, name: str, value: int) -> str:
        if name in self.solver.booleans:
            return f"{name} = {'true' if value else 'false'}"
        for parameter in self.resolved.spec.parameters:
            own = {parameter.name} | {
                worker_name(parameter.name, worker.name) for worker in self.resolved.spec.workers
            }
            if name in own and 0 <= value < len(parameter.values):
                return f"{name} = {parameter.values[value]}"
        return f"{name} = {value}"
