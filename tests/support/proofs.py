"""Proof steps in a line each, and all ways to break one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from support.bounds import read
from ullage.bound.steps import RuleName, Step
from ullage.expr.tree import Binary, Expr, Integer


def step(rule: RuleName, left: str, right: str, *premises: Step) -> Step:
    """`left <= right` by a rule."""
    return Step(rule, read(left), read(right), premises)


def leaf(left: str, right: str) -> Step:
    """A claim that is left to z3."""
    return step("leaf", left, right)


def same(side: str) -> Step:
    """What is equal to itself."""
    return step("same", side, side)


def claim_of(proof: Step) -> tuple[Expr, Expr]:
    """What a step claims, as the checker is asked about it."""
    return (proof.left, proof.right)


def altered(proof: Step) -> Iterator[Step]:
    """The proof with one side of one of its steps changed, for every side of every step."""
    yield replace(proof, left=_more(proof.left))
    yield replace(proof, right=_more(proof.right))
    yield replace(proof, left=_more(proof.left), right=_more(proof.right))
    yield from _with_altered_premise(proof)


def _more(side: Expr) -> Expr:
    return Binary("+", side, Integer(1))


def _with_altered_premise(proof: Step) -> Iterator[Step]:
    for place, premise in enumerate(proof.premises):
        for other in altered(premise):
            changed = (*proof.premises[:place], other, *proof.premises[place + 1 :])
            yield replace(proof, premises=changed)


def shortened(proof: Step) -> Iterator[Step]:
    """The proof with one premise of one of its steps left out, for every premise."""
    for place, premise in enumerate(proof.premises):
        rest = (*proof.premises[:place], *proof.premises[place + 1 :])
        yield replace(proof, premises=rest)
        for other in shortened(premise):
            changed = (*proof.premises[:place], other, *proof.premises[place + 1 :])
            yield replace(proof, premises=changed)
