"""A reader of padded rows that no step names was likely forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.small_specs import SLOT, mode_text, small
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.render import render_text


def warned(folder: Path, reader: str, steps: str) -> str:
    """What is said of a reader of the slot, where these are the steps of the runner."""
    mode = mode_text(live={"requests": "1; cap"}, requests="requests", tokens="1")
    files = dict(small(mode, slots=(SLOT,)))
    files["readers.yaml"] = f"readers:\n  kernel: {reader}\n"
    files["eager.yaml"] = files["eager.yaml"].replace("  - {do: load}\n", steps)
    analysis = analyse(write_spec(folder, files), name="mini")
    return render_text(analysis.warnings, analysis.sources.texts)


LOAD = "  - {do: load}\n"
READS_PADDED = "{reads: {ids: {rows: padded, fill: 3}}}"


def test_a_forgotten_reader_is_named_with_the_slot_that_it_reads(tmp_path: Path) -> None:
    assert warned(tmp_path, READS_PADDED, LOAD) == (
        "mini/eager.yaml:1:9: warning[U611]: no step of runner 'eager' names reader 'kernel', "
        "which reads padded rows of its slot 'ids'\n"
        "    |\n"
        "  1 | runner: eager\n"
        "    |         ^^^^^\n"
        "  mini/readers.yaml:2:20: 'kernel' reads here\n"
        "    |\n"
        "  2 |   kernel: {reads: {ids: {rows: padded, fill: 3}}}\n"
        "    |                    ^^^\n"
        "  hint: name it under the 'readers' of the step in which it reads\n"
        "  see: ullage error U611\n"
    )


@pytest.mark.parametrize(
    ("reader", "steps"),
    [
        (READS_PADDED, f"{LOAD}  - {{step: forward, readers: [kernel]}}\n"),
        ("{reads: {ids: {rows: live}}}", LOAD),
    ],
    ids=["named by a step", "of live rows"],
)
def test_no_other_reader_is_missed(tmp_path: Path, reader: str, steps: str) -> None:
    assert warned(tmp_path, reader, steps) == ""


WRITTEN = "out: {shape: [requests], dtype: int64, written_by: forward}"
LEFT = "left: {shape: [requests], dtype: int64, source: batch.left, lifetime: runner}"
UNREAD = "unread: {shape: [requests], dtype: int64, source: batch.unread}"


def test_a_slot_that_load_fills_and_nobody_reads_is_named(tmp_path: Path) -> None:
    mode = mode_text(live={"requests": "1; cap"}, requests="requests", tokens="1")
    files = dict(small(mode, slots=(SLOT, WRITTEN, LEFT, UNREAD)))
    forward = f"{LOAD}  - {{step: forward}}\n"
    files["eager.yaml"] = files["eager.yaml"].replace(LOAD, forward)
    assert analyse(write_spec(tmp_path / "silent", files)).warnings == ()
    reading = files["eager.yaml"].replace("forward}", "forward, readers: [kernel]}")
    files["eager.yaml"] = reading
    files["readers.yaml"] = f"readers:\n  kernel: {READS_PADDED}\n"
    (warning,) = analyse(write_spec(tmp_path / "told", files), name="mini").warnings
    assert (warning.code, warning.message) == (
        "U625",
        "load fills slot 'unread', which no reader reads",
    )


def test_a_mode_that_no_runner_lists_is_named(tmp_path: Path) -> None:
    modes = [
        mode_text(name, live={"requests": "1; cap"}, requests="requests", tokens="1")
        for name in ("decode", "capture")
    ]
    (warning,) = analyse(
        write_spec(tmp_path, small(*modes, serves="[decode]")), name="mini"
    ).warnings
    assert (warning.code, warning.message) == ("U626", "no runner serves mode 'capture'")
