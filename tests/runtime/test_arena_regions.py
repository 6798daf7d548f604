"""Regions of shared arenas: placement, and what debug mode notices when one overwrites another."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch

from ullage_runtime.arena import SlotShape
from ullage_runtime.arena_regions import Region, Regions, RunnerLayout, SharedArena
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import DebugError
from ullage_runtime.storage import ALIGNMENT

OFF = DebugOptions()
ON = DebugOptions.of(True)
WIDE = (SlotShape("input_ids", (100,), torch.int64), SlotShape("lengths", (7,), torch.int32))
NARROW = (SlotShape("tokens", (9,), torch.int64), SlotShape("flags", (3,), torch.bool))
EMPTY = (SlotShape("nothing", (0, 4), torch.float32),)


def layout(*slots: SlotShape, debug: DebugOptions = ON) -> RunnerLayout:
    return RunnerLayout.of(slots, slots[:1], debug=debug)


def shared(*placed: tuple[str, int, tuple[SlotShape, ...]]) -> list[Region]:
    """Runners in one arena, each from a byte on."""
    arena = SharedArena("cpu", 8192, debug=ON)
    return [arena.region(name, start, layout(*slots).compute) for name, start, slots in placed]


def test_slots_lie_behind_the_start_of_their_region(device: str) -> None:
    made = layout(*WIDE, debug=OFF).compute
    arena = SharedArena(device, 4096, debug=OFF)
    region = arena.region("late", 512, made)
    first = region.slot("input_ids")
    assert first.data_ptr() - arena.arena.storage.data_ptr() == 512
    assert (region.start, region.end) == (512, 512 + made.size_bytes)
    assert tuple(first.shape) == (100,)
    with pytest.raises(KeyError):
        region.slot("tokens")


def test_a_region_outside_of_the_arena_is_refused() -> None:
    with pytest.raises(ValueError, match="the arena has 512 bytes"):
        SharedArena("cpu", 512, debug=OFF).region("late", 256, layout(*WIDE).compute)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_storage_whose_addresses_are_known_is_not_copied(
    copied: Callable[[object], object],
) -> None:
    regions = Regions.alone("wide", layout(*WIDE), device="cpu", debug=OFF)
    with pytest.raises(TypeError, match="make another runner"):
        copied([regions])
    (same,) = copy.copy([regions])
    assert same.addresses == regions.addresses


def test_guards_of_debug_mode_make_room_between_slots() -> None:
    with_guards, without = layout(*WIDE), layout(*WIDE, debug=DebugOptions(poison=True))
    assert with_guards.compute.size_bytes == without.compute.size_bytes + 2 * ALIGNMENT


def test_what_one_runner_loads_another_one_loses() -> None:
    wide, narrow = shared(("wide", 0, WIDE), ("narrow", 0, NARROW))
    wide.claim()
    assert wide.is_kept
    assert not narrow.is_kept
    narrow.claim()
    assert (wide.is_kept, narrow.is_kept) == (False, True)


def test_runners_beside_each_other_keep_what_they_have() -> None:
    room = layout(*WIDE).compute.size_bytes
    wide, narrow, empty = shared(("wide", 0, WIDE), ("narrow", room, NARROW), ("none", 0, EMPTY))
    for region in (wide, narrow, empty, wide):
        region.claim()
    assert all(region.is_kept for region in (wide, narrow))


def test_a_load_between_the_steps_of_another_runner_is_found() -> None:
    wide, narrow = shared(("wide", 0, WIDE), ("narrow", 0, NARROW))
    before = wide.shared.claims
    wide.claim()
    wide.require_kept(before)
    narrow.claim()
    with pytest.raises(DebugError, match=r"runner wide ran, narrow loaded.*'concurrent'") as caught:
        wide.require_kept(before)
    assert caught.value.code == "U735"


def test_a_runner_that_loaded_nothing_has_nothing_to_lose() -> None:
    wide, narrow = shared(("wide", 0, WIDE), ("narrow", 0, NARROW))
    wide.claim()
    before = wide.shared.claims
    narrow.claim()
    wide.require_kept(before)


def test_without_debug_mode_nothing_is_claimed() -> None:
    regions = Regions.alone("wide", layout(*WIDE, debug=OFF), device="cpu", debug=OFF)
    before = regions.claims
    assert before == (0, 0)
    regions.require_kept(before)
    regions.check_canaries()


def overwrite_guard_behind(region: Region, name: str) -> None:
    slot = region.slot(name)
    end = slot.data_ptr() + slot.nbytes - region.shared.arena.storage.data_ptr()
    region.shared.arena.storage[end + 1] = 7


@pytest.mark.parametrize("next_to_load", ["wide", "narrow"])
def test_a_broken_guard_is_found_by_whoever_loads_next(next_to_load: str) -> None:
    wide, narrow = shared(("wide", 0, WIDE), ("narrow", 0, NARROW))
    wide.claim()
    overwrite_guard_behind(wide, "input_ids")
    with pytest.raises(DebugError, match="behind slot input_ids") as caught:
        (wide if next_to_load == "wide" else narrow).claim()
    assert caught.value.code == "U733"


def test_slots_of_another_runner_over_a_guard_break_nothing() -> None:
    wide, narrow = shared(("wide", 0, WIDE), ("narrow", 256, NARROW))
    for region in (wide, narrow, wide, narrow):
        region.claim()
        for name in (slot.name for slot in region.layout.slots):
            region.slot(name).fill_(1)
        region.check_canaries()


def test_guards_belong_to_the_runner_from_its_start_to_its_end() -> None:
    first, second = shared(("first", 0, NARROW), ("second", 1024, NARROW))
    second.shared.arena.storage[second.end :].fill_(3)
    first.claim()
    second.claim()
    overwrite_guard_behind(second, "flags")
    first.check_canaries()
    with pytest.raises(DebugError, match="behind slot flags"):
        second.check_canaries()


def test_a_runner_alone_has_arenas_of_its_own_size() -> None:
    made = layout(*WIDE)
    regions = Regions.alone("wide", made, device="cpu", debug=ON)
    compute, host = regions.arenas
    assert (compute.size_bytes, host.size_bytes) == (made.compute.size_bytes, made.host.size_bytes)
    regions.claim()
    regions.check_canaries()
    assert regions.claims == (2, 2)


@pytest.mark.parametrize(
    ("slots", "where", "debug", "problem"),
    [
        (NARROW, "cpu", ON, "another configuration"),
        (WIDE, "cpu", OFF, "another configuration"),
        (WIDE, "meta", ON, "device cpu"),
        (WIDE, "cpu", DebugOptions(canaries=True), ""),
    ],
)
def test_arenas_serve_what_they_were_made_for(
    slots: tuple[SlotShape, ...], where: str, debug: DebugOptions, problem: str
) -> None:
    regions = Regions.alone("wide", layout(*WIDE), device="cpu", debug=ON)
    given = layout(*slots, debug=debug)
    if not problem:
        regions.require_made_for(given, device=torch.device(where), debug=debug)
        return
    with pytest.raises(ValueError, match=f"of runner wide are for {problem}"):
        regions.require_made_for(given, device=torch.device(where), debug=debug)


def test_runners_that_poison_do_not_share_with_some_that_do_not() -> None:
    poisoning = DebugOptions(poison=True)
    made = layout(*WIDE, debug=poisoning)
    regions = Regions.alone("wide", made, device="cpu", debug=poisoning)
    with pytest.raises(ValueError, match="another debug mode"):
        regions.require_made_for(made, device=torch.device("cpu"), debug=OFF)
