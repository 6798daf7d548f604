"""Rewriting an expression never changes its value."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.bounds import read
from support.expressions import PLAIN, integer_expressions, value_or_none, values
from ullage.bound.canonical import additive_terms, canonical, distribute, linear_in, negated
from ullage.expr.environment import Environment, Value
from ullage.expr.evaluate import evaluate
from ullage.expr.spell import spell
from ullage.expr.tree import Binary, Expr, Integer, Name, children, free_names
from ullage.place import Place

ASSIGNMENTS = st.lists(values(PLAIN), min_size=3, max_size=3)


def keeps_value(before: Expr, after: Expr, assignments: list[dict[str, Value]]) -> None:
    """`after` has the value of `before` wherever that has one."""
    for found in assignments:
        expected = value_or_none(before, Environment(found))
        if expected is not None:
            assert evaluate(after, Environment(found)) == expected


@given(integer_expressions(PLAIN), ASSIGNMENTS)
@pytest.mark.slow
def test_the_canonical_form_has_the_same_value(
    expr: Expr, assignments: list[dict[str, Value]]
) -> None:
    keeps_value(expr, canonical(expr), assignments)


@given(integer_expressions(PLAIN), ASSIGNMENTS)
def test_distributing_sums_keeps_the_value(expr: Expr, assignments: list[dict[str, Value]]) -> None:
    keeps_value(expr, distribute(canonical(expr)), assignments)
    keeps_value(expr, distribute(expr), assignments)


@given(integer_expressions(PLAIN), ASSIGNMENTS)
def test_the_terms_of_a_sum_add_up_to_it(expr: Expr, assignments: list[dict[str, Value]]) -> None:
    total: Expr = Integer(0)
    for term in additive_terms(expr):
        total = Binary("+", total, term)
    keeps_value(expr, total, assignments)
    keeps_value(Binary("-", Integer(0), expr), negated(expr), assignments)


@given(integer_expressions(PLAIN), st.sampled_from(PLAIN.integers), ASSIGNMENTS)
def test_a_linear_form_has_the_same_value(
    expr: Expr, name: str, assignments: list[dict[str, Value]]
) -> None:
    parts = linear_in(expr, Name(name))
    assume(parts is not None)
    assert parts is not None
    slope, offset = parts
    assert name not in free_names(slope) | free_names(offset)
    keeps_value(expr, Binary("+", Binary("*", slope, Name(name)), offset), assignments)


@given(integer_expressions(PLAIN))
def test_the_canonical_form_is_its_own(expr: Expr) -> None:
    once = canonical(expr)
    assert canonical(once) == once


@given(integer_expressions(PLAIN))
def test_rewriting_brings_no_new_names(expr: Expr) -> None:
    assert free_names(canonical(expr)) <= free_names(expr)
    assert free_names(distribute(expr)) <= free_names(expr)


@given(integer_expressions(PLAIN), integer_expressions(PLAIN), integer_expressions(PLAIN))
def test_sums_written_differently_have_one_form(a: Expr, b: Expr, c: Expr) -> None:
    left = Binary("*", Binary("+", a, b), c)
    right = Binary("+", Binary("*", c, b), Binary("*", c, a))
    terms = {spell(term) for term in additive_terms(canonical(left))}
    assert len(terms) == len({spell(term) for term in additive_terms(canonical(right))})


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("m + n - m", "n"),
        ("2 * (m + 3) - m", "m + 6"),
        ("m * n - n * m", "0"),
        ("(m + n) * (m - n)", "m * m - n * n"),
        ("m - (n - x)", "m + x - n"),
        ("align_up(m + m, n) * 2", "2 * align_up(2 * m, n)"),
        ("(m + n) // (x - x + 2)", "(m + n) // 2"),
        ("2^63 * 2^63 * m - 2^63 * 2^63 * m", "0"),
    ],
)
def test_sums_and_products_are_collected(text: str, form: str) -> None:
    assert spell(canonical(read(text))) == form


@pytest.mark.parametrize("line", [3, 4])
def test_what_is_collected_keeps_the_places_of_its_own_parts(line: int) -> None:
    place = Place("spec.yaml", line, 1)
    collected = canonical(Binary("+", Name("m", place=place), Name("n", place=place)))
    assert [part.place for part in children(collected)] == [place, place]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("m + min(n, 3)", "min(m + n, m + 3)"),
        ("m - max(n, 3)", None),
        ("m - (n if p else 3)", None),
        ("m + (n if p else 3)", "m + n if p else m + 3"),
    ],
)
def test_sums_move_inside_extremes_and_choices(text: str, form: str | None) -> None:
    distributed = distribute(canonical(read(text)))
    if form is not None:
        assert spell(distributed) == form
    keeps_value(
        read(text), distributed, [{"m": 5, "n": 2, "p": True}, {"m": 1, "n": 7, "p": False}]
    )


@pytest.mark.parametrize(
    ("text", "slope", "offset"),
    [
        ("3 * m + n - m", "2", "n"),
        ("m * n + x", "n", "x"),
        ("(m + 1) * (n + x)", "n + x", "n + x"),
        ("n * 4", "0", "4 * n"),
    ],
)
def test_the_slope_and_offset_of_a_linear_form(text: str, slope: str, offset: str) -> None:
    parts = linear_in(read(text), Name("m"))
    assert parts is not None
    assert (spell(parts[0]), spell(parts[1])) == (slope, offset)


@pytest.mark.parametrize("text", ["m * m", "m // 2", "max(m, n)", "m % 3 + m", "align_up(m, n)"])
def test_what_is_not_linear_has_no_linear_form(text: str) -> None:
    assert linear_in(read(text), Name("m")) is None
