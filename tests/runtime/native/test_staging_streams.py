"""Loads from the host may go to any stream, and wait for every one that was told of some.

Here the device is emulated: its streams are as late as a test asks for, each on its own. Those with
odd numbers are torch's own, and those with even numbers may be destroyed.
"""

from __future__ import annotations

import gc

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.load_libraries import (
    FEW_DTYPES,
    EmulatedDevice,
    Kernel,
    needs_host_compiler,
    opened_emulated,
)
from support.staged import EVENTS, LOADS, ROWS, Staged, all_hold, large, load_all
from ullage_runtime.native.library import LaunchError, TakeRecipe, is_lasting_stream

pytestmark = [pytest.mark.slow, needs_host_compiler]


@given(st.data())
def test_streams_may_change_at_any_load(
    device: EmulatedDevice, emulated: Kernel, data: st.DataObject
) -> None:
    """Some streams are destroyed after a load, and others have their handles."""
    take = emulated.open(0)
    steps = st.tuples(
        st.sampled_from([0, 1, 3, 2, 4]),
        st.sampled_from([3, ROWS // 2, ROWS]),
        st.booleans(),
    )
    drawn = data.draw(st.lists(steps, min_size=1, max_size=40))
    every = [Staged(take, live=rows) for _, rows, _ in drawn]
    events = device.events
    with device.held_up():
        for seed, (each, (stream, _, is_gone)) in enumerate(zip(every, drawn, strict=True)):
            with device.on(stream):
                each.load_batch(seed)
            if is_gone and stream in (2, 4):
                device.destroy(stream)
    assert all_hold(every)
    assert device.events == events


def test_a_half_waits_for_every_stream_that_was_told_of_its_loads(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    every, last = [Staged(take) for _ in range(3)], large(take, 2 * LOADS)
    with device.held_up():
        for seed, each in enumerate(every):
            with device.on(2 * seed + 1):
                each.load_batch(seed)
        assert not any(each.slot.any() for each in every)
        load_all(last, 10)
    assert all_hold(every)
    assert all_hold(last, 10)


def test_streams_that_take_turns_take_no_more_events_than_a_half_has(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    every, waited = [Staged(take) for _ in range(2 * EVENTS + 1)], device.waited
    with device.held_up():
        for seed, each in enumerate(every):
            assert device.waited == waited
            with device.on(1 + 2 * (seed % 2)):
                each.load_batch(seed)
        assert device.waited > waited
        assert all_hold(every[:EVENTS])
    assert all_hold(every)


def test_a_stream_of_others_has_its_event_at_once_and_may_be_gone_later(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    every, recorded = [Staged(take) for _ in range(4)], device.recorded
    with device.held_up():
        for seed, each in enumerate(every):
            with device.on(2):
                each.load_batch(seed)
            assert device.recorded == recorded + seed + 1
            device.destroy(2)
        load_all(later := large(take, 2 * LOADS), 10)
        assert all_hold(every)
    assert all_hold(later, 10)


def test_torch_is_asked_once_about_a_stream_that_lasts(device: EmulatedDevice) -> None:
    asked: list[tuple[int, int]] = []

    def is_lasting(of: int, stream: int) -> bool:
        asked.append((of, stream))
        return stream != 2

    staged = Staged(opened_emulated(FEW_DTYPES, is_lasting)(0))
    for stream in (1, 2, 1, 3, 2, 0, 3, 0):
        with device.on(stream):
            staged.load_batch(1)
    assert asked == [(0, 1), (0, 2), (0, 3), (0, 2), (0, 0)]


def test_nothing_is_written_where_torch_cannot_say_whether_a_stream_lasts(
    device: EmulatedDevice,
) -> None:
    def is_lasting(of: int, stream: int) -> bool:
        raise RuntimeError(f"stream {stream} of device {of}")

    staged, launched = Staged(opened_emulated(FEW_DTYPES, is_lasting)(0)), device.launched
    with device.on(3), pytest.raises(RuntimeError, match="stream 3 of device 0"):
        staged.load_batch(1)
    assert device.launched == launched


def test_the_default_stream_of_torch_lasts() -> None:
    assert is_lasting_stream(0, 0)


def test_a_load_is_refused_while_the_stream_of_the_last_one_is_captured(
    device: EmulatedDevice, take: TakeRecipe
) -> None:
    """It could not be told of an event."""
    first, second = Staged(take), Staged(take)
    with device.held_up():
        with device.on(1):
            first.load_batch(1)
        with (
            device.capturing(1),
            device.on(3),
            pytest.raises(LaunchError, match="while a graph is captured: load"),
        ):
            second.load_batch(2)
        with device.on(3):
            second.load_batch(3)
        load_all(later := large(take, 2 * LOADS), 10)
    assert (first.holds(1), second.holds(3)) == (True, True)
    assert all_hold(later, 10)


def test_memory_of_a_stream_that_is_captured_at_the_end_is_left_to_the_process(
    device: EmulatedDevice, emulated: Kernel
) -> None:
    """Nobody can say when the device has read it."""
    gc.collect()
    blocks = device.blocks
    staged = Staged(emulated.open(0))
    slot, batch = staged.slot, staged.batch(7)
    with device.held_up():
        with device.on(1):
            staged.load_batch(7)
        with device.capturing(1):
            del staged
            gc.collect()
        assert device.blocks == blocks + 1
        assert not slot.any()
    assert torch.equal(slot[:3], batch)
