"""Puts the proof together that no batch of a mode needs more than a capacity."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.branches import Branch, Stated, first_that_applies, largest
from ullage.bound.canonical import canonical, distribute
from ullage.bound.eliminate import Eliminator, chained
from ullage.bound.steps import Step
from ullage.expr.tree import Call, Conditional, Expr, negation


@dataclass
class SoundStep:
    """Assembles extent <= capacity of one mode from the chains of its branches."""

    eliminator: Eliminator
    branches: list[Branch]
    stated: list[Stated]
    formula: Expr

    def build(self, extent: Expr) -> Step | None:
        """The whole claim, or None when a part of it finds no proof."""
        tidy = distribute(canonical(extent))
        first = self.eliminator.search.prove(extent, tidy)
        rest = self._branch(tidy, ())
        if first is None or rest is None:
            return None
        return chained(extent, [first, rest]) if first.rule != "same" else rest

    def _branch(self, extent: Expr, cases: tuple[Expr, ...]) -> Step | None:
        for branch in self.branches:
            if branch.extent == extent and branch.cases == cases:
                return self._finish(branch)
        match extent:
            case Call("max", arguments) if len(arguments) > 1:
                return self._all("max_below", extent, [(each, cases) for each in arguments])
            case Conditional(condition, then, otherwise):
                return self._all(
                    "cases_left",
                    extent,
                    [(then, (*cases, condition)), (otherwise, (*cases, negation(condition)))],
                )
            case _:
                return self.eliminator.search_in(cases).prove(extent, self.formula)

    def _all(
        self, rule: str, extent: Expr, parts: list[tuple[Expr, tuple[Expr, ...]]]
    ) -> Step | None:
        premises = [self._branch(part, cases) for part, cases in parts]
        if any(premise is None for premise in premises):
            return None
        whole = tuple(premise for premise in premises if premise is not None)
        if rule == "max_below":
            return Step("max_below", extent, self.formula, whole)
        return Step("cases_left", extent, self.formula, whole)

    def _finish(self, branch: Branch) -> Step | None:
        search = self.eliminator.search_in(branch.cases)
        formula = branch.peak.formula
        direct = search.prove(formula, self.formula)
        if direct is not None:
            return chained(branch.extent, [branch.peak.sound, direct])
        for together in (largest(self.stated), first_that_applies(self.stated)):
            below = search.prove(formula, together)
            last = below and search.prove(together, self.formula)
            if below and last:
                return chained(branch.extent, [branch.peak.sound, below, last])
        return None
