"""Codes, collected diagnostics and what users see of them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.diagnostics.catalogue import GROUPS, Code, all_codes, code, group_of
from ullage.diagnostics.diagnostic import (
    Collector,
    Diagnostic,
    DiagnosticError,
    did_you_mean,
    nearest,
)
from ullage.diagnostics.render import render_github, render_json, render_text, summary
from ullage.place import Place
from ullage.text.yaml_source import parse_bytes

COMPILER = Path(next(iter(ullage.__path__)))
RUNTIME = Path(__file__).parents[2] / "runtime" / "ullage_runtime"


# --- the catalogue -----------------------------------------------------------------------------


def test_codes_are_distinct_ordered_and_grouped_by_hundreds() -> None:
    ids = [entry.id for entry in all_codes()]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"U[1-9][0-9]{2}", identifier) for identifier in ids)
    assert {identifier[1] for identifier in ids} == {str(group) for group in GROUPS}


@pytest.mark.parametrize("entry", all_codes(), ids=lambda entry: entry.id)
def test_a_code_says_what_it_means_how_it_looks_and_what_to_do(entry: Code) -> None:
    assert entry.title[0].islower() or entry.title.startswith(("UTF", "YAML"))
    assert entry.meaning.endswith(".")
    assert entry.remedy.endswith(".")
    assert entry.example.strip()
    assert code(entry.id) is entry
    assert group_of(entry.id) == GROUPS[int(entry.id[1])]


@pytest.mark.parametrize("root", [COMPILER, RUNTIME], ids=["compiler", "runtime"])
@pytest.mark.slow
def test_every_code_that_is_raised_is_in_the_catalogue(root: Path) -> None:
    used = {
        node.value: path
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and re.fullmatch(r"U[0-9]{3}", str(node.value))
    }
    assert used
    assert not used.keys() - {entry.id for entry in all_codes()}


@pytest.mark.slow
def test_every_code_of_the_catalogue_is_reported_somewhere() -> None:
    catalogue = COMPILER / "diagnostics" / "codes"
    paths = [*COMPILER.rglob("*.py"), *RUNTIME.rglob("*.py")]
    trees = [ast.parse(path.read_text()) for path in paths if catalogue not in path.parents]
    names = dict(pair for tree in trees for pair in _named_codes(tree))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    used = {
        *(node.id for node in nodes if isinstance(node, ast.Name) and type(node.ctx) is ast.Load),
        *(node.attr for node in nodes if isinstance(node, ast.Attribute)),
    }
    texts = {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    reported = texts | {match[1] for text in texts for match in re.finditer(r"\[(U\d{3})\]", text)}
    reported -= {code for name, code in names.items() if name not in used}
    assert [entry.id for entry in all_codes() if entry.id not in reported] == []


def _named_codes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Codes that a module gives names to."""
    for node in tree.body:
        value = getattr(node, "value", None)
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        is_code = isinstance(value, ast.Constant) and re.fullmatch("U[0-9]{3}", str(value.value))
        if isinstance(target, ast.Name) and is_code:
            yield target.id, str(value.value)


@pytest.mark.parametrize(
    "entry",
    [entry for entry in all_codes() if entry.id[1] == "1" and entry.id not in ("U101", "U102")],
    ids=lambda entry: entry.id,
)
def test_the_example_of_a_yaml_code_raises_that_code(entry: Code) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_bytes(entry.example.encode(), "example.yaml")
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {entry.id}


# --- collecting --------------------------------------------------------------------------------


def test_diagnostics_are_sorted_by_place_and_said_once() -> None:
    collector = Collector()
    for line in (9, 10, 2, 9):
        collector.error("U201", "unknown key", Place("b.yaml", line, 3))
    collector.warn("U203", "odd", Place("a.yaml", 40, 1))
    places = [str(diagnostic.place) for diagnostic in collector.diagnostics]
    assert places == ["a.yaml:40:1", "b.yaml:2:3", "b.yaml:9:3", "b.yaml:10:3"]


def test_warnings_do_not_raise_but_travel_with_errors() -> None:
    collector = Collector({"a.yaml": "text"})
    collector.warn("U203", "odd", Place("a.yaml", 1, 1))
    collector.raise_if_errors()
    collector.error("U202", "missing", Place("a.yaml", 2, 1))
    with pytest.raises(DiagnosticError, match=r"a.yaml:2:1: error\[U202\]: missing") as caught:
        collector.raise_if_errors()
    assert len(caught.value.diagnostics) == 2
    assert caught.value.sources == {"a.yaml": "text"}


def test_the_nearest_name_is_suggested_and_nothing_unlike() -> None:
    names = ["max_running_requests", "max_total_tokens", "page_size"]
    assert nearest("max_runing_requests", names) == "max_running_requests"
    assert did_you_mean("page_sise", names) == "did you mean 'page_size'?"
    assert did_you_mean("zzz", names) is None
    assert nearest("a" * 10_000, names) is None


# --- text --------------------------------------------------------------------------------------


