"""What the shape of an amount says of its sign is so for all values of its names."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bounds import read
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.expr.tree import Binary, Call, Comparison, Conditional, Expr, Integer, Name
from ullage.prove.signs import is_at_least

LEAST = {"any": -2, "natural": 0, "positive": 1}
VALUES = {"any": range(-2, 3), "natural": range(3), "positive": range(1, 4)}


def known(claim: Comparison, given: tuple[Expr, ...]) -> bool:
    """The names' own lower ends; the strategies below give no other claims to decide."""
    assert isinstance(claim.left, Integer)
    assert isinstance(claim.right, Name)
    return claim.left.value <= LEAST[claim.right.name]


def amounts() -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from(sorted(LEAST)).map(Name) | st.integers(-1, 3).map(Integer)

    def larger(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        conditions = st.builds(lambda a, b: Comparison("<=", a, b), parts, parts)
        return st.one_of(
            st.builds(Binary, st.sampled_from(["+", "-", "*", "//", "%"]), parts, parts),
            st.builds(
                lambda function, a, b: Call(function, (a, b)),
                st.sampled_from(["max", "min", "align_up", "cdiv"]),
                parts,
                parts,
            ),
            st.builds(Conditional, conditions, parts, parts),
        )

    return st.recursive(leaves, larger, max_leaves=6)


@given(amounts(), st.sampled_from([0, 1]))
def test_no_value_is_below_a_bound_that_the_shape_gives(amount: Expr, bound: int) -> None:
    if not is_at_least(bound, amount, (), known):
        return
    for values in product(*VALUES.values()):
        named = dict(zip(VALUES, values, strict=True))
        try:
            value = evaluate_integer(amount, named)
        except EvaluationError:
            continue  # a divisor below 1, of which nothing is said
        assert bound <= value, named


@pytest.mark.parametrize("bound", [0, 1])
def test_a_sum_asks_no_more_than_its_length_squared(bound: int) -> None:
    asked: list[Comparison] = []

    def counted(claim: Comparison, given: tuple[Expr, ...]) -> bool:
        asked.append(claim)
        return known(claim, given)

    terms = 30
    amount = read(" + ".join(["positive", *["natural"] * (terms - 1)]))
    assert is_at_least(bound, amount, (), counted)
    assert len(asked) <= terms**2


def test_a_branch_knows_its_condition() -> None:
    asked: list[tuple[Comparison, bool]] = []

    def decide(claim: Comparison, given: tuple[Expr, ...]) -> bool:
        asked.append((claim, all(evaluate_boolean(each, {"any": 2}) for each in given)))
        return True

    assert is_at_least(1, read("any if any > 1 else natural"), (), decide)
    assert asked == [(read("1 <= any"), True), (read("1 <= natural"), False)]


def test_shapes_that_have_no_sign_of_their_own_are_left_open() -> None:
    for text in ("natural - natural", "natural + any", "positive * any", "natural // any", "any"):
        assert not is_at_least(0, read(text), (), known), text
    for text in ("positive * positive + natural", "max(any, positive)", "cdiv(positive, positive)"):
        assert is_at_least(1, read(text), (), known), text
