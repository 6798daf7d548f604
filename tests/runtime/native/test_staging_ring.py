"""Where batches of the host wait, nothing is written again before the device has read it.

Here the device is emulated: it is as late as a test asks for.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence

import pytest

from support.load_libraries import EmulatedDevice, Kernel, needs_host_compiler
from support.staged import EVENTS, LINE, LOADS, ROWS, SMALLEST, Staged, all_hold, large, load_all
from ullage_runtime.native.library import LaunchError, TakeRecipe

pytestmark = [pytest.mark.slow, needs_host_compiler]

WITHOUT_WAITING = 2 * LOADS
"""Of the largest batch, how many loads may be in flight."""


@pytest.mark.parametrize("rows", [3, ROWS // 3, ROWS])
def test_batches_in_flight_lie_in_places_of_their_own(
    device: EmulatedDevice, take: TakeRecipe, rows: int
) -> None:
    every = [Staged(take, live=rows) for _ in range(5 * WITHOUT_WAITING)]
    with device.held_up():
        load_all(every)
    assert all_hold(every)


def test_a_half_is_packed_again_only_after_the_device_has_read_all_of_it(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    every, waited = large(take, WITHOUT_WAITING + 1), device.waited
    with device.held_up():
        load_all(every[:-1])
        assert device.waited == waited
        assert not every[0].slot.any()
        every[-1].load_batch(WITHOUT_WAITING)
        assert device.waited == waited + 1
        assert all_hold(every[:LOADS])
        assert not every[LOADS].slot.any()
    assert all_hold(every)


def test_the_last_load_of_a_half_is_waited_for_and_nothing_that_its_stream_is_told_later(
    device: EmulatedDevice, take: TakeRecipe, emulated: Kernel
) -> None:
    every, other = large(take, WITHOUT_WAITING + 1), Staged(emulated.open(0))
    with device.held_up():
        load_all(every[:LOADS])
        other.load_batch(7)
        load_all(every[LOADS:], LOADS)
        assert not other.slot.any()
    assert other.holds(7)


def test_other_threads_go_on_while_a_load_waits_for_the_device(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    every = large(take, 2 * WITHOUT_WAITING)
    before, waited = device.waited_with_lock, device.waited
    with device.held_up():
        load_all(every)
    assert device.waited > waited
    assert device.waited_with_lock == before


@pytest.mark.parametrize("others", range(1, 2 * WITHOUT_WAITING))
def test_other_threads_may_load_while_a_load_waits_for_the_device(
    device: EmulatedDevice, take: TakeRecipe, others: int
) -> None:
    first, second = large(take, 2 * WITHOUT_WAITING), large(take, others)
    with device.held_up(), device.meanwhile(lambda: load_all(second, 50)):
        load_all(first)
    assert all_hold(first)
    assert all_hold(second, 50)


def test_a_load_is_one_launch_and_asks_for_nothing_else(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    staged = Staged(take)
    launched, recorded, asked = device.launched, device.recorded, device.asked
    for seed in range(SMALLEST // LINE - 1):
        staged.load_batch(seed)
    assert device.launched == launched + SMALLEST // LINE - 1
    assert (device.recorded, device.asked) == (recorded, asked)


@pytest.mark.parametrize(("rows", "loads"), [(3, SMALLEST // LINE), (ROWS, LOADS)])
def test_a_half_takes_one_event_and_is_asked_about_once(
    device: EmulatedDevice, take: TakeRecipe, rows: int, loads: int
) -> None:
    staged, halves = Staged(take, live=rows), 6
    recorded, asked = device.recorded, device.asked
    for seed in range(halves * loads):
        staged.load_batch(seed)
    assert device.recorded == recorded + halves
    assert device.asked == asked + halves - 2  # the first two were empty


def test_a_larger_batch_than_what_is_left_of_a_half_goes_to_the_other(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    half = [Staged(take, live=ROWS // 2) for _ in range(3)]
    every = [*half, *large(take, 2 * WITHOUT_WAITING)]
    recorded = device.recorded
    with device.held_up():
        load_all(half)
        assert device.recorded == recorded
        every[3].load_batch(3)
        assert device.recorded == recorded + 1
        load_all(every[4:], 4)
    assert all_hold(every)


@pytest.mark.parametrize("stream", [1, 2])
def test_what_a_load_had_begun_when_it_failed_is_not_written_again_before_it_is_done(
    device: EmulatedDevice, take: TakeRecipe, stream: int
) -> None:
    """A load of more slots than one launch has steps."""
    broken = Staged(take, slots=9)
    with device.held_up():
        with (
            device.on(stream),
            device.failing(launches_after=1),
            pytest.raises(LaunchError, match="CUDA: unspecified launch failure"),
        ):
            broken.load_batch(5)
        load_all(later := large(take, 2 * LOADS + 1))
    assert [int(slot[1]) for slot in broken.slots] == 8 * [501] + [0]
    assert all_hold(later)


def test_an_event_that_was_refused_is_recorded_with_the_next_load(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    every = large(take, 2 * WITHOUT_WAITING)
    with device.held_up():
        load_all(every[: LOADS - 1])
        with device.failing(records=True), pytest.raises(LaunchError, match="CUDA: unspecified"):
            every[LOADS - 1].load_batch(LOADS - 1)
        load_all(every[LOADS:], LOADS)
    assert all_hold(every)


@pytest.mark.parametrize("stream", [0, 2])
def test_a_launch_that_fails_leaves_room_for_the_next_load(
    device: EmulatedDevice, take: TakeRecipe, stream: int
) -> None:
    staged = Staged(take, live=ROWS)
    with device.on(stream):
        for _ in range(2 * WITHOUT_WAITING):
            with (
                device.failing(launches_after=0),
                pytest.raises(LaunchError, match="CUDA: unspecified launch failure"),
            ):
                staged.load_batch(1)
        staged.load_batch(2)
    assert staged.holds(2)


def test_shapes_share_their_ring(device: EmulatedDevice, take: TakeRecipe) -> None:
    blocks, events = device.blocks, device.events
    every = [Staged(take, live=live) for live in range(1, 9)]
    assert device.blocks == blocks + 2
    assert device.events == events + 2 * EVENTS
    load_all(every)
    assert all_hold(every)


def test_a_load_that_was_prepared_goes_on_where_a_larger_batch_made_a_larger_ring(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    blocks = device.blocks
    every = [Staged(take), Staged(take, live=ROWS)]
    assert device.blocks == blocks + 2
    every.append(Staged(take, live=ROWS + 1))
    assert device.blocks == blocks + 4
    with device.held_up():
        for seed in range(3 * WITHOUT_WAITING):
            load_all(every, seed)
    assert all_hold(every, 3 * WITHOUT_WAITING - 1)


def test_runners_have_rings_of_their_own(
    device: EmulatedDevice, take: TakeRecipe, emulated: Kernel
) -> None:
    first, second = large(take, WITHOUT_WAITING), large(emulated.open(0), WITHOUT_WAITING)
    waited = device.waited
    with device.held_up():
        load_all(first)
        load_all(second)
        assert device.waited == waited
    assert all_hold(first)
    assert all_hold(second)


@pytest.mark.parametrize("streams", [(0,), (1, 3), (2, 1)])
def test_memory_is_given_back_once_the_device_has_read_it(
    device: EmulatedDevice, emulated: Kernel, streams: Sequence[int]
) -> None:
    gc.collect()
    before = device.blocks, device.events
    staged = [Staged(take) for take in [emulated.open(0)] for _ in streams]
    slots = [each.slot for each in staged]
    with device.held_up():
        for seed, (each, stream) in enumerate(zip(staged, streams, strict=True)):
            with device.on(stream):
                each.load_batch(seed + 1)
        assert (device.blocks, device.events) != before
        del staged, each
        gc.collect()
        assert [int(slot[1]) for slot in slots] == [101 + 100 * i for i in range(len(streams))]
        assert (device.blocks, device.events) == before


def test_memory_that_cannot_be_had_is_an_error_and_asked_for_again(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    blocks, events = device.blocks, device.events
    with (
        device.failing(allocations=True),
        pytest.raises(LaunchError, match="CUDA: out of memory"),
    ):
        Staged(take)
    assert (device.blocks, device.events) == (blocks, events)
    staged = Staged(take)
    staged.load_batch(1)
    assert staged.holds(1)
