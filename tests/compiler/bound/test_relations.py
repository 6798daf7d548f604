"""Bounds of one variable are read off relations without losing or adding batches."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bounds import Proving, domain, flag, live, mode, number, read
from ullage.bound.relations import (
    Interval,
    NotLinearError,
    Relation,
    from_condition,
    isolate,
    relations_of,
)
from ullage.expr.environment import Value
from ullage.expr.evaluate import evaluate
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Expr, Name
from ullage.prove.solver import Solver

DOMAIN = domain(number("k", 1, 3), number("cap", 1, 6), flag("on"))
ORACLE = Proving(Solver(DOMAIN))


def relation(text: str) -> Relation:
    """The relation of one `<=`."""
    tree = read(text)
    assert isinstance(tree, Comparison)
    return Relation(tree.left, tree.right)


def spelled(condition: str) -> list[str]:
    found = from_condition(read(condition))
    assert found is not None
    return [spell(each.claim) for each in found]


@pytest.mark.parametrize(
    ("condition", "relations"),
    [
        ("a <= b", ["a <= b"]),
        ("a < b", ["a + 1 <= b"]),
        ("a >= b", ["b <= a"]),
        ("a > b", ["b + 1 <= a"]),
        ("a == b", ["a <= b", "b <= a"]),
        ("1 <= a and a <= b", ["1 <= a", "a <= b"]),
        ("not a < b", ["b <= a"]),
        ("not a <= b", ["b + 1 <= a"]),
        ("not a != b", ["a <= b", "b <= a"]),
    ],
)
def test_a_comparison_is_relations(condition: str, relations: list[str]) -> None:
    assert spelled(condition) == relations


@pytest.mark.parametrize("condition", ["a != b", "not a == b", "on", "not on", "a <= b or on"])
def test_what_is_no_conjunction_of_comparisons_is_refused(condition: str) -> None:
    assert from_condition(read(condition)) is None


@given(
    st.sampled_from(["<", "<=", "==", ">=", ">"]),
    st.integers(-3, 3),
    st.integers(-3, 3),
    st.booleans(),
)
def test_relations_hold_exactly_where_the_condition_does(
    operator: str, a: int, b: int, denied: bool
) -> None:
    condition = read(f"not a {operator} b" if denied else f"a {operator} b")
    found = from_condition(condition)
    values: dict[str, Value] = {"a": a, "b": b}
    if found is not None:
        holds = all(evaluate(each.claim, values) for each in found)
        assert holds == evaluate(condition, values)


def test_a_mode_brings_its_ranges_and_couplings() -> None:
    decode = mode(live("a", 1, "cap"), live("b", "a", 9), where=["a + b <= k"], tokens="a")
    assert [spell(each.claim) for each in relations_of(decode)] == [
        "1 <= a",
        "a <= cap",
        "a <= b",
        "b <= 9",
        "a + b <= k",
    ]


def test_a_relation_under_a_guard_claims_nothing_without_it() -> None:
    guarded = Relation(read("a"), read("b"), read("on"))
    assert evaluate(guarded.claim, {"a": 2, "b": 1, "on": False})
    assert not evaluate(guarded.claim, {"a": 2, "b": 1, "on": True})


SYSTEMS = [
    ["1 <= x", "x <= cap"],
    ["0 <= x", "x <= cap", "x <= y + k"],
    ["1 <= x", "x <= 6", "k * x <= y + 3"],
    ["y <= k * x", "x <= cap", "0 <= x"],
    ["1 <= x", "x <= 9", "2 * x + y <= 3 * k + cap"],
    ["y - x <= 1", "x - y <= 2", "0 <= x", "x <= 6"],
    ["1 <= x", "x <= cap + 3", "3 * x - k <= 2 * y + 5"],
    ["1 <= x", "cdiv(x, k) <= y", "x <= 6"],
    ["1 <= x", "x // k <= y", "x <= 6"],
    ["1 <= x", "align_up(x, k) <= y + 1", "x <= 6"],
    ["5 <= x + x", "x <= cap", "y <= x + 2"],
    ["1 <= x", "x <= 6", "x * cap <= y * 2"],
    ["0 <= x", "x <= 6", "y <= x * (k + 1)", "x <= y"],
    ["1 <= x", "x <= 6", "1 <= (y - x if on else cap - x)"],
    ["(y if on else k) - x <= 1", "0 <= x", "x <= 9", "x <= (y + k if cap < 3 else 7 - x)"],
]


@pytest.mark.parametrize("texts", SYSTEMS)
def test_an_isolated_variable_has_exactly_the_values_that_the_relations_allow(
    texts: list[str],
) -> None:
    """For each y: the x within the interval are those that satisfy all, and the rest says when."""
    relations = tuple(relation(each) for each in texts)
    found = isolate("x", relations, ORACLE, (read("0 <= y"), read("y <= 8")))
    conditions = [read(each) for each in texts]
    for k, cap, y, on in itertools.product(
        range(1, 4), (1, 2, 4, 6), (0, 1, 3, 4, 8), (True, False)
    ):
        values: dict[str, Value] = {"k": k, "cap": cap, "y": y, "on": on}
        allowed = [
            x
            for x in range(-1, 13)
            if all(evaluate(each, values | {"x": x}) for each in conditions)
        ]
        low, high = _ends(found, values)
        some = all(_claims(each, values) for each in found.rest)
        assert bool(allowed) == some
        assert list(range(low, high + 1)) == allowed or not some


def _claims(each: Relation, values: dict[str, Value]) -> bool:
    return bool(evaluate(each.claim, values))


def _ends(found: Interval, values: dict[str, Value]) -> tuple[int, int]:
    low, high = evaluate(found.low, values), evaluate(found.high, values)
    assert isinstance(low, int)
    assert isinstance(high, int)
    return low, high


def test_bounds_that_never_bind_are_left_out() -> None:
    relations = tuple(relation(each) for each in ("1 <= x", "0 <= x", "x <= cap", "x <= cap + k"))
    found = isolate("x", relations, ORACLE, ())
    assert [spell(each) for each in found.lows] == ["1"]
    assert [spell(each) for each in found.highs] == ["cap"]


def test_relations_without_the_variable_are_kept_as_they_are() -> None:
    other = relation("y <= k")
    found = isolate("x", (relation("1 <= x"), other, relation("x <= y")), ORACLE, ())
    assert other in found.rest


@pytest.mark.parametrize(
    "text",
    ["x * x <= cap", "cap <= x * x", "x * (k - 2) <= cap", "min(x, k) <= cap", "x % k <= 1"],
)
def test_a_relation_that_gives_no_bound_is_refused(text: str) -> None:
    with pytest.raises(NotLinearError):
        isolate("x", (relation("1 <= x"), relation(text)), ORACLE, ())


def test_a_slope_of_unknown_sign_is_refused_unless_it_is_known_to_be_positive() -> None:
    sloped = relation("x * (k - 2) <= cap")
    found = isolate("x", (sloped,), ORACLE, (read("k == 3"),))
    assert [spell(each) for each in found.highs] == ["cap // (k - 2)"]


def test_a_variable_without_one_of_its_ends_has_no_such_bound() -> None:
    found = isolate("x", (relation("1 <= x"),), ORACLE, ())
    assert found.highs == ()
    assert [spell(each) for each in found.lows] == ["1"]


def test_mentioning_is_by_name() -> None:
    each: Expr = Name("x")
    assert Relation(each, read("y")).mentions("x")
    assert not Relation(each, read("y")).mentions("k")
