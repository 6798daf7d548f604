"""Spelling is the inverse of parsing."""

from __future__ import annotations

import pytest
from hypothesis import given

from support.expressions import FULL, expressions
from ullage.expr.kinds import resolve
from ullage.expr.parse import parse
from ullage.expr.spell import spell
from ullage.expr.tree import Binary, Call, Comparison, Enumerant, Expr, Integer, Logical, Name, Not
from ullage.place import Place


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


@given(expressions(FULL, depth=4))
def test_a_spelled_expression_parses_to_itself(expr: Expr) -> None:
    assert resolve(parse(spell(expr), at), FULL.kinds) == expr


@pytest.mark.parametrize(
    "text",
    [
        "a + b * c",
        "(a + b) * c",
        "a - (b - c)",
        "a - b - c",
        "a // (b * c)",
        "-(a + b) * c",
        "a - -1",
        "0 - 5",
        "-5 % a",
        "not (p and q) or p",
        "(p or q) and (p or a < b)",
        "(p and q) and p",
        "(a < b) == (b < c)",
        "not p == q",
        "(not p) == q",
        "a if p else b if q else c",
        "(a if p else b) if q else c",
        "(a if p else b) + c",
        "a if (p if q else p) else b",
        "max(xs) + max(a, b if p else c)",
        "[b * 2 for b in [c for c in xs if c < a] if b > 3 and p]",
        "[b for b in (xs if p else ys)]",
        "sum_requests(seq_len + upper(width)) // sum_ranks(1)",
    ],
)
def test_a_text_with_the_fewest_brackets_is_spelled_as_written(text: str) -> None:
    assert spell(parse(text, at)) == text


def test_needless_brackets_are_left_out() -> None:
    assert spell(parse("((a) + ((b * c)))", at)) == "a + b * c"


def test_an_enumerant_is_spelled_as_its_bare_value() -> None:
    assert spell(Comparison("==", Name("worker"), Enumerant("worker", "draft", 1))) == (
        "worker == draft"
    )


def test_trees_that_no_parser_makes_are_spelled_too() -> None:
    a, b = Name("a"), Name("b")
    assert spell(Binary("-", Integer(0), Binary("-", Integer(0), a))) == "--a"
    assert spell(Not(Not(Name("p")))) == "not not p"
    assert spell(Logical("or", (Name("p"), Logical("or", (Name("q"), Name("p")))))) == (
        "p or (q or p)"
    )
    assert spell(Call("max", (Binary("+", a, Integer(-1)), b))) == "max(a + -1, b)"
