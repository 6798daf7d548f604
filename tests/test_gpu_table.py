"""The table of figures of a GPU, which is made from their records."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from gpu_table import TABLE, Figure, figures, of_records
from measuring import RESULTS


def records() -> tuple[dict[str, Any], dict[str, Any]]:
    gpu, peer = (
        json.loads((RESULTS / name).read_text()) for name in ("gpu.json", "sglang_cuda.json")
    )
    return gpu, peer


def figure(what: str, gpu: dict[str, Any], peer: dict[str, Any]) -> Figure:
    (found,) = (each for each in figures(gpu, peer) if each.what.startswith(what))
    return found


def test_the_table_that_is_kept_is_that_of_the_records() -> None:
    assert TABLE.read_text() == of_records(RESULTS)


@pytest.mark.parametrize(
    ("least", "most", "at_most", "is_met"),
    [(9, 12, False, True), (8.9, 12, False, False), (1, 2, True, True), (1, 2.1, True, False)],
)
def test_a_target_is_met_if_every_case_meets_it(
    least: float, most: float, at_most: bool, is_met: bool
) -> None:
    target = 2 if at_most else 9
    assert Figure("what", "beside", least, most, target, at_most).is_met == is_met


def test_what_has_no_target_is_neither_met_nor_missed() -> None:
    assert Figure("what", "beside", 1, 2).is_met is None


def test_one_slow_case_is_seen_in_the_figures_of_its_kind_alone() -> None:
    gpu, peer = records()
    before, slow = deepcopy(peer), peer["cases"][0]
    assert (slow["case"]["kind"], slow["case"]["extends"]) == ("eager", False)
    slow["sglang_over_ullage"] = 2.5
    eager, other = "fill and view, eager decodes", "fill and view, prefill graphs"
    assert (figure(eager, gpu, peer).least, figure(eager, gpu, peer).is_met) == (2.5, False)
    assert figure(other, gpu, peer) == figure(other, gpu, before)


def test_a_load_is_compared_with_the_faster_setting_of_the_other_side() -> None:
    gpu, peer = records()
    case = peer["cases"][0]
    peer["cases"] = [case, next(each for each in peer["cases"] if each["case"]["kind"] == "decode")]
    rows = {row["implementation"]: row for row in case["rows"]}
    device = {"sglang": 4.0, "sglang-fast": 2.0, "ullage": 1.0}
    for name, time in device.items():
        rows[name]["device"]["device"] = time
    for faster, ratio in (("sglang", 0.25), ("sglang-fast", 0.5)):
        for name in ("sglang", "sglang-fast"):
            rows[name]["host"]["both"] = 50.0 if name == faster else 100.0
        assert figure("time on the device, eager decodes", gpu, peer).most == ratio
