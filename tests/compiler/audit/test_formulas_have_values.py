"""A stated formula has a value wherever it is compared: divisors, guards, lists and local names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from support.audits import SMALL
from support.specs import edited, write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError

IDLE = """\
mode: idle
when: padded
live: {}
axes: {requests: 0, tokens: 0}
"""
FILES = edited(
    "engine.yaml",
    (
        "constraints:",
        "  zero: {type: int, range: [0, 4], default: 1}\n"
        "  draft: {type: int, range: [1, 4], unit: requests, when: padded, default: 2}\n"
        "  sizes: {type: list, range: [1, 8], unit: requests, default: [2, 4]}\n"
        "constraints:",
    ),
    files={**SMALL, "idle.yaml": IDLE},
)
FILES = edited(
    "rest.yaml",
    (
        "readers:",
        "  extra: {shape: [requests], dtype: int32, source: batch.extra, range: [0, 9],\n"
        "    when: padded}\nreaders:",
    ),
    files=FILES,
)
EVERYWHERE = {**FILES, "decode.yaml": f"{FILES['decode.yaml']}when: padded\n"}


def audit_of(formula: str, *, target: str = "axis: requests", let: str = "", when: str = "") -> str:
    """An audit with one formula."""
    stated = f"  - runner: eager\n    {target}\n    formula: {formula}\n    expect: proved\n"
    stated += f"    when: {when}\n" if when else ""
    return f"audit: stated\nquoted_from: a test\n{let}formulas:\n{stated}"


def errors(folder: Path, text: str, files: Mapping[str, str] = FILES) -> tuple[Diagnostic, ...]:
    """What is wrong with the spec that has this audit."""
    try:
        analyse(write_spec(folder, {**files, "stated.yaml": text}))
    except DiagnosticError as error:
        return tuple(each for each in error.diagnostics if each.severity == "error")
    return ()


def codes(folder: Path, text: str, files: Mapping[str, str] = FILES) -> list[str]:
    return [each.code for each in errors(folder, text, files)]


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("rows // zero", "U306"),
        ("align_up(rows, zero)", "U306"),
        ("rows // zero if padded else rows", "U306"),
        ("draft", "U305"),
        ("rows if padded else draft", "U305"),
        ("next_in(rows, sizes)", "U405"),
        ("max([size for size in sizes if size > 2])", "U405"),
        ("min([size for size in sizes if size // zero > 2])", "U306"),
    ],
)
def test_a_formula_without_a_value_somewhere_is_refused(
    tmp_path: Path, formula: str, code: str
) -> None:
    assert code in codes(tmp_path, audit_of(formula))


@pytest.mark.parametrize(
    "formula",
    [
        "rows // max(1, zero)",
        "rows // zero if zero >= 1 else rows",
        "draft + rows if padded else rows",
        "next_in(rows, sizes) if rows <= max(sizes) else rows",
        "max([size for size in sizes if size > 2]) if max(sizes) > 2 else rows",
        "max([size * 2 for size in sizes])",
    ],
)
@pytest.mark.slow
def test_a_formula_with_a_value_everywhere_is_accepted(tmp_path: Path, formula: str) -> None:
    assert codes(tmp_path, audit_of(formula)) == []


def test_the_error_shows_the_part_the_formula_and_an_example(tmp_path: Path) -> None:
    text = audit_of("wide", let='let:\n  wide: "rows // zero"\n')
    (error,) = errors(tmp_path, text)
    assert error.code == "U306"
    assert error.message == "divisor 'zero' can be below 1"
    assert error.hint == "for example where zero = 0"
    assert (error.place.line, error.place.column) == (4, 18)
    ((place, said),) = error.related
    assert place.line == 8
    assert said == "in the formula for worker 'target' of runner 'eager'"


def test_a_guard_is_shown_with_the_condition_that_it_asks_for(tmp_path: Path) -> None:
    (error,) = errors(tmp_path, audit_of("draft"))
    assert error.message == "'draft' is used where its guard can be false: padded"
    assert error.hint == "for example where padded = false"


def test_a_local_name_counts_where_a_formula_uses_it(tmp_path: Path) -> None:
    let = "let:\n  more: draft\n  share: rows // zero\n"
    used = audit_of("more + share if padded and zero > 0 else rows", let=let)
    assert codes(tmp_path / "a", used) == []
    assert codes(tmp_path / "b", audit_of("more if padded else share", let=let)) == ["U306"]


def test_what_all_modes_of_the_runner_ask_for_is_known(tmp_path: Path) -> None:
    assert codes(tmp_path / "a", audit_of("draft"), EVERYWHERE) == []
    assert codes(tmp_path / "b", audit_of("rows // zero"), EVERYWHERE) == ["U306"]


def test_what_the_slot_asks_for_is_known(tmp_path: Path) -> None:
    assert codes(tmp_path, audit_of("rows + draft", target="slot: extra")) == []


PAGED = edited(
    "engine.yaml",
    (
        "constraints:",
        "  depth: {type: int, range: [1, 4], unit: pages/requests, default: 2}\nconstraints:",
    ),
    files=edited(
        "rest.yaml",
        (
            "readers:",
            "  pages: {shape: [requests, depth, 2], dtype: int32, source: batch.pages}\n"
            "  pair: {shape: [2], dtype: int32, source: batch.pair}\nreaders:",
        ),
        (
            "lengths: {rows: live}}",
            "lengths: {rows: live}, pages: {rows: live}, pair: {rows: live}}",
        ),
        files=FILES,
    ),
)


@pytest.mark.parametrize(
    ("target", "formula", "expected"),
    [
        ("pages", "rows * depth * 2", []),
        ("pages", "512", []),
        ("pages", "rows * 8", ["U304"]),
        ("pages", "rows * one", ["U304"]),
        ("grid", "rows * depth", ["U304"]),
        ("grid", "rows * one * 3", []),
        ("pair", "rows", []),
        ("pair", "zero + 2", []),
    ],
)
@pytest.mark.slow
def test_a_formula_for_a_slot_is_in_the_unit_of_its_elements(
    tmp_path: Path, target: str, formula: str, expected: list[str]
) -> None:
    text = audit_of(formula, target=f"slot: {target}")
    assert codes(tmp_path, text, PAGED) == expected


def test_what_the_formula_is_stated_for_is_known(tmp_path: Path) -> None:
    assert codes(tmp_path / "a", audit_of("rows * 4 // zero", when="zero > 0")) == []
    assert codes(tmp_path / "b", audit_of("rows // zero", when="padded")) == ["U306"]
    assert codes(tmp_path / "c", audit_of("draft", when="padded")) == []


def test_the_condition_of_a_formula_has_a_value_itself(tmp_path: Path) -> None:
    assert codes(tmp_path / "a", audit_of("rows", when="draft > 1")) == ["U305"]
    assert codes(tmp_path / "b", audit_of("rows", when="padded and draft > 1")) == []