def test_text_has_place_frame_related_places_hint_and_where_to_read_more() -> None:
    source = "mode: decode\nlive:\n  requests: {rnage: [1, cap]}\nmode: extend\n"
    diagnostics = [
        Diagnostic(
            "U201",
            "unknown key 'rnage' in live variable 'requests'",
            Place("specs/m.yaml", 3, 14, 5),
            hint="did you mean 'range'?",
        ),
        Diagnostic(
            "U108",
            "the key 'mode' stands twice",
            Place("specs/m.yaml", 4, 1, 4),
            related=((Place("specs/m.yaml", 1, 1, 4), "first here"),),
        ),
    ]
    assert (
        render_text(diagnostics, {"specs/m.yaml": source})
        == """\
specs/m.yaml:3:14: error[U201]: unknown key 'rnage' in live variable 'requests'
    |
  3 |   requests: {rnage: [1, cap]}
    |              ^^^^^
  hint: did you mean 'range'?
  see: ullage error U201

specs/m.yaml:4:1: error[U108]: the key 'mode' stands twice
    |
  4 | mode: extend
    | ^^^^
  specs/m.yaml:1:1: first here
    |
  1 | mode: decode
    | ^^^^
  see: ullage error U108
"""
    )


def frame_of(line: str, column: int, width: int = 1) -> tuple[str, str]:
    place = Place("a.yaml", 1, column, width)
    text = render_text([Diagnostic("U201", "m", place)], {"a.yaml": line})
    return text.split("\n")[2][6:], text.split("\n")[3][6:]


def test_carets_line_up_below_tabs_and_wide_characters() -> None:
    assert frame_of("a:\tbad", 4, 3) == ("a:  bad", "    ^^^")
    assert frame_of("幅: bad", 4, 3) == ("幅: bad", "    ^^^")
    assert frame_of("x: 幅幅 y", 4, 2) == ("x: 幅幅 y", "   ^^^^")
    assert frame_of("e\u0301: bad", 5, 3) == ("e\u0301: bad", "   ^^^")


def test_a_caret_behind_the_end_of_the_line_stands_there() -> None:
    assert frame_of("a:", 3) == ("a:", "  ^")
    assert frame_of("a:", 30, 9) == ("a:", "  ^")


def test_long_lines_are_cut_around_the_caret() -> None:
    line = "x" * 5000 + "HERE" + "y" * 5000
    shown, carets = frame_of(line, 5001, 4)
    start = carets.index("^")
    assert shown[start : start + 4] == "HERE"
    assert carets.strip() == "^^^^"
    assert len(shown) <= 110
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(frame_of(line, 1, 9000)[1]) <= 140


def test_places_without_a_source_have_no_frame() -> None:
    unknown = render_text([Diagnostic("U904", "gone", Place("b.yaml", 1, 1))], {"a.yaml": "x"})
    assert unknown == "b.yaml:1:1: error[U904]: gone\n  see: ullage error U904\n"
    beyond = render_text([Diagnostic("U904", "gone", Place("a.yaml", 7, 1))], {"a.yaml": "x"})
    assert "|" not in beyond


def test_lines_of_a_message_cannot_pose_as_diagnostics() -> None:
    message = "first\nb.yaml:1:1: error[U101]: forged"
    text = render_text([Diagnostic("U201", message, Place("a.yaml", 1, 1))], {})
    assert "\n    b.yaml:1:1" in text


hostile = st.text(
    st.sampled_from("ab \t\x1b\x07\x00\x7f\x9b\u202e\u2066\u200f\u200d\ud800幅\u0301\r\u2028"),
    max_size=30,
)


@given(line=hostile, message=hostile, column=st.integers(1, 40), width=st.integers(1, 40))
def test_control_characters_never_reach_the_terminal(
    line: str, message: str, column: int, width: int
) -> None:
    place = Place("a.yaml", 1, column, width)
    diagnostic = Diagnostic(
        "U201", message, place, hint=message, related=((Place(line, 1, 1), message),)
    )
    for text in (render_text([diagnostic], {"a.yaml": line}), render_github([diagnostic])):
        assert all(char == "\n" or char.isprintable() or char == "\u0301" for char in text)
    assert render_json([diagnostic]).isascii()


# --- machine formats ---------------------------------------------------------------------------


def test_json_has_spans_and_null_for_no_hint() -> None:
    place, other = Place("a.yaml", 3, 14, 5), Place("b.yaml", 1, 2)
    found = json.loads(
        render_json(
            [
                Diagnostic("U201", "unknown", place, hint="write x"),
                Diagnostic("U202", "missing", place, None, ((other, "there"),), "warning"),
            ]
        )
    )
    span = {"file": "a.yaml", "line": 3, "column": 14, "end_column": 19}
    there = {"file": "b.yaml", "line": 1, "column": 2, "end_column": 3, "message": "there"}
    assert found == [
        span
        | {"severity": "error", "code": "U201", "message": "unknown"}
        | {"hint": "write x", "related": []},
        span
        | {"severity": "warning", "code": "U202", "message": "missing"}
        | {"hint": None, "related": [there]},
    ]


def test_github_annotations_escape_what_would_end_them() -> None:
    place = Place("a,b:c.yaml", 3, 14)
    diagnostic = Diagnostic("U203", "50% :: of\r\nall", place, hint="x")
    assert render_github([diagnostic]) == (
        "::error file=a%2Cb%3Ac.yaml,line=3,col=14,title=U203::50%25 :: of%0D%0Aall%0Ahint: x\n"
    )
    warning = Diagnostic("U203", "odd", Place("a.yaml", 1, 1), severity="warning")
    assert render_github([warning]).startswith("::warning file=a.yaml,line=1,col=1,title=U203::odd")


def test_the_summary_counts_each_severity() -> None:
    error = Diagnostic("U203", "odd", Place("a.yaml", 1, 1))
    warning = Diagnostic("U203", "odd", Place("a.yaml", 1, 1), severity="warning")
    assert summary([]) == ""
    assert summary([error]) == "1 error"
    assert summary([error, warning, error]) == "2 errors, 1 warning"
