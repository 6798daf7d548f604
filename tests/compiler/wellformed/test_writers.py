"""Slots that a step writes are written in every mode that has them, before anybody reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.small_specs import SLOT, mode_text, small
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text

SCORES = "scores: {shape: [requests], dtype: float32, written_by: forward}"
SAMPLER = "readers:\n  sampler: {reads: {scores: {rows: live}}}\n"
FORWARD = "  - {step: forward}\n"
SAMPLE = "  - {step: sample, readers: [sampler]}\n"
LOAD = "  - {do: load}\n"


def said(folder: Path, steps: str, slot: str = SCORES) -> str:
    """What is said of the slot, where these are the steps of the runner."""
    modes = [
        mode_text(name, live={f"{name}s": "1; cap"}, requests=f"{name}s", tokens="1")
        for name in ("decode", "extend")
    ]
    files = dict(small(*modes, slots=(SLOT, slot)))
    files["readers.yaml"] = SAMPLER
    parts = "parameters:\n  fast: {type: bool, default: true}\n"
    files["engine.yaml"] = files["engine.yaml"].replace("parameters:\n", parts)
    files["eager.yaml"] = files["eager.yaml"].replace(LOAD, steps)
    try:
        analyse(write_spec(folder, files), name="mini")
    except DiagnosticError as error:
        errors = tuple(each for each in error.diagnostics if each.severity == "error")
        return render_text(errors, error.sources)
    return ""


def test_a_slot_that_is_written_before_it_is_read_is_well_formed(tmp_path: Path) -> None:
    assert said(tmp_path, LOAD + FORWARD + SAMPLE) == ""


def test_the_step_that_writes_may_read(tmp_path: Path) -> None:
    assert said(tmp_path, f"{LOAD}  - {{step: forward, readers: [sampler]}}\n") == ""


def test_a_slot_that_no_step_writes_is_refused_at_the_slot_and_at_the_runner(
    tmp_path: Path,
) -> None:
    assert said(tmp_path, LOAD) == (
        "mini/engine.yaml:13:59: error[U612]: slot 'scores' is written by step 'forward', which "
        "runner 'eager' does not run after it loads\n"
        "     |\n"
        "  13 |   scores: {shape: [requests], dtype: float32, written_by: forward}\n"
        "     |                                                           ^^^^^^^\n"
        "  mini/eager.yaml:1:9: the runner\n"
        "    |\n"
        "  1 | runner: eager\n"
        "    |         ^^^^^\n"
        "  hint: add the step, or narrow the 'slots' of the runner or the 'modes' of the slot\n"
        "  see: ullage error U612\n"
    )


@pytest.mark.parametrize(
    ("steps", "slot", "expected"),
    [
        (FORWARD + LOAD, SCORES, "does not run after it loads\n"),
        (
            f"{LOAD}  - {{step: forward, modes: [decode]}}\n",
            SCORES,
            "does not run after it loads in mode 'extend'\n",
        ),
        (LOAD + SAMPLE + FORWARD, SCORES, "before step 'forward' writes it in mode 'decode'\n"),
        (
            f"{LOAD}  - {{step: forward, when: fast}}\n{SAMPLE}",
            SCORES,
            "before step 'forward' writes it in mode 'decode' when not fast\n",
        ),
        (
            f"{LOAD}  - {{step: forward, modes: [decode]}}\n{SAMPLE}",
            SCORES.replace("forward}", "forward, modes: [extend]}"),
            "in mode 'extend'\n",
        ),
    ],
)
def test_a_slot_is_written_in_every_mode_and_before_every_read(
    steps: str, slot: str, expected: str, tmp_path: Path
) -> None:
    assert expected in said(tmp_path, steps, slot)


def test_a_mode_without_the_slot_needs_no_step_that_writes_it(tmp_path: Path) -> None:
    slot = SCORES.replace("forward}", "forward, modes: [decode]}")
    assert said(tmp_path, f"{LOAD}  - {{step: forward, modes: [decode]}}\n", slot) == ""


def test_one_of_several_steps_writes_a_slot_in_each_runner(tmp_path: Path) -> None:
    slot = SCORES.replace("forward}", "[replay, forward]}")
    assert said(tmp_path, LOAD + FORWARD + SAMPLE, slot) == ""


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (LOAD + SAMPLE, "is written by step 'replay' or 'forward', which runner 'eager' does not"),
        (LOAD + SAMPLE + FORWARD, "before step 'forward' writes it in mode 'decode'"),
    ],
)
def test_none_of_several_steps_is_named_for_a_runner_that_has_another(
    steps: str, expected: str, tmp_path: Path
) -> None:
    assert expected in said(tmp_path, steps, SCORES.replace("forward}", "[replay, forward]}"))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("source: batch.x, written_by: forward", "has both 'source' and 'written_by'"),
        ("value: 3, written_by: forward", "has both 'value' and 'written_by'"),
        ("written_by: forward, optional: true", "has no source, so 'optional' says nothing"),
        ("written_by: {rows: live}", "lacks the key 'step'"),
        ("written_by: {step: forward, rows: all}", "expected one of live, padded"),
    ],
)
def test_a_slot_has_one_writer(keys: str, expected: str, tmp_path: Path) -> None:
    slot = f"scores: {{shape: [requests], dtype: float32, {keys}}}"
    assert expected in said(tmp_path, LOAD + FORWARD, slot)
