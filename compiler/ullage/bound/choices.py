"""Proofs by choices that stand inside of a side: each case of one condition by itself.

A claim holds if it does where a condition holds and where it does not, and there every choice by
that condition is its arm.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from ullage.bound.steps import Step
from ullage.bound.unrounding import UnroundingRules, of_every
from ullage.expr.conditions import with_choice_made
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    Boolean,
    Call,
    Comprehension,
    Conditional,
    Expr,
    children,
    negation,
)

MOST_CONDITIONS = 4
"""Conditions that are not decided; a claim with more of them is not looked at case by case."""


class ChoiceRules(UnroundingRules):
    """Looks for proofs case by case; what it needs of a search is abstract here.

    Only whole claims are looked at so, and what they come to at once: in a search, where most
    claims are attempts, it would cost far too much.
    """

    assumed: frozenset[Expr]

    @abstractmethod
    def case(self, condition: Expr) -> ChoiceRules:
        """The search where a condition holds as well."""

    @abstractmethod
    def is_impossible(self, case: Expr) -> bool:
        """Whether a condition is known not to hold."""

    @abstractmethod
    def is_refuted(self, left: Expr, right: Expr) -> bool:
        """Whether an example shows `left <= right` to be false."""

    def prove(self, left: Expr, right: Expr) -> Step | None:
        """A proposed proof of `left <= right`, case by case if need be; None if none is found."""
        found = self.at_most(left, right)
        if found is not None or self.is_refuted(left, right):
            return found
        match left, right:
            case Call("max", arguments), _ if len(arguments) > 1:
                return of_every("max_below", left, right, (self.prove(a, right) for a in arguments))
            case _, Call("min", arguments) if len(arguments) > 1:
                return of_every("below_min", left, right, (self.prove(left, a) for a in arguments))
            case Conditional(condition, then, otherwise), _:
                claims = ((then, right), (otherwise, right))
                return of_every("cases_left", left, right, self._each(condition, *claims))
            case _, Conditional(condition, then, otherwise):
                claims = ((left, then), (left, otherwise))
                return of_every("cases_right", left, right, self._each(condition, *claims))
            case _:
                return self._by_choice(left, right)

    def _each(
        self, condition: Expr, holds: tuple[Expr, Expr], fails: tuple[Expr, Expr]
    ) -> Iterator[Step | None]:
        """One claim where the condition holds, another where it does not."""
        for case, claim in ((condition, holds), (negation(condition), fails)):
            if self.is_impossible(case):
                yield Step("impossible", *claim)
            else:
                yield self.case(case).prove(*claim)

    def _by_choice(self, left: Expr, right: Expr) -> Step | None:
        """The choices inside, made where they are decided, else by the cases of one."""
        conditions = tuple(dict.fromkeys((*conditions_of(left), *conditions_of(right))))
        for condition in conditions:
            holds = self._decided(condition)
            if holds is not None:
                return self._with_arms(left, right, condition, holds)
        split = next((each for each in conditions if self._is_seen_where(each, left, right)), None)
        if split is None and 0 < len(conditions) <= MOST_CONDITIONS:
            split = conditions[0]
        return None if split is None else self._by_cases_of(split, left, right)

    def _is_seen_where(self, condition: Expr, left: Expr, right: Expr) -> bool:
        """Whether the claim needs no further cases where the condition holds."""
        if self.is_impossible(condition) or self.is_impossible(negation(condition)):
            return True
        return self.case(condition).at_most(left, right) is not None

    def _by_cases_of(self, condition: Expr, left: Expr, right: Expr) -> Step | None:
        """A choice between the left side and itself is that side, and has cases."""
        both = Conditional(condition, left, left)
        same = Step("same", left, left)
        each_case = self._each(condition, (left, right), (left, right))
        cases = of_every("cases_left", both, right, each_case)
        first = Step("cases_right", left, both, (same, same))
        return cases and Step("chain", left, right, (first, cases))

    def _decided(self, condition: Expr) -> bool | None:
        """What a condition comes to by itself or by what is assumed, if that tells."""
        plain = fold(condition)
        if isinstance(plain, Boolean):
            return plain.value
        if condition in self.assumed:
            return True
        opposite = negation(condition)
        return False if opposite in self.assumed or fold(opposite) in self.assumed else None

    def _with_arms(self, left: Expr, right: Expr, condition: Expr, holds: bool) -> Step | None:
        """A proof for the sides with what a decided condition chooses."""
        arms = (with_choice_made(left, condition, holds), with_choice_made(right, condition, holds))
        steps: list[Step] = []
        for first, last in ((left, arms[0]), (arms[1], right)):
            step = self.at_most(first, last)
            if step is None:
                return None
            steps.append(step)
        between = self.prove(*arms)
        if between is None:
            return None
        chain = (steps[0], between, steps[1])
        return Step("chain", left, right, tuple(each for each in chain if each.rule != "same"))


def conditions_of(node: Expr) -> Iterator[Expr]:
    """The conditions of choices, outside of lists."""
    if isinstance(node, Conditional):
        yield node.condition
    if not isinstance(node, Comprehension):
        for part in children(node):
            yield from conditions_of(part)
