"""Typed access to mappings: every mistake is collected, and said with its place."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.diagnostics.diagnostic import Collector
from ullage.text.fields import Fields, as_fields, as_scalar
from ullage.text.nodes import Mapping, Scalar
from ullage.text.values import INTEGER_LIMIT, is_identifier, parse_integer, suggest_identifier
from ullage.text.yaml_source import parse_bytes


def fields_of(text: str) -> tuple[Fields, Collector]:
    collector = Collector()
    return Fields(parse_bytes(text.encode(), "a.yaml"), collector, "slot 'x'"), collector


def found(collector: Collector) -> list[tuple[str, str, str | None]]:
    """Code, line:column and hint of each diagnostic."""
    return [
        (diagnostic.code, f"{diagnostic.place.line}:{diagnostic.place.column}", diagnostic.hint)
        for diagnostic in collector.diagnostics
    ]


# --- reading -----------------------------------------------------------------------------------


def test_each_kind_of_value_is_read_as_what_the_schema_says() -> None:
    fields, collector = fields_of(
        "doc: off\nname: decode\nsize: 2^31\nflag: true\ndtype: int32\n"
        "shape: [a, 'b + c']\none: solo\nlist: [{k: v}]\nmap: {p: 1, q: 2}\n"
    )
    assert fields.text("doc") == "off"
    assert fields.identifier("name") == "decode"
    assert fields.integer("size") == 2**31
    assert fields.boolean("flag") is True
    assert fields.choice("dtype", ["int32", "int64"]) == "int32"
    assert fields.texts("shape") == ("a", "b + c")
    assert fields.texts("one") == ("solo",)
    assert len(fields.items("list")) == 1
    mapping = fields.mapping("map")
    assert mapping is not None
    assert [entry.key.text for entry in fields.named("map")] == ["p", "q"]
    fields.finish()
    assert not collector.diagnostics


def test_absent_keys_give_the_default_and_are_no_error() -> None:
    fields, collector = fields_of("a: b")
    assert fields.text("doc") is None
    assert fields.text("doc", default="none") == "none"
    assert fields.integer("size", default=7) == 7
    assert fields.boolean("flag", default=False) is False
    assert fields.choice("rows", ["live"], default="live") == "live"
    assert fields.identifier("name", default="x") == "x"
    assert (fields.texts("t"), fields.items("i"), fields.named("n")) == ((), (), ())
    assert (fields.raw("r"), fields.sequence("s"), fields.mapping("m")) == (None, None, None)
    assert fields.fields("f", "thing") is None
    assert fields.raw("a") is not None
    fields.finish()
    assert not collector.diagnostics


def test_places_are_of_the_value_of_the_key_or_of_the_whole() -> None:
    fields, _ = fields_of("a: b\nlong: value")
    assert str(fields.place("long")) == "a.yaml:2:7"
    assert str(fields.key_place("long")) == "a.yaml:2:1"
    assert str(fields.place("none")) == "a.yaml:1:1"
    assert "long" in fields
    assert "none" not in fields


def test_nested_fields_report_to_the_same_collector() -> None:
    fields, collector = fields_of("map: {p: x}")
    nested = fields.fields("map", "the map")
    assert nested is not None
    nested.integer("p")
    nested.finish()
    assert found(collector) == [("U206", "1:10", None)]


# --- mistakes ----------------------------------------------------------------------------------


def test_unknown_and_missing_keys_are_all_reported() -> None:
    fields, collector = fields_of("dtyp: int32\nzzz: 1\n")
    fields.choice("dtype", ["int32"])
    fields.sequence("shape", required=True)
    fields.finish()
    assert [diagnostic.message for diagnostic in collector.diagnostics] == [
        "unknown key 'dtyp' in slot 'x'",
        "slot 'x' lacks the key 'shape'",
        "unknown key 'zzz' in slot 'x'",
    ]
    assert [diagnostic.hint for diagnostic in collector.diagnostics] == [
        "did you mean 'dtype'?",
        None,
        "known keys: dtype, shape",
    ]


def test_a_mistyped_required_key_is_one_error() -> None:
    fields, collector = fields_of("shap: [a]\n")
    fields.sequence("shape", required=True)
    fields.finish()
    assert found(collector) == [("U201", "1:1", "did you mean 'shape'?")]


def test_a_key_read_twice_stays_required() -> None:
    fields, collector = fields_of("a: b")
    fields.text("a")
    fields.text("doc", required=True)
    fields.raw("doc")
    fields.finish()
    assert [code for code, _, _ in found(collector)] == ["U202"]


@pytest.mark.parametrize("value", ["yes", "on", "True", "TRUE", "1", "y"])
def test_only_true_and_false_are_truth_values(value: str) -> None:
    fields, collector = fields_of(f"flag: {value}")
    assert fields.boolean("flag", default=False) is False
    assert found(collector) == [("U207", "1:7", "write true")]


def test_a_wrong_choice_lists_the_words_and_the_nearest() -> None:
    fields, collector = fields_of("dtype: int23")
    fields.choice("dtype", ["int32", "bool"])
    assert collector.diagnostics[0].message == "'dtype' is 'int23', expected one of int32, bool"
    assert found(collector) == [("U208", "1:8", "did you mean 'int32'?")]


def test_wrong_kinds_of_values_are_named() -> None:
    fields, collector = fields_of("a: [x]\nb: {c: d}\ne: f\ng:\nh: [[i]]\nj: k\n")
    assert fields.text("a") is None
    assert fields.texts("b") == ()
    assert fields.sequence("e") is None
    assert fields.text("g") is None
    assert fields.texts("h") == ()
    assert fields.mapping("j") is None
    assert [diagnostic.message for diagnostic in collector.diagnostics] == [
        "'a' of slot 'x' is a list, expected text",
        "'b' of slot 'x' is a mapping, expected text or a list of texts",
        "'e' of slot 'x' is text, expected a list",
        "'g' of slot 'x' has no value, expected text",
        "an item of 'h' of slot 'x' is a list, expected text",
        "'j' of slot 'x' is text, expected a mapping",
    ]
    assert [code for code, _, _ in found(collector)] == [*["U203"] * 3, "U209", *["U203"] * 2]


def test_integers_have_a_least_value_where_asked() -> None:
    fields, collector = fields_of("size: 0")
    assert fields.integer("size", low=1, default=3) == 3
    assert collector.diagnostics[0].message == "'size' is 0, expected at least 1"


def test_names_of_a_list_are_distinct() -> None:
    fields, collector = fields_of("modes: [decode, extend, decode]")
    assert [scalar.text for scalar in fields.identifiers("modes")] == ["decode", "extend"]
    assert found(collector) == [("U205", "1:25", None)]


def test_names_that_are_keys_are_checked() -> None:
    fields, collector = fields_of("parameters: {tp_size: 1, TP-Size: 2, class: 3}")
    assert [entry.key.text for entry in fields.named("parameters")] == ["tp_size"]
    assert found(collector) == [
        ("U204", "1:26", "write tp_size"),
        ("U204", "1:38", "write class_"),
    ]
    assert "a name starts with a-z" in collector.diagnostics[0].message


def test_nodes_outside_of_mappings_are_checked_too() -> None:
    tree, collector = parse_bytes(b"a: [b, {c: d}]", "a.yaml"), Collector()
    sequence = tree.get("a")
    assert sequence is not None
    assert as_fields(sequence, collector, "the slot") is None
    assert as_scalar(sequence, collector, "the size") is None
    assert as_fields(tree, collector, "all") is not None
    assert isinstance(as_scalar(tree.entries[0].key, collector, "key"), Scalar)
    assert isinstance(tree, Mapping)
    assert len(collector.diagnostics) == 2


# --- names and integers ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "decode", "none", "int32", "a_1", "z" * 64, "idle"])
def test_legal_names(name: str) -> None:
    assert is_identifier(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "_a", "__init__", "A", "1a", "a-b", "a b", "z" * 65, "é", "a\n"),
        *("match", "case", "type", "true", "false", "self", *keyword.kwlist),
    ],
)
def test_illegal_names(name: str) -> None:
    assert not is_identifier(name)


@given(st.text(max_size=80))
def test_suggested_names_are_legal(text: str) -> None:
    suggestion = suggest_identifier(text)
    assert suggestion is None or is_identifier(suggestion)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("65536", 65536),
        ("65_536", 65536),
        ("1_000_000", 10**6),
        ("2^31", 2**31),
        ("-1", -1),
        ("-2^31", -(2**31)),
        ("2^63", 2**63),
        ("0", 0),
        ("10^0", 1),
    ],
)
def test_integers_are_decimal_grouped_or_powers(text: str, value: int) -> None:
    assert parse_integer(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "017", "0x1f", "1e3", "1.0", "1 << 4", "2**4", "6_5536", "1_00", "_1", "+1", "--1"),
        *("2^64", "2^999999999", "9" * 30, "٣", "1\n", "2^-1", "- 1"),
    ],
)
def test_other_spellings_of_integers_are_refused(text: str) -> None:
    assert parse_integer(text) is None


def test_leading_zeros_get_the_decimal_as_a_hint() -> None:
    fields, collector = fields_of("size: 017")
    assert fields.integer("size") is None
    assert found(collector) == [("U206", "1:7", "write 17: leading zeros are refused")]


@given(st.integers(-INTEGER_LIMIT, INTEGER_LIMIT))
def test_every_integer_reads_back(value: int) -> None:
    assert parse_integer(str(value)) == value
    assert parse_integer(f"{value:_}") == value
