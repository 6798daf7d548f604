"""What is found once of conditions that are assumed together is what a plain tuple gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ullage.bound.assumptions import Assumptions
from ullage.expr.tree import Expr, Name

conditions = st.lists(st.sampled_from([Name(name) for name in "abcde"]), max_size=6)


@given(conditions, st.sampled_from("abcde"))
def test_one_more_condition_leaves_the_others_as_they_are(first: list[Expr], last: str) -> None:
    assumed = Assumptions.of(first)
    more = assumed.also(Name(last))
    assert more == (*first, Name(last))
    assert more.before is assumed
    assert assumed == tuple(first)
    assert more.every == Assumptions(more).every == {*first, Name(last)}


@given(conditions)
def test_they_are_found_under_the_same_conditions_as_a_tuple(first: list[Expr]) -> None:
    assumed = Assumptions(())
    for each in first:
        assumed = assumed.also(each)
    assert {tuple(first): "found"}[assumed] == "found"
    assert Assumptions.of(assumed) is assumed
    if first:
        assert Assumptions(first).before == assumed.before == tuple(first[:-1])
