"""The capacity that each dimension of a slot takes, where not all modes load it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import Derived, derived
from support.comparing import differences, false_witnesses
from support.small_specs import mode_text, small
from support.specs import Files, write_spec
from ullage.analyse import analyse
from ullage.expr.evaluate import evaluate_integer
from ullage.expr.tree import Integer

DECODE = mode_text(live={"rows": "1; cap"}, requests="rows", tokens="4 * rows")
PREFILL = mode_text("prefill", live={"prompts": "1; 2"}, requests="prompts", tokens="3 * prompts")
VERIFY = mode_text("verify", live={"drafts": "1; 3"}, requests="drafts", tokens="2 * drafts")


def slot(name: str, shape: str = "requests", modes: str = "") -> str:
    loads = f", modes: [{modes}]" if modes else ""
    return f"{name}: {{shape: [{shape}], dtype: int64, source: batch.{name}{loads}}}"


def spec(*slots: str, slack: str = "") -> Files:
    return small(DECODE, PREFILL, VERIFY, slots=slots, slack=slack)


def dimensions(found: Derived) -> dict[str, tuple[str | None, ...]]:
    (runner,) = found.problem.runners
    return dict(runner.dimensions)


def test_a_slot_that_all_modes_load_is_as_long_as_its_axis(tmp_path: Path) -> None:
    every = slot("kinds", modes="verify, decode, prefill")
    found = derived(tmp_path, spec(slot("ids"), every))
    assert dimensions(found) == {"ids": ("requests",), "kinds": ("requests",)}
    assert {each.target for each in found.capacities.by_target} == {"requests", "tokens"}


def test_a_slot_that_some_modes_load_is_as_long_as_those_need(tmp_path: Path) -> None:
    found = derived(tmp_path, spec(slot("ids"), slot("starts", modes="prefill, verify")))
    capacity = found.capacities.of("eager_target", "starts.0")
    assert {each.mode for each in capacity.binding} == {"verify"}
    assert differences(found) == []
    assert false_witnesses(found) == []


def test_a_slot_that_all_binding_modes_load_is_as_long_as_its_axis(tmp_path: Path) -> None:
    wide = mode_text("wide", live={"rows": "1; cap + 3"}, requests="rows", tokens="2 * rows")
    slots = (slot("ids"), slot("starts", modes="wide, prefill"), slot("ends", modes="decode"))
    found = derived(tmp_path, small(DECODE, PREFILL, wide, slots=slots))
    assert dimensions(found)["starts"] == ("requests",)
    assert dimensions(found)["ends"] == ("ends.0",)
    assert differences(found) == []


def test_slots_that_the_same_modes_load_share_a_capacity_for_each_axis(tmp_path: Path) -> None:
    first = slot("starts", modes="prefill, verify")
    second = slot("lengths", "2, tokens, requests", "verify, prefill")
    found = derived(tmp_path, spec(slot("ids"), first, second, slot("heads", modes="prefill")))
    assert dimensions(found) == {
        "ids": ("requests",),
        "starts": ("starts.0",),
        "lengths": (None, "lengths.1", "starts.0"),
        "heads": ("heads.0",),
    }
    assert differences(found) == []


def test_modes_that_a_worker_never_is_in_do_not_lengthen_its_slots(tmp_path: Path) -> None:
    decode = mode_text(live={"rows": "1; 4"}, requests="rows", tokens="rows", when="worker == main")
    files = small(
        decode,
        VERIFY,
        slots=(slot("ids"), slot("tree", modes="verify")),
        workers=("main: {doc: one}", "side: {doc: another}"),
    )
    taken = {
        runner.worker: runner.dimensions["tree"]
        for runner in derived(tmp_path, files).problem.runners
    }
    assert taken == {"main": ("tree.0",), "side": ("requests",)}


def test_slack_of_an_axis_or_slot_holds_for_every_capacity_that_comes_of_it(tmp_path: Path) -> None:
    own = slot("both", '"requests + tokens"', "prefill")
    slots = (slot("ids"), slot("starts", modes="prefill"), own)
    found = derived(tmp_path, spec(*slots, slack="requests: rows come in pairs, both: a spare"))
    (runner,) = found.problem.runners
    assert runner.slack["starts.0"] == "rows come in pairs"
    assert runner.slack["both.0"] == "a spare"


@pytest.mark.parametrize(
    ("shape", "capacity"),
    [
        ("requests + 1", 5),
        ("2 * align_up(requests, 4) + 1", 9),
        ("requests // 2", 2),
        ("cap * tokens", 4 * 16),
        ("max(requests, 2)", 4),
        ("tokens if cap > 1 else 1", 16),
    ],
)
def test_what_rises_with_one_axis_is_as_long_as_that_makes_it(
    shape: str, capacity: int, tmp_path: Path
) -> None:
    analysis = analyse(write_spec(tmp_path, spec(slot("ids"), slot("table", f'"{shape}"'))))
    (planned,) = analysis.plan.runners
    (dimension,) = next(each for each in planned.slots if each.name == "table").dimensions
    assert dimension.target == dimension.rises
    assert evaluate_integer(dimension.capacity, {"cap": 4}) == capacity
    assert {each.target for each in analysis.capacities.by_target} == {"requests", "tokens"}


def test_what_rises_with_an_axis_is_as_long_as_the_modes_need_that_load_it(tmp_path: Path) -> None:
    table = slot("table", "requests + 1", "prefill, verify")
    analysis = analyse(write_spec(tmp_path, spec(slot("ids"), table)))
    (planned,) = analysis.plan.runners
    (dimension,) = next(each for each in planned.slots if each.name == "table").dimensions
    assert (dimension.target, dimension.along) == ("table.0", "requests")
    assert dimension.capacity == Integer(4)


@pytest.mark.parametrize(
    "shape",
    [
        "requests + tokens",
        "9 - min(requests, 9)",
        "tokens // requests",
        "requests - 1",
    ],
)
def test_what_its_form_does_not_show_to_rise_with_one_axis_has_a_capacity_of_its_own(
    shape: str, tmp_path: Path
) -> None:
    found = derived(tmp_path, spec(slot("ids"), slot("table", f'"{shape}"')))
    assert dimensions(found)["table"] == ("table.0",)
