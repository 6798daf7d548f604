from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ullage_runtime.arena import Arena, SlotShape, lay_out
from ullage_runtime.errors import DebugError
from ullage_runtime.storage import ALIGNMENT, padded_view, spanned_bytes

SLOTS = (
    SlotShape("input_ids", (37,), torch.int64),
    SlotShape("mrope_positions", (3, 37), torch.int64),
    SlotShape("nothing", (0, 4), torch.float32),
    SlotShape("hidden", (5, 7), torch.bfloat16),
    SlotShape("count", (1,), torch.int32),
    SlotShape("scalar", (), torch.bool),
)

shapes = st.lists(st.integers(0, 9), max_size=3).map(tuple)
dtypes = st.sampled_from([torch.int64, torch.int32, torch.bool, torch.bfloat16, torch.float32])


@given(st.lists(st.tuples(shapes, dtypes), max_size=6), st.sampled_from([0, 256]))
def test_laid_out_slots_are_aligned_and_disjoint(
    slots: list[tuple[tuple[int, ...], torch.dtype]], guard_bytes: int
) -> None:
    layout = lay_out(
        [SlotShape(f"slot{index}", *slot) for index, slot in enumerate(slots)],
        guard_bytes=guard_bytes,
    )
    end = 0
    for slot, offset in zip(layout.slots, layout.offsets, strict=True):
        assert offset % ALIGNMENT == 0
        assert offset >= end
        end = offset + spanned_bytes(slot.shape, slot.dtype) + guard_bytes
    assert end <= layout.size_bytes


def test_slot_names_must_differ() -> None:
    with pytest.raises(ValueError, match="must differ"):
        lay_out([SLOTS[0], SLOTS[0]])


@pytest.mark.parametrize("canaries", [False, True])
def test_every_slot_has_its_shape_dtype_and_place(device: str, canaries: bool) -> None:
    arena = Arena.holding(SLOTS, device, canaries=canaries)
    for slot in SLOTS:
        view = arena.slot(slot.name)
        assert tuple(view.shape) == slot.shape
        assert view.dtype is slot.dtype
        assert view.is_contiguous()
        assert arena.owns(view)
    assert not arena.owns(torch.ones(3, device=device))


def test_slots_do_not_share_storage_unless_planned(device: str) -> None:
    arena = Arena.holding(SLOTS, device, canaries=True)
    arena.slot("input_ids").fill_(7)
    arena.slot("hidden").fill_(1.5)
    arena.slot("count").fill_(9)
    assert arena.slot("input_ids").tolist() == [7] * 37
    assert not arena.slot("mrope_positions").any()
    assert (arena.slot("hidden") == 1.5).all()
    arena.check_canaries()


def test_planned_slots_may_share_storage() -> None:
    arena = Arena("cpu", 512)
    first = arena.view(256, (4,), torch.int64)
    second = arena.view(256, (8,), torch.int32)
    first.fill_(5)
    assert second.tolist() == [5, 0] * 4


def test_a_slot_can_have_its_own_strides() -> None:
    arena = Arena("cpu", 1024)
    slot = arena.view(0, (3, 10), torch.int64, strides=(16, 1))
    assert slot.stride() == (16, 1)
    with pytest.raises(ValueError, match="ends at byte 1264"):
        arena.view(0, (3, 30), torch.int64, strides=(64, 1))


@pytest.mark.parametrize(
    ("offset", "shape", "message"),
    [
        (8, (1,), "not aligned"),
        (-256, (1,), "not aligned"),
        (256, (33,), "ends at byte 520, but the arena has 512 bytes"),
        (0, (-1,), "cannot have shape"),
    ],
)
def test_a_slot_outside_the_arena_is_refused(
    offset: int, shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Arena("cpu", 512).view(offset, shape, torch.int64, name="positions")


@pytest.mark.parametrize("victim", ["input_ids", "mrope_positions", "count"])
def test_an_overwritten_guard_names_the_slot_before_it(device: str, victim: str) -> None:
    arena = Arena.holding(SLOTS, device, canaries=True)
    arena.check_canaries()
    slot = arena.slot(victim)
    end = slot.data_ptr() - arena.storage.data_ptr() + spanned_bytes(slot.shape, slot.dtype)
    arena.storage[end + 3] = 1
    with pytest.raises(DebugError, match=rf"behind slot {victim} \(byte {end + 3}\)") as caught:
        arena.check_canaries()
    assert caught.value.code == "U733"


def test_guards_of_planned_slots_are_what_no_slot_covers() -> None:
    arena = Arena("cpu", 1024, canaries=True)
    wide = arena.view(256, (64,), torch.int64, name="wide")
    arena.view(256, (2,), torch.int64, name="narrow")
    arena.set_canaries()
    wide.fill_(3)
    arena.check_canaries()
    arena.storage[0] = 1
    arena.storage[1000] = 1
    with pytest.raises(DebugError, match=r"start of the arena\).*behind slot wide"):
        arena.check_canaries()


def test_slots_of_an_arena_made_in_inference_mode_are_writable_everywhere() -> None:
    with torch.inference_mode():
        arena = Arena.holding(SLOTS, "cpu")
        view = padded_view(arena.slot("input_ids"), 4)
        view.fill_(2)
    view.copy_(torch.tensor([3, 4, 5, 6]))
    assert arena.slot("input_ids")[:5].tolist() == [3, 4, 5, 6, 0]


def test_a_padded_view_keeps_the_strides_of_the_capacity() -> None:
    slot = Arena.holding(SLOTS, "cpu").slot("mrope_positions")
    view = padded_view(slot, 3, 5)
    assert tuple(view.shape) == (3, 5)
    assert view.stride() == (37, 1)
    assert view.data_ptr() == slot.data_ptr()


@pytest.mark.parametrize("shape", [(3, 38), (4, 5), (-1, 5), (3,)])
def test_a_padded_view_never_exceeds_its_slot(shape: tuple[int, ...]) -> None:
    slot = Arena.holding(SLOTS, "cpu").slot("mrope_positions")
    with pytest.raises(ValueError, match="does not fit"):
        padded_view(slot, *shape)


def test_an_empty_arena_is_legal() -> None:
    arena = Arena.holding((), "cpu", canaries=True)
    assert arena.size_bytes == 0
    arena.check_canaries()
