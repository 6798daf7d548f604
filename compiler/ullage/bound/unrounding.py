"""Proofs that a rounded amount stays below a limit, by what that says of the amount itself.

`align_up(x, a) <= k` is `x <= k // a * a`, and so on: limits of rounded extents are solved for live
variables this way, and here their largest values are seen to keep to the limit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from ullage.bound.rounding import RoundingRules
from ullage.bound.steps import RuleName, Step
from ullage.expr.tree import Binary, Call, Conditional, Expr, Integer, negation


class UnroundingRules(RoundingRules):
    """Looks for proofs by unrounding; what it needs of a search is abstract here."""

    @abstractmethod
    def in_case(
        self, case: Expr, claim: tuple[Expr, Expr], depth: int, *, within: bool = False
    ) -> Step | None:
        """A proof where a condition holds, by `within` if asked for."""

    @abstractmethod
    def at_once(self, left: Expr, right: Expr) -> Step | None:
        """A proof that needs no search."""

    def within(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """A proof of `left <= right` from the outside of `left` inwards."""
        known = self.at_once(left, right)
        if known is not None:
            return known
        match left:
            case Call("min", arguments) if len(arguments) > 1:
                likely_first = sorted(arguments, key=lambda each: self.at_once(each, right) is None)
                found = (self.within(each, right, depth) for each in likely_first)
                premise = next((each for each in found if each is not None), None)
                return premise and Step("min_below", left, right, (premise,))
            case Call("max", arguments) if len(arguments) > 1:
                every = (self.within(each, right, depth) for each in arguments)
                return of_every("max_below", left, right, every)
            case Conditional(condition, then, otherwise):
                arms = ((condition, then), (negation(condition), otherwise))
                each_case = (self.in_case(c, (arm, right), depth, within=True) for c, arm in arms)
                return of_every("cases_left", left, right, each_case)
            case _:
                return self._unrounded(left, right, depth) or self.at_most(left, right, depth)

    def _unrounded(self, left: Expr, right: Expr, depth: int) -> Step | None:
        for inner, factor, limit in _insides(left, right):
            if self.at_least(factor, 1):
                premise = self.within(inner, limit, depth)
                if premise is not None:
                    return Step("unrounds", left, right, (premise,))
        return None


def of_every(rule: RuleName, left: Expr, right: Expr, found: Iterable[Step | None]) -> Step | None:
    """The rule, if every premise was found."""
    premises: list[Step] = []
    for premise in found:
        if premise is None:
            return None
        premises.append(premise)
    return Step(rule, left, right, tuple(premises))


def _insides(left: Expr, right: Expr) -> Iterator[tuple[Expr, Expr, Expr]]:
    """The amount inside, what has to be at least 1, and the limit of the inside."""
    match left:
        case Call("align_up", (x, a)):
            yield x, a, Binary("*", Binary("//", right, a), a)
        case Call("cdiv", (x, a)):
            yield x, a, Binary("*", right, a)
        case Binary("//", x, a):
            yield x, a, Binary("-", Binary("+", Binary("*", right, a), a), Integer(1))
        case Binary("*", x, y):
            yield x, y, Binary("//", right, y)
            yield y, x, Binary("//", right, x)
        case _:
            return
