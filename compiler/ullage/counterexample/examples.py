"""Counterexamples to claims in words: legal configurations, evaluated before they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ullage.bound.problem import Live, Variable
from ullage.counterexample.finder import Finder
from ullage.counterexample.shown import Shower
from ullage.counterexample.space import Assignment, Space, excess
from ullage.counterexample.values import Shown, spelled
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate, evaluate_integer
from ullage.expr.tree import Expr, Name, conjunction, free_names, negation
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec

MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Examples:
    """Finds and spells counterexamples over one legal domain."""

    resolved: ResolvedSpec
    solver: Solver

    def against(
        self,
        claim: Expr,
        given: Sequence[Expr],
        live: tuple[Live, ...] = (),
        members: Mapping[str, str] | None = None,
        fails: Expr | None = None,
    ) -> str | None:
        """`for example where a = 1`: what the claim is false for under `given`.

        `live` are the names that are no parameters, `members` says of which lists they are. Where
        the claim is more than is needed, `fails` is what must have no value. None where nothing
        is found within the solver's limit.
        """
        space = Space(self.solver.domain, live, (*given, negation(claim)), members or {})
        found = Finder(self.solver, space).smallest()
        if found is None or (fails is not None and _has_value(fails, found.assignment)):
            return None
        shown = tuple(self._shown(found.assignment, claim, space))
        texts = [f"{name} = {spelled(value)}" for name, value in shown[:MOST_SHOWN]]
        return f"for example where {', '.join(texts)}" if texts else None

    def _shown(self, found: Assignment, claim: Expr, space: Space) -> Iterator[tuple[str, Shown]]:
        """What the claim names, and what else matters and is not at its least value."""
        everything = free_names(conjunction(*space.conditions))
        drawn_from = {space.members.get(each) for each in free_names(claim)}
        named = self._through_definitions(claim) | drawn_from
        if not named and not any(each.name in free_names(claim) for each in space.live):
            named = self._through_definitions(conjunction(*space.conditions))
        rests_on = self.solver.closure(everything)
        values = Shower(self.resolved, self.solver.domain).parameters(found)
        for variable in self.solver.domain.variables:
            name = variable.name
            matters = name in named or (name in rests_on and _is_raised(variable, found))
            if matters and name in values:
                yield name, values[name]
        for each in space.live:
            if each.name in everything and each.name in found:
                raised = excess(Name(each.name), each.low, each.guard, found) > 0
                if raised or each.name in free_names(claim):
                    yield each.label, evaluate_integer(Name(each.name), found)

    def _through_definitions(self, condition: Expr) -> frozenset[str]:
        """The parameters in a condition, definitions written out."""
        found: set[str] = set()
        pending = list(free_names(condition))
        while pending:
            name = pending.pop()
            definition = self.solver.definitions.get(name)
            if name not in found and definition is not None:
                pending.extend(free_names(definition.value))
            found.add(name)
        return frozenset(found & self.solver.variables.keys())


def _has_value(node: Expr, found: Assignment) -> bool:
    try:
        evaluate(node, found)
    except EvaluationError:
        return False
    return True


def _is_raised(variable: Variable, found: Assignment) -> bool:
    """Whether a number is above its least value, or a switch on."""
    if variable.name not in found or variable.type == "list":
        return False
    if variable.type != "int" or variable.low is None:
        return bool(found[variable.name])
    return excess(Name(variable.name), variable.low, variable.guard, found) > 0
