"""Every text is an expression of the language or one error with a place."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.expr import errors
from ullage.expr.errors import ExpressionError
from ullage.expr.lex import MAX_DEPTH, MAX_LENGTH
from ullage.expr.parse import SourceRef, parse, parse_call, parse_dotted
from ullage.expr.tree import (
    Binary,
    Boolean,
    Call,
    Comparison,
    Comprehension,
    Conditional,
    Expr,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
    Progression,
    children,
)
from ullage.place import Place

A, B, C, X, XS = Name("a"), Name("b"), Name("c"), Name("x"), Name("xs")

SYMBOLS = "+ - * // % == != < <= > >= ( ) [ ] , = . : ** / ^ 'a' é \n"
NAMES = "a b xs 1 2^3 0 max min align_up cdiv next_in upper sum_requests true True None lambda"
WORDS = (*SYMBOLS.split(" "), *NAMES.split(" "), "and", "or", "not", "if", "else", "for", "in")


def at(offset: int, width: int) -> Place:
    return Place("a.yaml", 1, offset + 1, width)


def refusal(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(text, at)
    return caught.value


def pointed_at(text: str) -> str:
    """The part of the text that the error underlines."""
    place = refusal(text).place
    return text[place.column - 1 : place.column - 1 + place.width]


def outcome_of(text: str) -> Expr | Place:
    """The tree of a text, or the place of its error."""
    try:
        return parse(text, at)
    except ExpressionError as error:
        return error.place


def depth_of(expr: Expr) -> int:
    return 1 + max((depth_of(child) for child in children(expr)), default=0)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("12", Integer(12)),
        ("-12", Integer(-12)),
        ("- -12", Integer(12)),
        ("2^31 - 1", Binary("-", Integer(2**31), Integer(1))),
        ("3 * 2^4", Binary("*", Integer(3), Integer(16))),
        ("-2^63", Integer(-(2**63))),
        ("true", Boolean(True)),
        ("false", Boolean(False)),
        ("a", A),
        ("-a", Binary("-", Integer(0), A)),
        ("a + b * c", Binary("+", A, Binary("*", B, C))),
        ("a // b % c", Binary("%", Binary("//", A, B), C)),
        ("a <= b", Comparison("<=", A, B)),
        ("a < b == c", Logical("and", (Comparison("<", A, B), Comparison("==", B, C)))),
        ("a and b and not c", Logical("and", (A, B, Not(C)))),
        ("a if b else c", Conditional(B, A, C)),
        ("max(a, b, 1)", Call("max", (A, B, Integer(1)))),
        ("max(xs)", Call("max", (XS,))),
        ("align_up(a, b)", Call("align_up", (A, B))),
        ("cdiv(a, 4)", Call("cdiv", (A, Integer(4)))),
        ("next_in(a, xs)", Call("next_in", (A, XS))),
        ("upper(a)", Call("upper", (A,))),
        ("sum_requests(a + 1)", Over("sum_requests", Binary("+", A, Integer(1)))),
        ("sum_ranks(a)", Over("sum_ranks", A)),
        ("max_ranks(a)", Over("max_ranks", A)),
        ("[a, 2]", ListOf((A, Integer(2)))),
        ("[]", ListOf(())),
        ("[a, *range(2, b, 3)]", ListOf((A, Progression(Integer(2), B, Integer(3))))),
        ("range(a, b, 1)", ListOf((Progression(A, B, Integer(1)),))),
        ("[x for x in xs]", Comprehension(X, "x", XS, None)),
        ("[x for x in xs if a]", Comprehension(X, "x", XS, A)),
        ("[x for x in xs if a if b]", Comprehension(X, "x", XS, Logical("and", (A, B)))),
    ],
)
def test_a_text_means_its_tree(text: str, tree: Expr) -> None:
    assert parse(text, at) == tree


@pytest.mark.parametrize("brackets", ["[b, c]", "(b, c)", "[b, c,]"])
def test_membership_is_equality_with_one_of_the_elements(brackets: str) -> None:
    equal = (Comparison("==", A, B), Comparison("==", A, C))
    different = (Comparison("!=", A, B), Comparison("!=", A, C))
    assert parse(f"a in {brackets}", at) == Logical("or", equal)
    assert parse(f"a not in {brackets}", at) == Logical("and", different)


def test_membership_in_one_element_is_one_comparison() -> None:
    assert parse("a in [b]", at) == Comparison("==", A, B)


@pytest.mark.parametrize("text", ["\n  a\n + b ", "\ta\r\n+ b", "(a\n+\nb)", "a+b"])
def test_blanks_and_line_ends_carry_no_meaning(text: str) -> None:
    assert parse(text, at) == Binary("+", A, B)


def test_every_part_knows_where_it_was_written() -> None:
    tree = parse("  rows\n* (2^4 + width)", at)
    assert isinstance(tree, Binary)
    assert isinstance(tree.right, Binary)
    assert tree.place == at(2, 20)
    assert tree.left.place == at(2, 4)
    assert tree.right.left.place == at(10, 3)
    assert tree.right.right.place == at(16, 5)


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("", errors.NOT_AN_EXPRESSION, ""),
        ("a b", errors.NOT_AN_EXPRESSION, "b"),
        ("a +", errors.NOT_AN_EXPRESSION, "+"),
        ("a + * b", errors.NOT_AN_EXPRESSION, "*"),
        ("a + (b", errors.NOT_AN_EXPRESSION, "("),
        ("a)", errors.NOT_AN_EXPRESSION, ")"),
        ("(a]", errors.NOT_AN_EXPRESSION, "]"),
        ("a not b", errors.NOT_AN_EXPRESSION, "not"),
        ("a in b", errors.NOT_AN_EXPRESSION, "b"),
        ("017", errors.NOT_AN_EXPRESSION, "017"),
        ("a / b", errors.NOT_IN_THE_LANGUAGE, "/"),
        ("a ** b", errors.NOT_IN_THE_LANGUAGE, "**"),
        ("a ^ 2", errors.NOT_IN_THE_LANGUAGE, "^"),
        ("a ^= 2", errors.NOT_IN_THE_LANGUAGE, "^"),
        ("a = b", errors.NOT_IN_THE_LANGUAGE, "="),
        ("a is b", errors.NOT_IN_THE_LANGUAGE, "is"),
        ("a && b", errors.NOT_IN_THE_LANGUAGE, "&&"),
        ("1 + 2.5", errors.NOT_IN_THE_LANGUAGE, "2.5"),
        ("1 + .5", errors.NOT_IN_THE_LANGUAGE, ".5"),
        ("1_000", errors.NOT_IN_THE_LANGUAGE, "1_000"),
        ("0x10", errors.NOT_IN_THE_LANGUAGE, "0x10"),
        ("a == 'b'", errors.NOT_IN_THE_LANGUAGE, "'b'"),
        ("a.b", errors.NOT_IN_THE_LANGUAGE, "."),
        ("a + xs[0]", errors.NOT_IN_THE_LANGUAGE, "xs[0]"),
        ("a, b", errors.NOT_IN_THE_LANGUAGE, "a, b"),
        ("lambda x: x", errors.NOT_IN_THE_LANGUAGE, "lambda"),
        ("True", errors.NOT_IN_THE_LANGUAGE, "True"),
        ("None", errors.NOT_IN_THE_LANGUAGE, "None"),
        ("a # b", errors.NOT_IN_THE_LANGUAGE, "#"),
        ("1 + +a", errors.NOT_IN_THE_LANGUAGE, "+a"),
        ("max(x for x in xs)", errors.NOT_IN_THE_LANGUAGE, "(x for x in xs)"),
        ("max(*xs)", errors.NOT_IN_THE_LANGUAGE, "*xs"),
        ("[a, *xs]", errors.NOT_IN_THE_LANGUAGE, "*xs"),
        ("[a, *max(xs)]", errors.NOT_IN_THE_LANGUAGE, "*max(xs)"),
        ("[*range(a, b)]", errors.WRONG_ARGUMENTS, "range(a, b)"),
        ("[*range(a, b, step=1)]", errors.NOT_IN_THE_LANGUAGE, "="),
        ("a + range", errors.NOT_A_NAME, "range"),
        ("max(a, key=b)", errors.NOT_IN_THE_LANGUAGE, "="),
        ("[x for x in xs for y in ys]", errors.NOT_IN_THE_LANGUAGE, "y"),
        ("[x for [x] in xs]", errors.NOT_IN_THE_LANGUAGE, "[x]"),
        ("a\xa0+ b", errors.NOT_IN_THE_LANGUAGE, "\xa0"),
        ("a + é", errors.NOT_IN_THE_LANGUAGE, "é"),
        ("a + \ud800", errors.NOT_IN_THE_LANGUAGE, "\ud800"),
        ("a + \0", errors.NOT_IN_THE_LANGUAGE, "\0"),
        ("a + B", errors.NOT_A_NAME, "B"),
        ("_a", errors.NOT_A_NAME, "_a"),
        ("__import__('os')", errors.NOT_A_NAME, "__import__"),
        ("a + import", errors.NOT_A_NAME, "import"),
        ("a + max", errors.NOT_A_NAME, "max"),
        ("[true for true in xs]", errors.NOT_A_NAME, "true"),
        ("ceil(a, b)", errors.UNKNOWN_FUNCTION, "ceil"),
        ("cdiv(a)", errors.WRONG_ARGUMENTS, "cdiv(a)"),
        ("max(1)", errors.WRONG_ARGUMENTS, "max(1)"),
        ("min()", errors.WRONG_ARGUMENTS, "min()"),
        ("upper(a + 1)", errors.WRONG_ARGUMENTS, "a + 1"),
        ("9223372036854775809", errors.OVER_A_LIMIT, "9223372036854775809"),
        ("a + 2^64", errors.OVER_A_LIMIT, "2^64"),
        ("a + 10^9999999", errors.OVER_A_LIMIT, "10^9999999"),
    ],
)
def test_what_is_not_in_the_language_is_refused_where_it_stands(
    text: str, code: str, part: str
) -> None:
    assert refusal(text).code == code
    assert pointed_at(text) == part


def test_division_names_both_exact_divisions() -> None:
    hint = refusal("tokens / 2").hint or ""
    assert "'//'" in hint
    assert "cdiv" in hint


def test_a_misspelt_function_is_told_the_nearest_one() -> None:
    assert "'align_up'" in (refusal("alignup(a, b)").hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10**6,
        "(" * 10**6 + "a" + ")" * 10**6,
        "9" * 10**6,
        "a" * (MAX_LENGTH + 1),
        "(" * 500 + "a" + ")" * 500,
        "-" * 1900 + "a",
        "not " * 480 + "a",
        "a + " * 480 + "a",
        "a if b else " * 150 + "a",
        "[x for x in " * 100 + "xs" + "]" * 100,
        "max(a, " * 200 + "b" + ")" * 200,
    ],
)
def test_a_text_over_a_limit_is_refused_as_such(text: str) -> None:
    assert refusal(text).code == errors.OVER_A_LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "(" * MAX_DEPTH + "a b" + ")" * MAX_DEPTH,
        "max(" * MAX_DEPTH + "a b" + ")" * MAX_DEPTH,
        "[x for x in " * MAX_DEPTH + "xs ys" + "]" * MAX_DEPTH,
        "[" * MAX_DEPTH + "a if" + "]" * MAX_DEPTH,
    ],
)
def test_a_mistake_at_the_deepest_level_is_found(text: str) -> None:
    assert refusal(text).code == errors.NOT_AN_EXPRESSION


def test_brackets_alone_do_not_deepen_the_tree() -> None:
    assert parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH, at) == A


TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map(" ".join))


@given(TEXTS)
def test_any_text_is_an_expression_or_an_expression_error(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = outcome_of(text)
    if isinstance(outcome, Place):
        assert 1 <= outcome.column <= len(text) + 1
        assert 1 <= outcome.width <= max(1, len(text) + 1 - outcome.column)
    else:
        assert depth_of(outcome) <= MAX_DEPTH


@given(TEXTS)
def test_any_text_is_a_call_or_an_expression_error(text: str) -> None:
    try:
        name, _ = parse_call(text, at)
    except ExpressionError:
        return
    assert name in text


@given(st.one_of(st.text(), st.text("ab.[]01 _", max_size=12)))
def test_any_text_is_a_field_or_an_expression_error(text: str) -> None:
    try:
        source = parse_dotted(text, at)
    except ExpressionError:
        return
    assert str(source) == text.strip()


def test_a_call_gives_its_keyword_arguments() -> None:
    assert parse_call("mlp_sync", at) == ("mlp_sync", {})
    assert parse_call("mlp_sync()", at) == ("mlp_sync", {})
    text = "mlp_sync(width=a + 1, step=2)"
    assert parse_call(text, at) == (
        "mlp_sync",
        {"width": Binary("+", A, Integer(1)), "step": Integer(2)},
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("mlp_sync(a)", errors.NOT_AN_EXPRESSION),
        ("mlp_sync(a=1, a=2)", errors.NOT_AN_EXPRESSION),
        ("mlp_sync(a=b=c)", errors.NOT_AN_EXPRESSION),
        ("mlp_sync = a", errors.NOT_AN_EXPRESSION),
        ("mlp_sync(a) = b", errors.NOT_AN_EXPRESSION),
        ("a + b", errors.NOT_AN_EXPRESSION),
        ("mlp_sync(max=1)", errors.NOT_A_NAME),
        ("max(a=1)", errors.NOT_A_NAME),
        ("mlp_sync(a=max(b, key=c))", errors.NOT_IN_THE_LANGUAGE),
        ("mlp_sync(**a)", errors.NOT_IN_THE_LANGUAGE),
    ],
)
def test_a_call_that_is_not_a_name_with_keyword_arguments_is_refused(text: str, code: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_call(text, at)
    assert caught.value.code == code


def test_a_field_is_a_path_with_an_optional_dimension() -> None:
    assert parse_dotted("batch.seq_lens", at) == SourceRef(("batch", "seq_lens"))
    assert parse_dotted(" batch.input_ids[1] ", at) == SourceRef(("batch", "input_ids"), 1)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("batch..rows", 7),
        ("batch.Rows", 7),
        ("batch.class", 7),
        ("batch.__class__", 7),
        ("batch.rows[", 11),
        ("batch.rows[-1]", 11),
        ("batch.rows[01]", 11),
        ("batch.rows[1][2]", 11),
        ("batch.rows[1", 11),
        ("batch.rows[٣]", 11),
        ("batch.rows()", 7),
    ],
)
def test_a_field_that_is_not_a_plain_path_is_refused_where_it_goes_wrong(
    text: str, column: int
) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_dotted(text, at)
    assert caught.value.place.column == column
