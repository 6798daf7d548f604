"""Proofs that a stated formula is enough for every batch of one mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ullage.bound.oracle import Oracle
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
    negation,
    rebuild,
)
from ullage.prove.checker import Checker
from ullage.prove.solver import Solver


class AuditSearch(Search):
    """The deriver's search, which also takes factors out of nested alignments.

    Formulas of engines align rows before they multiply, pipelines the other way round.
    """

    def _under(self, condition: Expr) -> Search:
        return AuditSearch(self.oracle, (*self.given, condition), self.unfold, self.use_bounds)

    def _special(self, left: Expr, right: Expr, depth: int) -> Step | None:
        return super()._special(left, right, depth) or self._nested(left, right, depth)

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
                    first = Step("monotone", node, middle, (step,))
                    yield Step("chain", node, scaled, (first, Step("align_scales", middle, scaled)))
        case _:
            return


def prove(
    left: Expr, right: Expr, given: Sequence[Expr], oracle: Oracle, *, known: Expr = TRUE
) -> Step | None:
    """A checked proof of `left <= right` under `given`, or None where none was found.

    Choices in `right` that `known` settles are settled first, so that both sides have one form.
    """
    assumed = tuple(given)
    unfold = {each.name: each.value for each in oracle.solver.domain.definitions}
    search = AuditSearch(oracle, assumed, unfold)
    step = _through(search, left, settled(right, known, oracle), right)
    return checked(step, (left, right), assumed, oracle.solver)


def checked(
    step: Step | None, claim: tuple[Expr, Expr], given: Sequence[Expr], solver: Solver
) -> Step | None:
    """The step, if the checker accepts it as a proof of the claim."""
    holds = step is not None and Checker(solver).holds(step, claim, given)
    return step if holds else None


def _through(search: Search, left: Expr, chosen: Expr, right: Expr) -> Step | None:
    """left <= the folded choice <= the choice <= right."""
    links: list[Step] = []
    for start, end in ((left, fold(chosen)), (fold(chosen), chosen), (chosen, right)):
        if start != end:
            step = search.at_most(start, end)
            if step is None:
                return search.at_most(left, right)
            links.append(step)
    if len(links) <= 1:
        return links[0] if links else Step("same", left, right)
    return Step("chain", left, right, tuple(links))


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
