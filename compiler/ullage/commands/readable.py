"""Expressions as `explain` shows them: without what ranges or a configuration decide."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ullage.bound.problem import Domain, ModeProblem, Variable
from ullage.commands.settings import Settings
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Call, Conditional, Expr, Integer, Logical, transform
from ullage.plan.intervals import Intervals


@dataclass(frozen=True, slots=True)
class Readable:
    """Rewrites expressions to shorter ones of the same value, in one configuration if given."""

    intervals: Intervals
    settings: Settings | None

    def __call__(self, expr: Expr) -> Expr:
        """The expression without choices that are made, and without limits that never bind."""
        decided = expr if self.settings is None else fold(transform(expr, self._decided))
        return fold(transform(decided, self._without_limits))

    def _decided(self, node: Expr) -> Expr:
        """The arm of a choice that the configuration takes."""
        if self.settings is None or not isinstance(node, Conditional):
            return node
        holds = self.settings.value(node.condition)
        if holds is None:
            return node
        return node.then if holds is True else node.otherwise

    def _without_limits(self, node: Expr) -> Expr:
        """A maximum without the constants that another operand never falls below."""
        if not isinstance(node, Call) or node.function != "max" or len(node.arguments) < 2:
            return node
        kept = [each for each in node.arguments if not self._never_binds(each, node)]
        return kept[0] if len(kept) == 1 else replace(node, arguments=tuple(kept))

    def _never_binds(self, limit: Expr, node: Call) -> bool:
        if not isinstance(limit, Integer):
            return False
        others = (each for each in node.arguments if not isinstance(each, Integer))
        lows = (self.intervals.of(each).low for each in others)
        return any(low is not None and low >= limit.value for low in lows)


def readable(
    domain: Domain, settings: Settings | None, mode: ModeProblem | None = None
) -> Readable:
    """For expressions over the parameters, and over the live variables of a mode."""
    live = () if mode is None else mode.live
    ranges = (Variable(each.name, "int", each.low, each.high, TRUE, each.place) for each in live)
    known = replace(domain, variables=(*domain.variables, *ranges))
    return Readable(Intervals(known), settings)


def conjuncts(condition: Expr) -> frozenset[Expr]:
    """The conditions that one says together; none for the one that always holds."""
    if condition == TRUE:
        return frozenset()
    if isinstance(condition, Logical) and condition.junction == "and":
        return frozenset().union(*map(conjuncts, condition.operands))
    return frozenset((condition,))


def bracketed(condition: Expr) -> str:
    """A condition as an operand of `not`."""
    text = spell(condition)
    return text if text.isidentifier() else f"({text})"
