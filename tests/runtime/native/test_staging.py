"""Sources on the host are packed into a block, and the kernel of a device reads them there.

Here the device is emulated: its memory is the host's, and it is as late as a test asks for. A
library of a CPU packs and reads in the same way, and needs to wait for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.load_libraries import EmulatedDevice, Kernel, needs_host_compiler
from support.slot_loads import Case, Loaded, cases
from support.staged import Staged
from ullage_runtime.native.library import LaunchError, TakeRecipe
from ullage_runtime.native.library_slots import LibrarySlots, staged_positions
from ullage_runtime.writers import PreparedLoad, ShapedLoad, WrittenSlot

pytestmark = [pytest.mark.slow, needs_host_compiler]


def written(loaded: Loaded, take: TakeRecipe, staged: Sequence[int]) -> PreparedLoad:
    """What loads all cases, some from the host."""
    steps = loaded.steps
    slots = [WrittenSlot(step.view, i, 0, step.source, step.fill) for i, step in enumerate(steps)]
    shapes = [(step.live, tuple(step.view.shape)) for step in steps]
    shaped = ShapedLoad(slots, shapes, [(step.view,) for step in steps], ())
    load = LibrarySlots(take, slots, loaded.sources, staged).prepare(shaped, loaded.sources)
    assert load is not None
    return load


@given(st.data(), st.integers(0, 1000))
def test_what_is_staged_is_loaded_as_it_would_be_without(
    kernel: Kernel, data: st.DataObject, seed: int
) -> None:
    if kernel.device != "cpu":
        pytest.skip("its sources lie on the device")
    some = data.draw(st.lists(cases(dtypes=kernel.dtypes), min_size=1, max_size=12))
    actual, expected = (Loaded(some, "cpu", seed) for _ in range(2))
    numbers = range(len(actual.sources))
    staged = data.draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(set()))
    addresses = [address for each in actual.regions.addresses for address in each]
    load = written(actual, kernel.open(0, *addresses), sorted(staged))
    for _ in range(6):
        assert load(actual.sources)
        expected.load_by_torch()
        assert torch.equal(actual.arena.storage, expected.arena.storage)
        for each in (actual, expected):
            each.poison()
            each.fresh()


@pytest.mark.parametrize("layout", ["dense", "misaligned", "strided", "transposed", "cut"])
def test_sources_of_any_layout_are_packed(emulated: Kernel, layout: str) -> None:
    case = Case((6, 4, 9), (5, 3, 9), (4, 2, 7), torch.int64, torch.int32, layout, True, 7)
    actual, expected = (Loaded([case, case], "cpu", 1) for _ in range(2))
    assert written(actual, emulated.open(0), [0, 1])(actual.sources)
    expected.load_by_torch()
    assert torch.equal(actual.arena.storage, expected.arena.storage)


def test_other_types_and_shapes_are_refused_and_nothing_is_written(take: TakeRecipe) -> None:
    staged = Staged(take)
    assert staged.load([staged.batch(1)])
    before, batch = staged.slot.clone(), staged.batch(2)
    strided = torch.zeros(6, dtype=torch.int64)[::2]
    for wrong in ([], [batch.int()], [batch[:2]], [batch.to("meta")], [strided], [batch, batch]):
        assert not staged.load(wrong)
        assert torch.equal(staged.slot, before)


def test_a_capture_is_no_time_to_load_from_the_host(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    staged = Staged(take)
    with device.capturing(), pytest.raises(LaunchError, match="while a graph is captured: load"):
        staged.load([staged.batch(1)])
    assert torch.equal(staged.slot, torch.zeros_like(staged.slot))
    assert staged.load([staged.batch(1)])


def test_a_load_prepared_in_inference_mode_goes_on_outside_of_it(take: TakeRecipe) -> None:
    with torch.inference_mode():
        staged = Staged(take)
        assert staged.load([staged.first])
    assert staged.load([staged.batch(2)])
    assert torch.equal(staged.rows, staged.batch(2))


def test_a_single_number_is_staged_as_well(take: TakeRecipe) -> None:
    slots = [WrittenSlot(torch.zeros((), dtype=torch.int64), 0, 0, "field", None)]
    source = [torch.tensor(7)]
    shaped = ShapedLoad(slots, [((), ())], [(slots[0].storage,)], ())
    assert LibrarySlots(take, slots, source, {0}).write(shaped, source)
    assert slots[0].storage.item() == 7


def test_only_sources_on_the_host_for_slots_elsewhere_wait() -> None:
    on_host, elsewhere = torch.zeros(4), torch.zeros(4, device="meta")
    slots = [
        WrittenSlot(on_host, 0, 0, "a", None),
        WrittenSlot(elsewhere, 0, 1, "b", None),
        WrittenSlot(elsewhere, 0, 2, None, 0, is_number=True),
        WrittenSlot(elsewhere, 0, 3, "c", None),
    ]
    assert staged_positions(slots, [on_host, on_host, elsewhere]) == (1,)
