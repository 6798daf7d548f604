"""Looks for a proof of `left <= right` by the shape of the two sides.

The search only proposes steps; `ullage.prove.checker` decides whether they hold. Where the shapes
give no rule, the claim itself is put to an oracle and becomes a leaf.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ullage.bound.assumptions import Assumptions
from ullage.bound.choices import ChoiceRules
from ullage.bound.steps import RuleName, Step
from ullage.expr.tree import (
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    children,
    free_names,
    negation,
    parts_of,
    substitute,
)


class Oracle(Protocol):
    """Answers what the shapes of a claim do not tell."""

    def __call__(self, claim: Expr, given: tuple[Expr, ...], /) -> bool:
        """Whether the claim is known to hold under the assumptions."""

    def refutes(self, claim: Expr, given: tuple[Expr, ...], /) -> bool:
        """Whether an example at hand shows the claim to be false; it costs little to ask."""


DEPTH_LIMIT = 48


@dataclass
class Search(ChoiceRules):
    """Proposes proofs under fixed assumptions; remembers what it tried.

    `unfold` gives the value of a definition by name, for claims that need to see through it.
    """

    oracle: Oracle
    given: tuple[Expr, ...]
    unfold: dict[str, Expr] = field(default_factory=dict)
    use_bounds: bool = True
    tried: dict[tuple[Expr, Expr], Step | None] = field(default_factory=dict)
    signs: dict[tuple[Expr, int], bool] = field(default_factory=dict)
    cases: dict[Expr, Search] = field(default_factory=dict)
    assumed: frozenset[Expr] = field(init=False)

    def __post_init__(self) -> None:
        given = Assumptions.of(self.given)
        self.given, self.assumed = given, given.every

    def at_most(self, left: Expr, right: Expr, depth: int = 0) -> Step | None:
        """A proposed proof of `left <= right`, or None."""
        known = self.at_once(left, right)
        if known is not None:
            return known
        if depth > DEPTH_LIMIT:
            return None
        key = (left, right)
        if key not in self.tried:
            self.tried[key] = None  # a claim never rests on itself
            if not self.is_refuted(left, right):
                self.tried[key] = self._by_shape(left, right, depth + 1) or self._leaf(left, right)
        return self.tried[key]

    def at_once(self, left: Expr, right: Expr) -> Step | None:
        """A proof that needs no search: the sides are the same, or the claim is assumed."""
        if left == right:
            return Step("same", left, right)
        if Comparison("<=", left, right) in self.assumed:
            return Step("leaf", left, right)
        return None

    def non_negative(self, operand: Expr) -> bool:
        """Whether `operand` is never below zero."""
        return self.at_least(operand, 0)

    def at_least(self, operand: Expr, bound: int) -> bool:
        """Whether `operand >= bound` holds, for 0 or 1, by signs or else by the oracle."""
        key = (operand, bound)
        if key not in self.signs:
            self.signs[key] = self._at_least(operand, bound)
        return self.signs[key]

    def _at_least(self, operand: Expr, bound: int) -> bool:
        match operand:
            case Integer(value=value):
                return value >= bound
            case Call("max", arguments) if len(arguments) > 1:
                if any(self.at_least(argument, bound) for argument in arguments):
                    return True
            case Call("min", arguments) if len(arguments) > 1:
                return all(self.at_least(argument, bound) for argument in arguments)
            case Call("align_up", (inner, _)):
                return self.at_least(inner, bound)
            case Call("next_in", (_, source)):
                if self.at_least(Call("min", (source,)), bound):
                    return True
            case Binary("//", left, right) | Call("cdiv", (left, right)) if bound == 0:
                if self.at_least(left, 0) and self.at_least(right, 1):
                    return True
            case Binary("*", left, right) | Binary("+", left, right):
                if self.at_least(left, bound) and self.at_least(right, max(bound, 0)):
                    return True
            case Conditional(condition, then, otherwise):
                arms = ((condition, then), (negation(condition), otherwise))
                return all(self.case(case).at_least(arm, bound) for case, arm in arms)
            case _:
                pass
        return self.oracle(Comparison("<=", Integer(bound), operand), self.given)

    def _leaf(self, left: Expr, right: Expr) -> Step | None:
        """The claim itself as an obligation; of a conditional its arms say all that can be said."""
        if _has_choice(left) or _has_choice(right):
            return None
        if self.oracle(Comparison("<=", left, right), self.given):
            return Step("leaf", left, right)
        return None

    def is_refuted(self, left: Expr, right: Expr) -> bool:
        """Whether an example at hand shows `left <= right` to be false."""
        return self.oracle.refutes(Comparison("<=", left, right), self.given)

    def case(self, condition: Expr) -> Search:
        """The search where a condition holds as well; the same one each time."""
        if condition not in self.cases:
            self.cases[condition] = self._under(condition)
        return self.cases[condition]

    def is_impossible(self, case: Expr) -> bool:
        """Whether a condition is known not to hold."""
        decided = self._decided(case)
        return self.oracle(negation(case), self.given) if decided is None else not decided

    def _under(self, condition: Expr) -> Search:
        return Search(self.oracle, self.also(condition), self.unfold, self.use_bounds)

    def also(self, condition: Expr) -> Assumptions:
        """What is assumed, and one more condition."""
        return Assumptions.of(self.given).also(condition)

    def _by_shape(self, left: Expr, right: Expr, depth: int) -> Step | None:
        if isinstance(left, Integer) and 0 <= left.value <= 1 and self.at_least(right, left.value):
            return Step("leaf", left, right)
        attempts = (
            self._made,
            self.congruence,
            self._split_left,
            self._split_right,
            self._choose_right,
            self._choose_left,
            self.rounding,
            self._via_bound,
            self._unfold,
        )
        for attempt in attempts:
            step = attempt(left, right, depth)
            if step is not None:
                return step
        return None

    # Same operator on both sides

    def congruence(self, left: Expr, right: Expr, depth: int) -> Step | None:
        parts = self._premises_of_congruence(left, right)
        if parts is None:
            return self._in_list(left, right, depth)
        return self.by("monotone", left, right, parts, depth)

    def _in_list(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """The next elements of two amounts, of which the larger is seen to be within the list.

        Whatever the amount, the next element is one of the list.
        """
        match left, right:
            case Call("next_in", (_, b)), Call("max", (d,)) if b == d:
                return Step("element", left, right)
            case Call("next_in", (a, b)), Call("next_in", (c, d)) if b == d:
                premise = self.at_most(a, c, depth)
                inside = premise and self.within(c, Call("max", (d,)), depth)
                if premise and inside:
                    return Step("next_within", left, right, (premise, inside))
        return None

    def _premises_of_congruence(
        self, left: Expr, right: Expr
    ) -> tuple[tuple[Expr, Expr], ...] | None:
        match left, right:
            case Binary("+", a, b), Binary("+", c, d):
                return ((a, c), (b, d))
            case Binary("-", a, b), Binary("-", c, d):
                return ((a, c), (d, b))
            case Binary("*", a, b), Binary("*", c, d) if self._all_non_negative(a, b):
                return ((a, c), (b, d))
            case Binary("//", a, b), Binary("//", c, d) if self._quotient_shrinks(c, b, d):
                return ((a, c), (d, b))
            case Call("align_up", (a, b)), Call("align_up", (c, d)) if b == d and self.at_least(
                b, 1
            ):
                return ((a, c),)
            case Call("cdiv", (a, b)), Call("cdiv", (c, d)) if self._quotient_shrinks(c, b, d):
                return ((a, c), (d, b))
            case Call("next_in", (a, b)), Call("next_in", (c, d)) if b == d and self.oracle(
                Comparison("<=", c, Call("max", (d,))), self.given
            ):
                return ((a, c),)
            case Call(f, xs), Call(g, ys) if (
                f == g and f in ("min", "max") and len(xs) == len(ys) > 1
            ):
                return tuple(zip(xs, ys, strict=True))
            case _:
                return None

    def _all_non_negative(self, *operands: Expr) -> bool:
        return all(self.non_negative(operand) for operand in operands)

    def _quotient_shrinks(self, numerator: Expr, left: Expr, right: Expr) -> bool:
        if not self.at_least(right, 1):
            return False
        return left == right or self.non_negative(numerator)

    def by(
        self,
        rule: RuleName,
        left: Expr,
        right: Expr,
        claims: tuple[tuple[Expr, Expr], ...],
        depth: int,
    ) -> Step | None:
        premises: list[Step] = []
        for smaller, larger in claims:
            premise = self.at_most(smaller, larger, depth)
            if premise is None:
                return None
            premises.append(premise)
        return Step(rule, left, right, tuple(premises))

    # Every part of one side must do

    def _made(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """A choice that is made by what is assumed, before what stands around it asks for it."""
        match left, right:
            case _, Conditional(condition) if self._decided(condition) is not None:
                return self._split_right(left, right, depth)
            case Conditional(condition), _ if self._decided(condition) is not None:
                return self._split_left(left, right, depth)
            case _:
                return None

    def _split_left(self, left: Expr, right: Expr, depth: int) -> Step | None:
        match left:
            case Call("max", arguments) if len(arguments) > 1:
                claims = tuple((argument, right) for argument in arguments)
                return self.by("max_below", left, right, claims, depth)
            case Conditional(condition, then, otherwise):
                return self._by_cases(
                    "cases_left", left, right, condition, (then, right), (otherwise, right), depth
                )
            case _:
                return None

    def _split_right(self, left: Expr, right: Expr, depth: int) -> Step | None:
        match right:
            case Call("min", arguments) if len(arguments) > 1:
                claims = tuple((left, argument) for argument in arguments)
                return self.by("below_min", left, right, claims, depth)
            case Conditional(condition, then, otherwise):
                return self._by_cases(
                    "cases_right", left, right, condition, (left, then), (left, otherwise), depth
                )
            case _:
                return None

    def _by_cases(
        self,
        rule: RuleName,
        left: Expr,
        right: Expr,
        condition: Expr,
        when_true: tuple[Expr, Expr],
        when_false: tuple[Expr, Expr],
        depth: int,
    ) -> Step | None:
        premises: list[Step] = []
        for case, claim in ((condition, when_true), (negation(condition), when_false)):
            premise = self.in_case(case, claim, depth)
            if premise is None:
                return None
            premises.append(premise)
        return Step(rule, left, right, tuple(premises))

    def in_case(
        self, case: Expr, claim: tuple[Expr, Expr], depth: int, *, within: bool = False
    ) -> Step | None:
        if self.is_impossible(case):
            return Step("impossible", *claim)  # anything follows
        search = self.case(case)
        return search.within(*claim, depth) if within else search.at_most(*claim, depth)

    # One part of one side is enough

    def _choose_right(self, left: Expr, right: Expr, depth: int) -> Step | None:
        match right:
            case Call("max", arguments) if len(arguments) > 1:
                for argument in sorted(arguments, key=lambda each: self._distance(left, each)):
                    premise = self.at_most(left, argument, depth)
                    if premise is not None:
                        return Step("below_max", left, right, (premise,))
        return None

    def _choose_left(self, left: Expr, right: Expr, depth: int) -> Step | None:
        match left:
            case Call("min", arguments) if len(arguments) > 1:
                for argument in sorted(arguments, key=lambda each: self._distance(each, right)):
                    premise = self.at_most(argument, right, depth)
                    if premise is not None:
                        return Step("min_below", left, right, (premise,))
        return None

    def _distance(self, left: Expr, right: Expr) -> int:
        """How unlikely a claim is to hold, as far as the sides tell without a search."""
        if self.at_once(left, right) is not None:
            return 0
        return 1 if left in parts_of(right) or right in parts_of(left) else 2

    # Upper bounds of single variables among the assumptions

    def _via_bound(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """left <= left where a variable that `right` lacks is at its assumed bound <= right."""
        for assumed in self.given if self.use_bounds else ():
            match assumed:
                case Comparison("<=", Name(name=name), bound) if left != Name(name):
                    if name not in free_names(left) or name in free_names(right):
                        continue
                    middle = substitute(left, {name: bound})
                    nested = Search(self.oracle, self.given, self.unfold, use_bounds=False)
                    first = nested.at_most(left, middle, depth)
                    rest = first and nested.at_most(middle, right, depth)
                    if first and rest:
                        return Step("chain", left, right, (first, rest))
        return None

    def _unfold(self, left: Expr, right: Expr, depth: int) -> Step | None:
        match left, right:
            case _, Name(name=name) if name in self.unfold:
                value = self.unfold[name]
                premise = self.at_most(left, value, depth)
                return premise and Step("unfold_right", left, right, (premise,))
            case Name(name=name), _ if name in self.unfold:
                value = self.unfold[name]
                premise = self.at_most(value, right, depth)
                return premise and Step("unfold_left", left, right, (premise,))
            case _:
                return None


def _has_choice(node: Expr) -> bool:
    return isinstance(node, Conditional) or any(_has_choice(child) for child in children(node))
