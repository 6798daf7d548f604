"""What a condition decides is decided, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from support.expressions import (
    PLAIN,
    boolean_expressions,
    environments,
    integer_expressions,
    value_or_none,
)
from ullage.expr.conditions import clauses, left_open, where_holds
from ullage.expr.environment import Environment
from ullage.expr.parse import parse
from ullage.expr.spell import spell
from ullage.expr.tree import FALSE, TRUE, Conditional, Expr, conjunction, disjunction, negation
from ullage.place import Place


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


@given(
    boolean_expressions(PLAIN, 1),
    boolean_expressions(PLAIN, 1),
    integer_expressions(PLAIN, 2),
    integer_expressions(PLAIN, 2),
    environments(PLAIN),
)
def test_where_a_condition_holds_the_value_is_the_same(
    one: Expr, other: Expr, first: Expr, second: Expr, environment: Environment
) -> None:
    condition = conjunction(one, negation(other))
    assume(value_or_none(condition, environment) is True)
    choice = Conditional(other, Conditional(one, first, second), Conditional(one, second, first))
    value = value_or_none(choice, environment)
    assert value_or_none(where_holds(choice, condition), environment) == value


@pytest.mark.parametrize(
    ("text", "condition", "made"),
    [
        ("a if p else b", "p", "a"),
        ("a if p else b", "not p", "b"),
        ("a if p else b", "q and not p", "b"),
        ("a + (b if p else (a if q else b))", "p or q", "a + (b if p else a if q else b)"),
        ("max(a if p and q else b, 1)", "p and q", "max(a if p and q else b, 1)"),
        ("a if a < b else b", "a < b and p", "a"),
    ],
)
def test_a_choice_is_made_where_a_part_of_the_condition_is_its_own(
    text: str, condition: str, made: str
) -> None:
    assert spell(where_holds(parse(text, at), parse(condition, at))) == made


@given(boolean_expressions(PLAIN, 3), environments(PLAIN))
def test_what_a_condition_says_is_what_its_clauses_say_together(
    condition: Expr, environment: Environment
) -> None:
    value = value_or_none(condition, environment)
    parts = [value_or_none(each, environment) for each in clauses(condition)]
    assume(value is not None and None not in parts)
    assert all(parts) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p and (q or a < b and a == 1)", ["p", "q or a < b", "q or a == 1"]),
        ("not p or q", ["not p or q"]),
        ("p and q or a < b and a == 1", ["q or a == 1", "p or a < b"]),
    ],
)
def test_clauses_are_as_small_as_may_be(text: str, said: list[str]) -> None:
    found = [spell(each) for each in clauses(parse(text, at))]
    assert set(said) <= set(found)
    assert all(" and " not in each for each in found)


@pytest.mark.parametrize(
    ("condition", "known", "left"),
    [
        ("a and b > 1", "a", "b > 1"),
        ("a and b > 1", "b > 1 and a and c", "true"),
        ("a", "c", "a"),
        ("a or c", "a", "a or c"),
        ("not a", "a", "not a"),
        ("true", "a", "true"),
    ],
)
def test_what_is_left_open_is_what_is_not_known(condition: str, known: str, left: str) -> None:
    assert spell(left_open(parse(condition, at), parse(known, at))) == left


@given(boolean_expressions(), boolean_expressions(), environments())
def test_what_is_left_open_decides_where_the_rest_is_known(
    condition: Expr, known: Expr, environment: Environment
) -> None:
    assume(value_or_none(known, environment) is True)
    whole = value_or_none(conjunction(condition, known), environment)
    assume(whole is not None)
    assert value_or_none(left_open(conjunction(condition, known), known), environment) is whole


def test_a_condition_and_its_opposite_leave_no_choice() -> None:
    one, other = parse("cap <= 2", at), parse("pool <= 3", at)
    assert disjunction(one, other, negation(one)) == TRUE
    assert conjunction(negation(one), other, one) == FALSE
    assert disjunction(one, negation(other)) not in (TRUE, FALSE)
