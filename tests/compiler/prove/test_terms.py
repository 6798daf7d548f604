"""A term is the one that z3's own operators make."""

from __future__ import annotations

import pytest
import z3

from ullage.prove import terms

CONTEXT = z3.Context()
A, B = z3.Ints("a b", CONTEXT)
P, Q = z3.Bools("p q", CONTEXT)


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (terms.plus(A, B), A + B),
        (terms.minus(A, B), A - B),
        (terms.times(A, B), A * B),
        (terms.at_most(A, B), A <= B),
        (terms.at_least(A, B), A >= B),
        (terms.below(A, B), A < B),
        (terms.above(A, B), A > B),
        (terms.equal(A, B), A == B),
        (terms.equal(P, Q), P == Q),
        (terms.unequal(A, B), A != B),
        (terms.negated(P), z3.Not(P)),
        (terms.implied(P, Q), z3.Implies(P, Q)),
        (terms.every((P, Q), CONTEXT), z3.And(P, Q)),
        (terms.some((P, Q), CONTEXT), z3.Or(P, Q)),
        (terms.every((), CONTEXT), z3.And([], CONTEXT)),
        (terms.some((), CONTEXT), z3.Or([], CONTEXT)),
        (terms.chosen(P, A, B), z3.If(P, A, B)),
        (terms.chosen_truth(P, Q, P), z3.If(P, Q, P)),
    ],
    ids=str,
)
def test_a_term_is_that_of_the_operator(made: z3.ExprRef, written: z3.ExprRef) -> None:
    assert made.eq(written)
    assert made.sort() == written.sort()
    assert type(made) is type(written)
