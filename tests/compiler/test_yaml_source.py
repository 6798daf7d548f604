"""YAML is text: what a spec file may be, and where each of its characters stands."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.diagnostics.render import render_text
from ullage.text.yaml_source import (
    MAX_BYTES,
    Mapping,
    Node,
    Scalar,
    Sequence,
    parse_bytes,
    read_file,
)

NAME = "specs/a.yaml"


def parse(text: str) -> Mapping:
    return parse_bytes(text.encode(), NAME)


def value_of(text: str) -> Node:
    return parse(text).entries[0].value


def scalar_of(text: str) -> Scalar:
    value = value_of(text)
    assert isinstance(value, Scalar)
    return value


def errors_of(data: str | bytes) -> tuple[Diagnostic, ...]:
    with pytest.raises(DiagnosticError) as caught:
        parse_bytes(data if isinstance(data, bytes) else data.encode(), NAME)
    return caught.value.diagnostics


def only_error_of(data: str | bytes) -> Diagnostic:
    errors = errors_of(data)
    assert len(errors) == 1, errors
    return errors[0]


# --- scalars keep their text -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["off", "no", "017", "2^31", "~", "null", "1e3", "0x1F", "2024-01-01", "1:30", "yes"]
)
def test_a_plain_scalar_is_the_text_that_was_written(text: str) -> None:
    assert scalar_of(f"key: {text}\n") == Scalar(text, scalar_of(f"key: {text}\n").place, False)


def test_a_missing_value_is_the_empty_plain_text() -> None:
    assert scalar_of("key:\nother: x").text == ""
    assert not scalar_of("key:\nother: x").quoted
    assert scalar_of("key: ''").quoted


def test_block_scalars_fold_as_yaml_says() -> None:
    assert scalar_of("key: >-\n  one\n  two\n\n  three\n").text == "one two\nthree"
    assert scalar_of("key: |\n  one\n   two\n").text == "one\n two\n"


def test_collections_keep_order_and_places() -> None:
    root = parse("b: [x, 'y']\na:\n  - {k: v}\n")
    assert [entry.key.text for entry in root.entries] == ["b", "a"]
    listed, nested = (entry.value for entry in root.entries)
    assert isinstance(listed, Sequence)
    assert isinstance(nested, Sequence)
    assert str(listed.place) == "specs/a.yaml:1:4"
    assert listed.place.width == 8
    assert str(nested.items[0].place) == "specs/a.yaml:3:5"
    assert root.get("b") is listed
    assert root.get("c") is None


def test_line_ends_and_a_byte_order_mark_do_not_move_places() -> None:
    for data in (b"\xef\xbb\xbfa: b\r\nc: d\r\n", b"a: b\rc: d\r", b"a: b\nc: d\n"):
        value = parse_bytes(data, NAME).entries[1].value
        assert str(value.place) == "specs/a.yaml:2:4"


# --- positions inside scalars ------------------------------------------------------------------


def test_offsets_of_plain_and_quoted_scalars_are_columns() -> None:
    plain = scalar_of("key: tokens + pages")
    assert (plain.at(9, 5).column, plain.at(9, 5).width) == (15, 5)
    quoted = scalar_of('key: "tokens + pages"')
    assert (quoted.place.column, quoted.place.width) == (7, 14)
    assert quoted.at(9, 5).column == 16
    assert quoted.at(99).column == 7 + 14


def test_offsets_of_folded_scalars_find_their_line() -> None:
    folded = scalar_of("key: >-\n  max(tokens,\n    pages) + rows\n")
    for word, line, column in (("max", 2, 3), ("pages", 3, 5), ("rows", 3, 14)):
        place = folded.at(folded.text.index(word), len(word))
        assert (place.line, place.column, place.width) == (line, column, len(word))


def test_offsets_skip_escapes_and_doubled_quotes() -> None:
    escaped = scalar_of('key: "a\\x41\\t bad"')
    assert escaped.text == "aA\t bad"
    assert escaped.at(escaped.text.index("bad"), 3).column == 15
    doubled = scalar_of("key: 'it''s bad'")
    assert doubled.at(doubled.text.index("bad"), 3).column == 13


words = st.text("abcdef0123+*()", min_size=1, max_size=8)


@given(
    lines=st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=4),
    style=st.sampled_from([">-", ">", "|", '"', "'", ""]),
    indent=st.integers(1, 5),
)
def test_every_visible_character_is_found_where_it_stands(
    lines: list[list[str]], style: str, indent: int
) -> None:
    margin = " " * indent
    body = ("\n" + margin).join(" ".join(line) for line in lines)
    if style in (">-", ">", "|"):
        text = f"key: {style}\n{margin}{body}\n"
    else:
        text = f"key: {style}{'' if style else 'x'}{body}{style}\n"
    scalar = scalar_of(text)
    source = text.split("\n")
    for offset, char in enumerate(scalar.text):
        if char not in " \n":
            place = scalar.at(offset)
            assert source[place.line - 1][place.column - 1] == char


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: !!int 3", "U105", 1, 4),
        ("a: ! x", "U105", 1, 4),
        ("a: &x b", "U106", 1, 4),
        ("a: *x", "U106", 1, 4),
        ("a:\n  <<: {b: c}", "U107", 2, 3),
        ("a: b\nc: d\na: e", "U108", 3, 1),
        ("? [a]\n: b", "U109", 1, 3),
        ("a: {{b}}", "U109", 1, 5),
        ("a: {? : b}", "U109", 1, 6),
        ("a: " + "[" * 40 + "]" * 40, "U110", 1, 35),
        ("a: b\n---\nc: d", "U111", 2, 1),
        ("- a", "U112", 1, 1),
        ("just text", "U112", 1, 1),
        ("", "U112", 1, 1),
        ("# nothing\n", "U112", 1, 1),
        ("%YAML 1.1\n---\na: b", "U114", 1, 1),
        ("a: b: c", "U104", 1, 5),
        ("a:\n\t- b", "U104", 2, 1),
        ("a: @b", "U104", 1, 4),
        ("a: [b\nc: d", "U104", 2, 2),
        ("a: 'b", "U104", 1, 6),
        ("a:\n  b: c\n d: e", "U104", 3, 2),
        ('a: "\\q"', "U104", 1, 6),
    ],
)
def test_what_is_more_than_text_with_structure_is_refused_at_its_place(
    text: str, code: str, line: int, column: int
) -> None:
    error = only_error_of(text)
    assert (error.code, error.place.line, error.place.column) == (code, line, column)


def test_a_quoted_merge_sign_is_a_key_like_any_other() -> None:
    assert parse("'<<': b").entries[0].key.text == "<<"


def test_one_fault_does_not_hide_the_next() -> None:
    errors = errors_of("a: &x 1\nb: *x\na: {c: min(1, 2)}\nd: !t 2\n")
    assert [error.code for error in errors] == ["U106", "U106", "U108", "U113", "U105"]


def test_the_first_of_two_equal_keys_is_shown_too() -> None:
    assert [(str(place), note) for place, note in only_error_of("a: b\na: c").related] == [
        ("specs/a.yaml:1:1", "first here")
    ]


def test_bytes_that_are_not_utf8_are_refused_at_their_place() -> None:
    error = only_error_of(b"a: b\nc: caf\xe9\n")
    assert (error.code, str(error.place)) == ("U101", "specs/a.yaml:2:7")


def test_files_over_the_limit_are_refused() -> None:
    assert only_error_of(b"a" * (MAX_BYTES + 1)).code == "U102"


@pytest.mark.parametrize(
    "char", ["\0", "\x1b", "\x7f", "\x85", "\u061c", "\u2028", "\u202e", "\ufeff"]
)
def test_characters_that_hide_or_reorder_text_are_refused(char: str) -> None:
    error = only_error_of(f"a: b\nc: x{char}y\n")
    assert (error.code, str(error.place)) == ("U103", "specs/a.yaml:2:5")


@pytest.mark.parametrize("escape", ["\\0", "\\x1b", "\\ud800", "\\u202E", "\\L"])
def test_escapes_do_not_bring_refused_characters_back(escape: str) -> None:
    error = only_error_of(f'a: "xy{escape}"')
    assert (error.code, error.place.column) == ("U103", 7)


def test_an_unreadable_file_is_a_diagnostic(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read_file(tmp_path / "none.yaml", "none.yaml")
    assert caught.value.diagnostics[0].code == "U904"
    (tmp_path / "some.yaml").write_bytes(b"a: b")
    assert read_file(tmp_path / "some.yaml", "some.yaml").entries[0].key.text == "a"


# --- unquoted expressions in flow collections --------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("t: {requests: next_in(a, b)}", 15, 'write requests: "next_in(a, b)"'),
        ("t: [min(a, b), c]", 5, 'write "min(a, b)"'),
        ("t: {r: f(a[1], b), s: c}", 8, 'write r: "f(a[1], b)"'),
        ("t: {r: x if y in [a, b] else c}", 8, 'write r: "x if y in [a, b] else c"'),
        ("t: {r: align_up(max(a, b), c)}", 8, 'write r: "align_up(max(a, b), c)"'),
        ("t: {x: [b for b in xs if b % 2 == 0]}", 8, 'write x: "[b for b in xs if b % 2 == 0]"'),
        ("x: [b for b in xs if b in [1, 2]]", 4, 'write x: "[b for b in xs if b in [1, 2]]"'),
        ("x: [min(b, c) for b in xs]", 4, 'write x: "[min(b, c) for b in xs]"'),
        ("t: {r: f(a,\n   b), s: c}", 8, 'write r: "f(a, b)"'),
        ("t: {doc: don't (a, b), e: 'f'}", 10, 'write doc: "don\'t (a, b)"'),
        ("t: {r: f(\"a\", 'b')}", 8, "write r: 'f(\"a\", ''b'')'"),
        ("t: {f(a, b): c}", 5, 'write "f(a, b)"'),
    ],
)
def test_an_expression_that_yaml_split_is_one_error_with_its_quoted_form(
    text: str, column: int, hint: str
) -> None:
    error = only_error_of(text)
    assert (error.code, error.place.column, error.hint) == ("U113", column, hint)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_split_expression_of_a_collection_is_reported(count: int) -> None:
    text = "t: {" + ", ".join(f"k{index}: min(a, b)" for index in range(count)) + "}"
    errors = errors_of(text)
    assert [error.code for error in errors] == ["U113"] * count
    assert [error.hint for error in errors] == [
        f'write k{index}: "min(a, b)"' for index in range(count)
    ]


def test_the_quoted_form_of_the_hint_is_what_was_meant() -> None:
    error = only_error_of("t: {r: f(\"a\", 'b\\c')}")
    assert error.hint is not None
    assert scalar_of(error.hint.removeprefix("write ")).text == "f(\"a\", 'b\\c')"


def test_an_open_bracket_is_said_to_be_open() -> None:
    error = only_error_of("t: {r: f(a, s: b}")
    assert error.code == "U113"
    assert "does not close" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "t: {r: max(a), s: (b + c) * d}",
        't: {r: "min(a, b)", s: [1, 2]}',
        "t: {doc: a lone ( bracket}",
        "t: {doc: 1) first}",
        "t: [ask for help in time, x]",
        "t: min(a, b)",
        "t:\n  - min(a, b)\n",
    ],
)
def test_whole_values_are_not_called_split(text: str) -> None:
    parse(text)


def test_the_report_of_a_split_expression_reads_well() -> None:
    text = "transforms:\n  pad: {requests: next_in(requests, buckets), tokens: tokens}\n"
    assert (
        render_text([only_error_of(text)], {NAME: text})
        == """\
