"""What one runner reads of another is kept until then."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ladle import LADLE
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text


def said(folder: Path, *changes: tuple[str, str]) -> str:
    """What is said of the engine, with texts of its slots replaced."""
    slots = LADLE["slots.yaml"]
    for before, after in changes:
        assert before in slots
        slots = slots.replace(before, after)
    try:
        analyse(write_spec(folder, {**LADLE, "slots.yaml": slots}), name="mini")
    except DiagnosticError as error:
        errors = tuple(each for each in error.diagnostics if each.severity == "error")
        return render_text(errors, error.sources)
    return ""


def test_a_slot_that_another_runner_reads_is_kept(tmp_path: Path) -> None:
    assert said(tmp_path, ("written_by: run, lifetime: runner, ", "written_by: run, ")) == (
        "mini/slots.yaml:25:7: error[U614]: reader 'chooser' reads what runner 'plain' left in "
        "'scores', but the runners share storage: a load of 'second' may overwrite it before\n"
        "     |\n"
        "  25 |       scores: {rows: live, from: plain}\n"
        "     |       ^^^^^^\n"
        "  mini/slots.yaml:3:3: the slot\n"
        "    |\n"
        "  3 |   scores:\n"
        "    |   ^^^^^^\n"
        "  mini/runners/second.yaml:7:12: 'chooser' reads here\n"
        "    |\n"
        "  7 |   - {step: choose, readers: [chooser]}\n"
        "    |            ^^^^^^\n"
        "  hint: say 'lifetime: runner' of the slot, which gives it storage of its own\n"
        "  see: ullage error U614\n"
    )


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("scores: {rows: live, from: second}", "left in 'scores', which is none of its slots"),
        ("ids: {rows: live, from: second}", "in a step of that runner itself"),
        ("scores: {rows: live, from: third}", "there is no runner 'third'"),
        ("scores: {rows: padded, from: plain}", "'rows' is 'padded', expected one of live"),
        ("scores: {rows: live, from: plain, fill: 3}", "unknown key 'fill'"),
    ],
)
def test_a_read_of_what_is_left_names_a_slot_of_another_runner(
    read: str, expected: str, tmp_path: Path
) -> None:
    assert expected in said(tmp_path, ("scores: {rows: live, from: plain}", read))
