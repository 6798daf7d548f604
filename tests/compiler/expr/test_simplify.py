"""Folding keeps the value of every expression that has one, and leaves nothing to fold."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from support.expressions import FULL, environments, expressions, value_or_none
from ullage.expr.environment import Environment
from ullage.expr.evaluate import evaluate
from ullage.expr.kinds import infer
from ullage.expr.parse import parse
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Enumerant, Expr, Name, free_names, walk
from ullage.place import Place


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


@given(expressions(FULL, depth=4), environments(FULL))
@pytest.mark.slow
def test_folding_keeps_the_value(expr: Expr, environment: Environment) -> None:
    value = value_or_none(expr, environment)
    assume(value is not None)
    folded = evaluate(fold(expr), environment)
    assert folded == value
    assert type(folded) is type(value)


@given(expressions(FULL, depth=4))
def test_folding_twice_changes_nothing(expr: Expr) -> None:
    once = fold(expr)
    assert fold(once) == once


@given(expressions(FULL, depth=4))
def test_folding_adds_no_names_and_no_nodes(expr: Expr) -> None:
    folded = fold(expr)
    assert free_names(folded) <= free_names(expr)
    assert len(list(walk(folded))) <= len(list(walk(expr)))


@given(expressions(FULL, depth=4))
def test_a_folded_expression_is_of_the_same_kind(expr: Expr) -> None:
    assert type(infer(fold(expr), FULL.kinds)) is type(infer(expr, FULL.kinds))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3 * 4", "14"),
        ("7 // 2 + 7 % 2", "4"),
        ("cdiv(7, 2) + align_up(7, 2)", "12"),
        ("next_in(5, [4, 8, 16])", "8"),
        ("1 < 2 and a < b", "a < b"),
        ("a * 1 + 0", "a"),
        ("0 + 1 * a", "a"),
        ("a - 0", "a"),
        ("a * 0", "0"),
        ("a - a", "0"),
        ("a // 1", "a"),
        ("a % 1", "0"),
        ("a + -3", "a - 3"),
        ("a - -3", "a + 3"),
        ("--a", "a"),
        ("align_up(a, 1)", "a"),
        ("cdiv(a, 1)", "a"),
        ("align_up(align_up(a, b), b)", "align_up(a, b)"),
        ("align_up(align_up(a, b), c)", "align_up(align_up(a, b), c)"),
        ("max(a, a)", "a"),
        ("max(a, max(b, a), 3, max(5, c))", "max(a, b, 5, c)"),
        ("min(a, min(b, 3), 5)", "min(a, b, 3)"),
        ("min(a, max(b, c))", "min(a, max(b, c))"),
        ("max([a, b, a])", "max(a, b)"),
        ("max([a])", "a"),
        ("max([a, max(a, b)])", "max(a, b)"),
        ("max(max(xs), max(xs))", "max(xs)"),
        ("max(max(xs), a)", "max(max(xs), a)"),
        ("a if true else b", "a"),
        ("a if 1 > 2 else b", "b"),
        ("a if p else a", "a"),
        ("true if p else false", "p"),
        ("false if p else true", "not p"),
        ("a if not p else b", "b if p else a"),
        ("not not p", "p"),
        ("not a < b", "a >= b"),
        ("p and true and p", "p"),
        ("p or (q or p)", "p or q"),
        ("p and false", "false"),
        ("a == a", "true"),
        ("a < a", "false"),
        ("p == true", "p"),
        ("false == p", "not p"),
        ("[b for b in xs if true]", "xs"),
        ("[b + 0 for b in xs if a < b]", "[b for b in xs if a < b]"),
        ("max_ranks(4)", "4"),
        ("sum_requests(0 * seq_len)", "0"),
        ("sum_ranks(4)", "sum_ranks(4)"),
    ],
)
def test_a_text_folds_to_a_shorter_one(text: str, expected: str) -> None:
    assert spell(fold(parse(text, at))) == expected


@pytest.mark.parametrize("text", ["1 // 0", "5 % 0", "next_in(9, [4])", "2^63 * 2^63", "max([])"])
def test_what_has_no_value_or_none_that_can_be_written_stays(text: str) -> None:
    expr = parse(text, at)
    assert fold(expr) == expr


def test_values_of_an_enum_are_compared_by_code() -> None:
    draft, target = Enumerant("worker", "draft", 1), Enumerant("worker", "target", 0)
    assert spell(fold(Comparison("==", draft, draft))) == "true"
    assert spell(fold(Comparison("==", draft, target))) == "false"
    assert spell(fold(Comparison("!=", draft, target))) == "true"
    same = Comparison("==", Name("worker"), draft)
    assert fold(same) == same


def test_a_folded_part_keeps_the_place_where_it_was_written() -> None:
    expr = parse("a + (2 * 3 + max(b, b))", at)
    places = {spell(node): node.place for node in walk(fold(expr))}
    assert places["6"] == at(5, 5)
    assert places["b"] == at(17, 1)