specs/a.yaml:2:19: error[U113]: inside {} or [] YAML splits an unquoted expression at commas and \
brackets
    |
  2 |   pad: {requests: next_in(requests, buckets), tokens: tokens}
    |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write requests: "next_in(requests, buckets)"
  see: ullage error U113
"""
    )


# --- nothing but diagnostics -------------------------------------------------------------------


def parses_or_diagnoses(data: bytes) -> None:
    outcome = outcome_of(data)
    if isinstance(outcome, DiagnosticError):
        assert outcome.diagnostics
        assert render_text(outcome.diagnostics, outcome.sources)


def outcome_of(data: bytes) -> Mapping | DiagnosticError:
    try:
        return parse_bytes(data, NAME)
    except DiagnosticError as error:
        return error


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_diagnostics(data: bytes) -> None:
    parses_or_diagnoses(data)


@given(st.text(max_size=200))
def test_no_text_raises_anything_but_diagnostics(text: str) -> None:
    parses_or_diagnoses(text.encode("utf-8", "replace"))


yaml_like = st.lists(
    st.sampled_from(
        [
            *"{}[](),:?-&*!|>'\"%@`#~<\\\n\t ",
            *("a", "b: ", "\n  ", "\n- ", "key: ", "min(a, b)", " for b in ", "<<: ", "---\n"),
            *("...\n", "%YAML 1.2\n", "%TAG ! x\n", "!!int ", "&x ", "*x ", "\\x4", "\\ud800"),
            *("\\UFFFFFFFF", ">-\n", "|2\n", "|+9", "'it''s'", '"', "\r\n", "\ufeff", "幅", "!<"),
        ]
    ),
    max_size=30,
).map("".join)


@given(yaml_like, st.sampled_from(["", "a: ", "a: {", "a: [", "a:\n  b: ", 'a: "', "%YAML "]))
def test_no_yaml_like_text_raises_anything_but_diagnostics(text: str, start: str) -> None:
    parses_or_diagnoses((start + text).encode())


@given(yaml_like)
def test_accepted_files_have_the_texts_that_yaml_reads(text: str) -> None:
    data = f"a: {text}".encode()
    tree = outcome_of(data)
    if isinstance(tree, Mapping):
        assert plain(tree) == yaml.load(data.decode(), yaml.BaseLoader)


def plain(node: Node) -> object:
    match node:
        case Scalar():
            return node.text
        case Sequence():
            return [plain(item) for item in node.items]
        case Mapping():
            return {entry.key.text: plain(entry.value) for entry in node.entries}


@pytest.mark.parametrize("unit", ["[", "{a: ", "- ", "a:\n ", "? ", "(", "a: {b: f(", "'", '"\\'])
def test_hostile_repetition_is_diagnosed(unit: str) -> None:
    parses_or_diagnoses((unit * 2000).encode())


def test_long_digits_in_a_directive_are_diagnosed() -> None:
    assert only_error_of(f"%YAML {'9' * 5000}.1\n---\na: b").code == "U104"
