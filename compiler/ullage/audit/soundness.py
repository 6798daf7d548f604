"""Proofs that a stated formula is enough: for all that is within the capacities, or in one mode."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ullage.audit.stated import Question
from ullage.bound.search import Search
from ullage.bound.steps import Step
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    TRUE,
    Binary,
    Call,
    Conditional,
    Expr,
    children,
    conjunction,
    negation,
    rebuild,
    walk,
)
from ullage.prove.checker import Checker
from ullage.prove.oracle import Oracle
from ullage.prove.solver import Solver

SPLITS = 1
"""How many conditions of one formula are told apart at a time."""


class AuditSearch(Search):
    """The deriver's search, which also takes factors out of nested alignments.

    Formulas of engines align rows before they multiply, pipelines the other way round.
    """

    def _under(self, condition: Expr) -> Search:
        return AuditSearch(self.oracle, self.also(condition), self.unfold, self.use_bounds)

    def rounding(self, left: Expr, right: Expr, depth: int) -> Step | None:
        return super().rounding(left, right, depth) or self._nested(left, right, depth)

    def _nested(self, left: Expr, right: Expr, depth: int) -> Step | None:
        """align_up(align_up(x * w, a), b) <= align_up(align_up(x, a), b) * w, on to `right`."""
        if not isinstance(right, Binary):
            return None
        for step in _factored(left):
            if isinstance(step.right, Binary) and self.non_negative(step.right.right):
                rest = self._multiple(step.right, right, depth)
                if rest is not None:
                    return Step("chain", left, right, (step, rest))
        return None


def _factored(node: Expr) -> Iterator[Step]:
    """Steps from nested alignments of a product to the product of the alignments of a factor."""
    match node:
        case Call("align_up", (Binary("*", first, second), alignment)):
            for operand, factor in ((first, second), (second, first)):
                scaled = Binary("*", Call("align_up", (operand, alignment)), factor)
                yield Step("align_scales", node, scaled)
        case Call("align_up", (Call("align_up") as inner, alignment)):
            for step in _factored(inner):
                if isinstance(step.right, Binary):
                    operand, factor = step.right.left, step.right.right
                    middle = Call("align_up", (step.right, alignment))
                    scaled = Binary("*", Call("align_up", (operand, alignment)), factor)
                    links = (
                        Step("monotone", node, middle, (step,)),
                        Step("align_scales", middle, scaled),
                    )
                    yield Step("chain", node, scaled, links)
        case _:
            return


def within(question: Question, oracle: Oracle) -> Step | None:
    """A checked proof that all amounts within the capacities are within the formula as well.

    What is proved of the capacities then holds of the formula, in every mode. None where no proof
    was found, or where the capacities are not proved themselves.
    """
    if not question.proved:
        return None
    search, known = AuditSearch(oracle, question.given), (question.runner.guard, question.guard)
    capacity, formula = question.capacity, question.formula
    first = search.at_most(question.limited, capacity)
    rest = first and (
        prove(capacity, formula, known, oracle, known=conjunction(*known))
        or checked(Step("leaf", capacity, formula), (capacity, formula), known, oracle.solver)
    )
    if first is None or rest is None:
        return None
    step = Step("chain", question.limited, formula, (first, rest))
    return checked(step, (question.limited, formula), question.given, oracle.solver)


def prove(
    left: Expr, right: Expr, given: Sequence[Expr], oracle: Oracle, *, known: Expr = TRUE
) -> Step | None:
    """A checked proof of `left <= right` under `given`, or None where none was found.

    Choices in `right` that `known`, a part of `given`, settles are settled first, so that both
    sides have one form.
    """
    assumed = tuple(given)
    step = _Prover(oracle, assumed, known).at_most(left, right, SPLITS)
    return checked(step, (left, right), assumed, oracle.solver)


def checked(
    step: Step | None, claim: tuple[Expr, Expr], given: Sequence[Expr], solver: Solver
) -> Step | None:
    """The step, if the checker accepts it as a proof of the claim."""
    holds = step is not None and Checker(solver).holds(step, claim, given)
    return step if holds else None


class _Prover:
    """Looks for proofs under fixed assumptions, by cases where the shapes alone show nothing."""

    def __init__(self, oracle: Oracle, given: tuple[Expr, ...], known: Expr) -> None:
        self.oracle, self.given, self.known = oracle, given, known
        unfold = {each.name: each.value for each in oracle.solver.domain.definitions}
        self.search = AuditSearch(oracle, given, unfold)

    def at_most(self, left: Expr, right: Expr, splits: int) -> Step | None:
        """left <= the folded choice <= the choice <= right, or that in both of two cases."""
        chosen = settled(right, self.known, self.oracle)
        direct = self._linked((left, fold(chosen), chosen, right))
        if direct is not None or splits == 0:
            return direct
        for condition in _conditions(chosen):
            step = self._split(condition, left, chosen, right, splits - 1)
            if step is not None:
                return step
        return None

    def _linked(self, sides: Sequence[Expr]) -> Step | None:
        links: list[Step] = []
        for start, end in itertools.pairwise(dict.fromkeys(sides)):
            step = self.search.at_most(start, end)
            if step is None:
                return None
            links.append(step)
        if len(links) == 1:
            return links[0]
        return Step("chain", sides[0], sides[-1], tuple(links)) if links else None

    def _split(
        self, condition: Expr, left: Expr, chosen: Expr, right: Expr, splits: int
    ) -> Step | None:
        """left <= (the choice in one case if it holds, else in the other) <= right."""
        arms: list[Expr] = []
        premises: list[Step] = []
        for case in (condition, negation(condition)):
            inner = _Prover(self.oracle, (*self.given, case), conjunction(self.known, case))
            arms.append(settled(chosen, inner.known, self.oracle))
            premise = inner.at_most(left, arms[-1], splits)
            if premise is None:
                return None
            premises.append(premise)
        cases = Conditional(condition, arms[0], arms[1])
        rest = self.search.at_most(cases, right)
        first = Step("cases_right", left, cases, tuple(premises))
        return rest and Step("chain", left, right, (first, rest))


def _conditions(node: Expr) -> Iterator[Expr]:
    """The conditions of all choices in an expression, once each."""
    found = (each.condition for each in walk(node) if isinstance(each, Conditional))
    yield from dict.fromkeys(found)


def settled(node: Expr, known: Expr, oracle: Oracle) -> Expr:
    """The expression without the choices that `known` decides."""
    match node:
        case Conditional(condition, then, otherwise):
            if oracle(condition, (known,)):
                return settled(then, known, oracle)
            if oracle(negation(condition), (known,)):
                return settled(otherwise, known, oracle)
    parts = children(node)
    if not parts:
        return node
    return rebuild(node, tuple(settled(part, known, oracle) for part in parts))
