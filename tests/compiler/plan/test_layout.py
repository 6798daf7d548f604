"""The plan: which slots each runner owns, how large they are, and where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.plans import ENGINE, RUNNER, SLOTS, TINY, Planned, planned, tiny
from support.specs import Files
from ullage.configuration.values import complete
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate_integer
from ullage.expr.spell import spell
from ullage.plan.bytes import bytes_by_device, layout_for
from ullage.plan.model import PlannedRunner

LENGTHS = "{shape: [requests], dtype: int32, source: batch.lengths"


def runner(found: Planned, name: str = "eager_target") -> PlannedRunner:
    return next(each for each in found.plan.runners if each.name == name)


def with_shape(shape: str, files: Files = TINY) -> Files:
    """The tiny spec where `grid` has another shape."""
    return {**files, SLOTS: files[SLOTS].replace("shape: [3, tokens]", f"shape: {shape}")}


@pytest.fixture(scope="module")
def tiny_plan(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    return planned(tmp_path_factory.mktemp("spec"))


def test_every_worker_has_its_runners_with_the_slots_that_it_loads(tiny_plan: Planned) -> None:
    assert [(each.name, spell(each.guard)) for each in tiny_plan.plan.runners] == [
        ("eager_target", "true"),
        ("eager_draft", "drafting"),
    ]
    everything = ["ids", "lengths", "starts", "grid", "live_count"]
    assert list(tiny_plan.slots()) == everything
    assert list(tiny_plan.slots("eager_draft")) == [name for name in everything if name != "starts"]


def test_a_dimension_of_an_axis_has_the_capacity_of_the_axis(tiny_plan: Planned) -> None:
    (dimension,) = tiny_plan.slots()["ids"].dimensions
    assert (dimension.axis, dimension.target) == ("tokens", "tokens")
    assert spell(dimension.extent) == "padded_tokens"
    values = {"max_requests": 9, "step": 4, "pool_target": 21}
    assert evaluate_integer(dimension.capacity, values) == 24


def test_a_dimension_of_parameters_is_its_own_capacity(tiny_plan: Planned) -> None:
    first, second = tiny_plan.slots()["grid"].dimensions
    assert (spell(first.capacity), spell(first.extent), first.axis, first.target) == (
        "3",
        "3",
        None,
        None,
    )
    assert second.axis == "tokens"
    assert tiny_plan.slots()["grid"].row_axis == 1
    assert tiny_plan.slots()["live_count"].row_axis is None


def test_a_dimension_that_rises_with_an_axis_follows_its_capacity(tmp_path: Path) -> None:
    found = planned(tmp_path, with_shape("[requests * 2 + 1]"))
    (dimension,) = found.slots()["grid"].dimensions
    assert (dimension.axis, dimension.rises, dimension.target) == (None, "requests", "requests")
    assert spell(dimension.extent) == "padded_requests * 2 + 1"
    assert evaluate_integer(dimension.capacity, {"max_requests": 9, "step": 4}) == 25


def test_a_dimension_over_two_axes_has_a_capacity_of_its_own(tmp_path: Path) -> None:
    found = planned(tmp_path, with_shape("[requests * one + tokens]"))
    (dimension,) = found.slots()["grid"].dimensions
    assert (dimension.axis, dimension.rises, dimension.target) == (None, None, "grid.0")


def test_a_dimension_over_live_variables_keeps_their_names(tmp_path: Path) -> None:
    decode = TINY["decode.yaml"].replace(
        "seen_in: batch.size}",
        "seen_in: batch.size}\n  extra: {range: [0, step - 1], seen_in: batch.extra}",
    )
    files = with_shape("[extra * 2]", {**TINY, "decode.yaml": decode})
    files = {**files, SLOTS: files[SLOTS].replace("optional: true", "modes: [decode]")}
    (dimension,) = planned(tmp_path, files).slots()["grid"].dimensions
    assert spell(dimension.extent) == "extra * 2"
    assert evaluate_integer(dimension.capacity, {"max_requests": 9, "step": 4}) == 6


def test_names_of_a_worker_are_its_own(tmp_path: Path) -> None:
    found = planned(tmp_path, with_shape("[pool, 3]"))
    assert [spell(found.slots(name)["grid"].dimensions[0].capacity) for name in WORKERS] == [
        "pool_target",
        "pool_draft",
    ]


WORKERS = ("eager_target", "eager_draft")


def test_a_slot_whose_guard_excludes_the_worker_is_left_out(tmp_path: Path) -> None:
    found = planned(tmp_path, tiny(SLOTS, (LENGTHS, f"{{when: worker == target, {LENGTHS[1:]}")))
    assert "lengths" in found.slots()
    assert "lengths" not in found.slots("eager_draft")


def test_a_runner_owns_the_slots_that_it_names(tmp_path: Path) -> None:
    found = planned(tmp_path, tiny(RUNNER, ("slots: all", "slots: [lengths, ids, starts]")))
    assert list(found.slots()) == ["ids", "lengths", "starts"]


def test_the_upper_value_of_a_varying_parameter_is_the_largest_of_its_list(tmp_path: Path) -> None:
    varying = "  depths: {type: list, range: [1, 9], default: [2, 4]}\n" + (
        "  depth: {type: int, range: [1, 9], varies: depths, default: 4}\n"
    )
    engine = TINY[ENGINE].replace("  sink:", f"{varying}  sink:")
    found = planned(tmp_path, with_shape("[upper(depth), tokens]", {**TINY, ENGINE: engine}))
    assert spell(found.slots()["grid"].dimensions[0].capacity) == "max(depths)"


def test_slots_lie_behind_each_other_on_their_device(tiny_plan: Planned) -> None:
    given = {"max_requests": 9, "step": 4, "pool": 21}
    values = complete(tiny_plan.resolved, given)
    placed = layout_for(runner(tiny_plan), values)
    assert [(each.name, each.shape, each.device, each.offset, each.bytes) for each in placed] == [
        ("ids", (24,), "compute", 0, 192),
        ("lengths", (12,), "compute", 256, 48),
        ("starts", (12,), "compute", 512, 96),
        ("grid", (3, 24), "host", 0, 288),
        ("live_count", (1,), "compute", 768, 4),
    ]
    assert bytes_by_device(placed) == {"compute": 1024, "host": 512}


def test_a_runner_whose_worker_does_not_exist_has_no_slots(tiny_plan: Planned) -> None:
    draft = runner(tiny_plan, "eager_draft")
    assert layout_for(draft, complete(tiny_plan.resolved, {})) == ()
    assert layout_for(draft, complete(tiny_plan.resolved, {"drafting": True})) != ()


def test_a_layout_needs_a_whole_configuration(tiny_plan: Planned) -> None:
    with pytest.raises(EvaluationError, match="no value for max_requests"):
        layout_for(runner(tiny_plan), {"step": 4})


@given(st.integers(1, 512), st.integers(8, 10**6), st.integers(1, 64), st.booleans())
def test_no_two_slots_of_a_device_overlap(
    tiny_plan: Planned, requests: int, pool: int, step: int, drafting: bool
) -> None:
    given_values = {"max_requests": requests, "pool": pool, "step": step, "drafting": drafting}
    values = complete(tiny_plan.resolved, given_values)
    for each in tiny_plan.plan.runners:
        placed = layout_for(each, values)
        for device in ("compute", "host"):
            own = sorted((slot.offset, slot.end) for slot in placed if slot.device == device)
            ends = [0, *(end for _, end in own)]
            assert all(end <= start for end, (start, _) in zip(ends, own, strict=False))
            assert all(start % 256 == 0 for start, _ in own)
