"""What a wrapper is made over is there, and as long as it has objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import refusal
from support.press import PRESS
from support.specs import Files, edited

WRAPPERS, SLOTS = "wrappers.yaml", "slots.yaml"


def wrong(*changes: tuple[str, str], path: str = WRAPPERS) -> Files:
    return edited(path, *changes, files=PRESS)


WITHOUT_CONDITION = (
    "    library: press_kernels.paged.Attention\n    when: fancy\n",
    "    library: press_kernels.paged.Attention\n",
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            wrong(WITHOUT_CONDITION),
            ["wrappers.yaml:6:18: error[U305]: 'workspace' is used where its guard can be false"],
            id="slots exist where the wrapper does",
        ),
        pytest.param(
            wrong(("each: {part: heads}", "each: {part: layers}")),
            ["wrappers.yaml:41:18: error[U305]: 'layers' is used where its guard can be false"],
            id="the number of objects has a value",
        ),
        pytest.param(
            wrong(("count: marks + 1", "count: heads // marks")),
            ["error[U306]: divisor 'marks' can be below 1"],
            id="a formula has a value",
        ),
        pytest.param(
            wrong(("each: {layer: layers}", "each: {layer: layers + 1}")),
            [
                "wrappers.yaml:30:23: error[U221]: 'layer_offsets' may not have a row for each "
                "object: expected layers == layers + 1",
                "wrappers.yaml:31:21: error[U221]: 'layer_table'",
                "slots.yaml:17:7: the slot",
            ],
            id="there is a row for each object",
        ),
        pytest.param(
            wrong(("{slot: layer_table, at: layer, flat: true}", "{slot: table, at: layer}")),
            ["error[U221]: 'table' may not have a row for each object"],
            id="rows of a batch are no rows of objects",
        ),
    ],
)
def test_what_a_wrapper_lacks_is_said(files: Files, expected: list[str], tmp_path: Path) -> None:
    found = refusal(tmp_path, files)
    for text in expected:
        assert text in found


def test_a_count_may_be_spelled_otherwise_than_the_extent(tmp_path: Path) -> None:
    assert refusal(tmp_path, wrong(("{layer: layers}", "{layer: layers * 2 // 2}"))) == ""


def test_a_slot_that_only_some_workers_have_is_looked_for_at_run_time(tmp_path: Path) -> None:
    files = wrong(
        ("marks: {shape: [requests],", "marks: {shape: [requests], when: worker == main,"),
        path=SLOTS,
    )
    assert refusal(tmp_path, files) == ""


def test_a_runner_that_serves_no_mode_of_its_worker_has_no_batches(tmp_path: Path) -> None:
    elsewhere = (
        "  mode: {",
        "  elsewhere: {shape: [4], dtype: int8, written_by: forward}\n  mode: {",
    )
    files = wrong(elsewhere, path=SLOTS)
    files = edited(WRAPPERS, ("modes: mode", "modes: elsewhere"), files=files)
    slots = "slots: [input_ids, workspace, marks, mode, tables]"
    modes = ("modes: all", "modes: [decode, prompt]")
    eager = edited("runners/eager.yaml", ("slots: all", slots), modes, files=files)
    idle = PRESS["runners/eager.yaml"].replace("runner: eager", "runner: idle")
    idle = idle.replace("workers: [main, helper]", "workers: [helper]")
    files = {
        **eager,
        "runners/idle.yaml": idle.replace("modes: all", "modes: [alone]"),
        "modes/alone.yaml": "mode: alone\nwhen: worker == main\nlive: {}\n"
        "axes: {requests: 0, tokens: 0}\n",
    }
    message = "error[U220]: no runner that serves any mode has all slots of wrapper 'mode'"
    assert message in refusal(tmp_path, files)
