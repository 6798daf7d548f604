"""What a runner's `accepts` says of its batches, in the forms that bound live variables.

Each condition is rewritten step by step until it compares sums: a maximum is below a limit where
all its operands are, a choice where both arms are, and `cdiv(x, p) <= k` says that `x <= k * p`.
Every step says the same as what it replaces; `ullage.prove.eligibility` has z3 prove so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from ullage.bound.canonical import linear_in
from ullage.bound.problem import Coupling, Rewriting
from ullage.bound.relations import from_condition
from ullage.expr.conditions import merged
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    TRUE,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Logical,
    Name,
    Not,
    conjunction,
    disjunction,
    free_names,
    negation,
    substitute,
    transform,
    walk,
)
from ullage.spec.model import Runner

Side = Literal["above", "below"]
Part = tuple[Expr, Expr]
"""A guard and a condition that holds wherever the guard does."""


def without_facts(runner: Runner, mode: str) -> tuple[Expr, ...]:
    """The conditions on batches of a mode under which some answers of the engine let them in."""
    facts = frozenset(fact.name for fact in runner.facts)
    conditions = runner.accepts_in(mode)
    rest = tuple(each for each in conditions if not free_names(each) & facts)
    asking = tuple(each for each in conditions if free_names(each) & facts)
    possible = (_answered(together, facts) for together in _asking_alike(asking, facts))
    return (*rest, *(each for each in possible if each != TRUE))


def _asking_alike(conditions: tuple[Expr, ...], facts: frozenset[str]) -> list[list[Expr]]:
    """The conditions, those together that ask the same facts, be it by others between them."""
    groups: list[list[Expr]] = []
    for condition in conditions:
        asked = free_names(condition) & facts
        alike = [each for each in groups if any(free_names(other) & asked for other in each)]
        groups = [each for each in groups if each not in alike]
        groups.append([*(other for each in alike for other in each), condition])
    return groups


def _answered(conditions: list[Expr], facts: frozenset[str]) -> Expr:
    """Where some answers meet all of the conditions."""
    together = conjunction(*conditions)
    asked = sorted(free_names(together) & facts)
    answers = (
        dict(zip(asked, map(Boolean, truths), strict=True))
        for truths in product((False, True), repeat=len(asked))
    )
    possible = fold(disjunction(*(fold(substitute(together, {**each})) for each in answers)))
    return replace(possible, place=conditions[0].place)


def split(condition: Expr, live: frozenset[str]) -> Rewriting:
    """The condition as comparisons without maxima, minima and choices by configuration."""
    return _Splitter(live, frozenset()).rewriting(TRUE, condition)


def solved(condition: Expr, live: frozenset[str]) -> Rewriting:
    """The condition as comparisons that are, where possible, linear in the live variables."""
    return _Splitter(live, frozenset(("above", "below"))).rewriting(TRUE, condition)


def solved_from_above(condition: Expr, live: frozenset[str]) -> Rewriting:
    """The same for upper bounds; lower bounds are left as they are."""
    return _Splitter(live, frozenset(("above",))).rewriting(TRUE, condition)


def leaves(rewriting: Rewriting) -> Iterator[Rewriting]:
    """What a condition amounts to in the end."""
    if not rewriting.parts:
        yield rewriting
    for part in rewriting.parts:
        yield from leaves(part)


def couplings_of(rewritings: tuple[Rewriting, ...], live: frozenset[str]) -> tuple[Coupling, ...]:
    """The relations between live variables; those that bound none are kept as conditions."""
    guards: dict[Expr, list[Expr]] = {}
    for leaf in (leaf for each in rewritings for leaf in leaves(each)):
        guards.setdefault(leaf.condition, []).append(leaf.guard)
    return tuple(
        Coupling(condition, guard, bounds=_bounds(condition, live), chooses=True)
        for condition, found in guards.items()
        for guard in merged(found)
    )


def hoisted(node: Expr, conditions: tuple[Expr, ...]) -> Expr:
    """The expression as a choice by these conditions, each of which stands outermost once."""
    for place, condition in enumerate(conditions):
        if _chooses_by(node, condition):
            rest = conditions[place + 1 :]
            arms = (hoisted(chosen(node, condition, holds), rest) for holds in (True, False))
            return fold(Conditional(condition, *arms))
    return node


def _chooses_by(node: Expr, condition: Expr) -> bool:
    return any(isinstance(part, Conditional) and part.condition == condition for part in walk(node))


def chosen(node: Expr, condition: Expr, holds: bool) -> Expr:
    """The expression where a condition holds, or does not."""

    def choose(part: Expr) -> Expr:
        if isinstance(part, Conditional) and part.condition == condition:
            return part.then if holds else part.otherwise
        return part

    return transform(node, choose)


def _bounds(condition: Expr, live: frozenset[str]) -> bool:
    """Whether bounds of every live variable in the condition can be read off it."""
    if any("@serving" in name for name in free_names(condition) & live):
        return False
    relations = from_condition(condition)
    return relations is not None and all(
        _is_linear(Binary("-", relation.right, relation.left), live) for relation in relations
    )


def _is_linear(difference: Expr, live: frozenset[str]) -> bool:
    for name in sorted(free_names(difference) & live):
        parts = linear_in(difference, Name(name))
        if parts is None or free_names(parts[0]) & live:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Splitter:
    """Rewrites conditions over some live variables; `solves` rounded sides bounded from there."""

    live: frozenset[str]
    solves: frozenset[Side]

    def rewriting(self, guard: Expr, condition: Expr) -> Rewriting:
        """The condition with all that follows from it, wherever the guard holds."""
        parts = self._parts(condition)
        inner = tuple(self.rewriting(fold(conjunction(guard, each)), part) for each, part in parts)
        return Rewriting(condition, guard, inner)

    def _parts(self, condition: Expr) -> tuple[Part, ...]:
        """What together says the same; nothing where the condition stays as it is."""
        if not free_names(condition) & self.live:
            return ()
        match condition:
            case Logical("and", operands):
                return tuple((TRUE, operand) for operand in operands)
            case Logical("or", operands):
                return self._any_of(operands)
            case Not(Comparison()):
                turned = fold(condition)
                return () if turned == condition else ((TRUE, turned),)
            case Not(Logical("or", operands)):
                return tuple((TRUE, negation(operand)) for operand in operands)
            case Not(Logical("and", operands)):
                return self._any_of(tuple(negation(operand) for operand in operands))
            case Comparison("<=", left, right):
                return self._at_most(left, right)
            case Comparison():
                relations = from_condition(condition)
                listed = () if relations is None else relations
                return tuple((TRUE, Comparison("<=", each.left, each.right)) for each in listed)
            case _:
                return ()

    def _any_of(self, operands: tuple[Expr, ...]) -> tuple[Part, ...]:
        """One condition on the batch, wherever those on the configuration do not hold."""
        fixed = [operand for operand in operands if self._is_fixed(operand)]
        rest = [operand for operand in operands if operand not in fixed]
        return ((negation(disjunction(*fixed)), rest[0]),) if len(rest) == 1 else ()

    def _at_most(self, left: Expr, right: Expr) -> tuple[Part, ...]:
        parts = () if self._is_fixed(left) else self._of_left(left, right)
        if parts or self._is_fixed(right):
            return parts
        return self._of_right(left, right)

    def _of_left(self, left: Expr, right: Expr) -> tuple[Part, ...]:
        match left:
            case Call("max", arguments) if len(arguments) > 1:
                return tuple((TRUE, Comparison("<=", each, right)) for each in arguments)
            case Conditional(condition, then, otherwise) if self._is_fixed(condition):
                return self._cases(
                    condition, Comparison("<=", then, right), Comparison("<=", otherwise, right)
                )
            case _ if "above" in self.solves and self._is_fixed(right):
                return self._solved(self._below(left, right))
            case _:
                return ()

    def _of_right(self, left: Expr, right: Expr) -> tuple[Part, ...]:
        match right:
            case Call("min", arguments) if len(arguments) > 1:
                return tuple((TRUE, Comparison("<=", left, each)) for each in arguments)
            case Conditional(condition, then, otherwise) if self._is_fixed(condition):
                return self._cases(
                    condition, Comparison("<=", left, then), Comparison("<=", left, otherwise)
                )
            case _ if "below" in self.solves and self._is_fixed(left):
                return self._solved(self._above(left, right))
            case _:
                return ()

    def _is_fixed(self, *nodes: Expr) -> bool:
        return not any(free_names(node) & self.live for node in nodes)

    def _cases(self, condition: Expr, then: Expr, otherwise: Expr) -> tuple[Part, ...]:
        if then == otherwise:
            return ((TRUE, then),)
        return ((condition, then), (negation(condition), otherwise))

    @staticmethod
    def _solved(condition: Expr | None) -> tuple[Part, ...]:
        return () if condition is None else ((TRUE, condition),)

    def _below(self, rounded: Expr, limit: Expr) -> Expr | None:
        match rounded:
            case Call("cdiv", (inner, step)) if self._is_fixed(step):
                return Comparison("<=", inner, Binary("*", limit, step))
            case Call("align_up", (inner, step)) if self._is_fixed(step):
                return Comparison("<=", inner, Binary("*", Binary("//", limit, step), step))
            case Binary("//", inner, step) if self._is_fixed(step):
                room = Binary("-", Binary("+", Binary("*", limit, step), step), Integer(1))
                return Comparison("<=", inner, room)
            case _:
                return None

    def _above(self, limit: Expr, rounded: Expr) -> Expr | None:
        match rounded:
            case Call("cdiv", (inner, step)) if self._is_fixed(step):
                return Comparison("<", Binary("-", Binary("*", limit, step), step), inner)
            case Call("align_up", (inner, step)) if self._is_fixed(step):
                steps = Binary("-", Call("cdiv", (limit, step)), Integer(1))
                return Comparison("<", Binary("*", steps, step), inner)
            case Binary("//", inner, step) if self._is_fixed(step):
                return Comparison("<=", Binary("*", limit, step), inner)
            case _:
                return None
