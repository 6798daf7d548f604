"""What nobody reads of a transform is not derived, and what somebody reads is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from support.bounds import derived
from support.small_specs import SLOT, mode_text, small
from support.specs import Files, resolved
from ullage.bound.specialise import specialise
from ullage.bound.unread import read_transforms
from ullage.expr.spell import spell

PARAMETERS = ("cap: {type: int, range: [1, 4]}", "ranks_alike: {type: int, range: [1, 3]}")
TRANSFORMS = (
    "sync: {requests: max_ranks(requests), collective: {op: all_gather_max, group: dp}}",
    "tell: {told: sum_ranks(tokens), collective: {op: all_gather_sum, group: dp}}",
)
DECODE = mode_text(
    live={"requests": "1; cap"},
    requests="requests",
    tokens="requests",
    pipeline=["sync", "tell"],
    peers=[],
)
ALONG = "sums: {shape: [told], dtype: int64, source: batch.sums}"
COUNTED = "count: {shape: [1], dtype: int64, value: padded_told}"


def files(*slots: str, transforms: tuple[str, ...] = ()) -> Files:
    return small(
        DECODE,
        parameters=PARAMETERS,
        ranks="ranks_alike",
        slots=(SLOT, *slots),
        axes=("told: {begins_as: tokens}",),
        transforms=(*TRANSFORMS, *transforms),
    )


def assigned(folder: Path, spec: Files) -> Mapping[str, list[str]]:
    """The axes that are left to each transform where the only runner loads."""
    found = resolved(folder, spec)
    (runner,) = found.spec.runners
    steps = read_transforms(found, runner)
    return {name: [axis for axis, _ in step.assigns] for name, step in steps.items()}


def test_an_axis_that_nobody_reads_is_assigned_by_no_transform(tmp_path: Path) -> None:
    assert assigned(tmp_path, files()) == {"sync": ["requests"], "tell": []}


@pytest.mark.parametrize("slot", [ALONG, COUNTED])
def test_an_axis_of_a_slot_is_read(tmp_path: Path, slot: str) -> None:
    assert assigned(tmp_path, files(slot))["tell"] == ["told"]


def test_an_axis_that_another_transform_uses_is_read(tmp_path: Path) -> None:
    uses = 'halve: {tokens: "max(tokens, told // 2)"}'
    assert assigned(tmp_path, files(transforms=(uses,)))["tell"] == ["told"]


def test_what_ranks_bring_to_what_nobody_reads_is_no_part_of_the_problem(tmp_path: Path) -> None:
    read, unread = (
        specialise(resolved(tmp_path / str(count), files(*slots))).runners[0].modes[0]
        for count, slots in enumerate(((ALONG,), ()))
    )
    assert len(read.live) > len(unread.live)
    assert {each.label for each in unread.live} <= {each.label for each in read.live}


def test_what_is_left_out_changes_no_capacity_of_what_is_read(tmp_path: Path) -> None:
    with_sums, without = (
        derived(tmp_path / str(count), files(*slots)) for count, slots in enumerate(((ALONG,), ()))
    )
    found = [each.capacities.of("eager_target", "requests") for each in (with_sums, without)]
    assert [spell(each.formula) for each in found] == ["cap", "cap"]
