"""Whatever an author writes stays inside of its comment, docstring or literal."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.emit.names import ClassNames, Names, camel
from ullage.emit.text import WIDTH, comment, docstring, literal, plain, sentence, tuple_of

NASTY = [
    '"""',
    'ends with a quote"',
    "ends with a backslash\\",
    "line\nbreak\r\u2028and\u2029more\x85",
    "\u202eright to left",
    "#!/bin/sh",
    "{% raw %}{{ name }}",
    "\\N{BULLET} \\x41",
    "na\u00efve \u4e2d\u6587 \u00d7 \u2019",
    "\x00\x07",
]
texts = st.sampled_from(NASTY) | st.text(max_size=300)


@given(texts, st.sampled_from([0, 4, 8]))
def test_a_comment_is_nothing_but_comments(text: str, indent: int) -> None:
    source = " " * indent + comment(text, indent)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    kinds = {token.type for token in tokens}
    assert kinds <= {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER}
    assert source.isprintable() or "\n" in source


@given(st.lists(texts, min_size=1, max_size=3), st.sampled_from([0, 4, 8]))
def test_a_docstring_is_one_expression(paragraphs: list[str], indent: int) -> None:
    source = docstring(paragraphs, indent)
    tree = ast.parse(source)
    assert len(tree.body) == 1
    statement = tree.body[0]
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Constant)


@given(texts)
def test_a_literal_is_the_text_it_was_made_of(text: str) -> None:
    source = literal(text)
    assert ast.literal_eval(f"({source})") == text
    assert source.isascii()
    assert len(source.splitlines()) == 1


@given(texts)
def test_plain_text_is_one_printable_line(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text).splitlines()) <= 1


def test_long_docstrings_are_wrapped() -> None:
    words = docstring(("word " * 60, "more " * 60), 8)
    assert all(len(line) <= WIDTH for line in words.splitlines())
    assert len(words.splitlines()) == 10


@pytest.mark.parametrize(
    ("text", "made"),
    [("rows of the batch", "Rows of the batch."), ("Why?", "Why?"), ("", ""), ("a:", "A:")],
)
def test_a_sentence_begins_with_a_capital_and_ends(text: str, made: str) -> None:
    assert sentence(text) == made


def test_a_tuple_has_a_comma_where_it_needs_one() -> None:
    assert tuple_of([]) == "()"
    assert tuple_of(["a"]) == "(a,)"
    assert tuple_of(["a", "b"]) == "(a, b)"


def test_names_that_python_uses_get_an_underscore_and_stay_distinct() -> None:
    names = Names(("input", "input_", "class_", "rows", "own"), reserved=("own",))
    assert [names.of(each) for each in ("input", "input_", "rows", "own")] == [
        "input__",
        "input_",
        "rows",
        "own_",
    ]


def test_class_names_are_distinct() -> None:
    names = ClassNames(("Config",))
    assert [names.new(each) for each in ("config", "a_b", "a__b", "a_b")] == [
        "Config2",
        "AB",
        "AB2",
        "AB3",
    ]
    assert camel("eager_target") == "EagerTarget"
