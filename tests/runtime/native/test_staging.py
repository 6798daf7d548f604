"""Sources on the host are packed into one block, sent at once, and loaded from there.

Here the device is the CPU too, so that what is sent can be looked at and no event is ever late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ullage_runtime.native.library import LaunchError
from ullage_runtime.native.staging import (
    ALIGNMENT,
    DEPTH,
    SMALLEST,
    Ring,
    Stage,
    StagedSlots,
    side_by_side,
    staged_positions,
)
from ullage_runtime.torch_writer import TorchWriter
from ullage_runtime.writers import PreparedLoad, ShapedLoad, SlotWriter, WrittenSlot

CPU = torch.device("cpu")
CAPACITY = 40
DTYPES = (torch.int64, torch.int32, torch.bool, torch.bfloat16)


@dataclass
class RecordedEvent:
    """What was asked of it, in order."""

    calls: list[str] = field(default_factory=list)

    def synchronize(self) -> None:
        self.calls.append("wait")

    def record(self) -> None:
        self.calls.append("record")


def slots_of(dtypes: tuple[torch.dtype, ...]) -> list[WrittenSlot]:
    """A slot of each type, whose tail is filled with 1."""
    return [
        WrittenSlot(torch.zeros(CAPACITY, dtype=dtype), at, 0, f"field{at}", 1)
        for at, dtype in enumerate(dtypes)
    ]


def shaped(slots: list[WrittenSlot], live: int, padded: int) -> ShapedLoad:
    shapes = [((live,), (padded,)) for _ in slots]
    return ShapedLoad(slots, shapes, [(slot.storage[:padded],) for slot in slots], ())


def sources_of(dtypes: tuple[torch.dtype, ...], live: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(0, 100, (live,), generator=generator).to(dtype) for dtype in dtypes]


def staged(
    stage: Stage, slots: list[WrittenSlot], sources: list[Tensor], positions: tuple[int, ...]
) -> StagedSlots:
    writer = TorchWriter(())
    return StagedSlots(stage, positions, slots, sources, pack=writer, load=writer)


def load_of(
    stage: Stage, dtypes: tuple[torch.dtype, ...], live: int, padded: int
) -> tuple[list[WrittenSlot], PreparedLoad]:
    slots, sources = slots_of(dtypes), sources_of(dtypes, live, 0)
    found = staged(stage, slots, sources, tuple(range(len(slots)))).prepare(
        shaped(slots, live, padded), sources
    )
    assert found is not None
    return slots, found


@given(
    dtypes=st.lists(st.sampled_from(DTYPES), min_size=1, max_size=6).map(tuple),
    shapes=st.lists(
        st.tuples(st.integers(0, CAPACITY), st.integers(0, CAPACITY)).map(sorted),
        min_size=1,
        max_size=6,
    ),
    data=st.data(),
)
def test_what_is_staged_is_loaded_as_it_would_be_without(
    dtypes: tuple[torch.dtype, ...], shapes: list[list[int]], data: st.DataObject
) -> None:
    ends = st.integers(0, len(dtypes) - 1)
    positions = tuple(sorted(data.draw(st.sets(ends, min_size=1), label="those on the host")))
    stage, direct = Stage(CPU, RecordedEvent), TorchWriter(())
    ours, theirs = slots_of(dtypes), slots_of(dtypes)
    for seed, (live, padded) in enumerate(shapes):
        sources = sources_of(dtypes, live, seed)
        staged(stage, ours, sources, positions).prepare(
            shaped(ours, live, padded), sources, writes=True
        )
        direct.of(theirs, sources).prepare(shaped(theirs, live, padded), sources, writes=True)
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one.storage, other.storage)


def test_a_block_is_packed_again_only_after_the_device_has_read_it() -> None:
    stage = Stage(CPU, RecordedEvent)
    _, load = load_of(stage, (torch.int64,), 3, 4)
    ring = stage.ring(1)
    for seed in range(2 * DEPTH):
        assert load(sources_of((torch.int64,), 3, seed))
    for block in ring.blocks:
        assert isinstance(block.free, RecordedEvent)
        assert block.free.calls == ["wait", "record"] * 2


def test_batches_in_flight_lie_in_blocks_of_their_own() -> None:
    stage = Stage(CPU, RecordedEvent)
    _, load = load_of(stage, (torch.int64,), 3, 3)
    batches = [sources_of((torch.int64,), 3, seed) for seed in range(DEPTH)]
    for batch in batches:
        assert load(batch)
    kept = [block.host[:24].view(torch.int64).tolist() for block in stage.ring(1).blocks]
    assert sorted(kept) == sorted(batch[0].tolist() for batch in batches)


def test_other_types_and_shapes_are_refused_and_nothing_is_written() -> None:
    dtypes = (torch.int64, torch.int32)
    slots, load = load_of(Stage(CPU, RecordedEvent), dtypes, 3, 4)
    assert load(sources_of(dtypes, 3, 1))
    before = [slot.storage.clone() for slot in slots]
    first, second = sources_of(dtypes, 3, 2)
    for wrong in ([first, second.long()], [first[:2], second], [first.to("meta"), second]):
        assert not load(wrong)
        assert all(
            torch.equal(slot.storage, kept) for slot, kept in zip(slots, before, strict=True)
        )


def test_a_load_that_was_prepared_goes_on_where_a_larger_batch_made_a_larger_ring() -> None:
    stage = Stage(CPU, RecordedEvent)
    slots, load = load_of(stage, (torch.int64,), 3, 3)
    small = stage.ring(1)
    large = stage.ring(SMALLEST + 1)
    assert large is not small
    assert large.size == 2 * SMALLEST
    assert stage.ring(2 * SMALLEST) is large
    assert stage.ring(SMALLEST) is small
    batch = sources_of((torch.int64,), 3, 5)
    assert load(batch)
    assert torch.equal(slots[0].storage[:3], batch[0])


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 5), max_size=3).map(tuple), st.sampled_from(DTYPES)),
        min_size=1,
    )
)
def test_sources_lie_side_by_side_at_aligned_places(
    parts: list[tuple[tuple[int, ...], torch.dtype]],
) -> None:
    shapes, dtypes = [shape for shape, _ in parts], [dtype for _, dtype in parts]
    places = list(side_by_side(shapes, dtypes))
    assert all(place.start % ALIGNMENT == 0 for place in places)
    assert all(0 <= two.start - one.stop < ALIGNMENT for one, two in pairwise(places))
    for place, shape, dtype in zip(places, shapes, dtypes, strict=True):
        assert torch.empty(place.stop - place.start, dtype=torch.uint8).view(dtype).numel() == (
            torch.Size(shape).numel()
        )


def test_a_ring_that_was_made_in_inference_mode_is_written_outside_of_it() -> None:
    slots, first = slots_of((torch.int64,)), sources_of((torch.int64,), 3, 0)
    with torch.inference_mode():
        writer = staged(Stage(CPU, RecordedEvent), slots, first, (0,))
        load = writer.prepare(shaped(slots, 3, 4), first, writes=True)
        assert load is not None
    for seed in range(DEPTH):
        batch = sources_of((torch.int64,), 3, seed)
        assert load(batch)
        assert torch.equal(slots[0].storage[:3], batch[0])


def test_a_single_number_is_staged_as_well() -> None:
    slots = [WrittenSlot(torch.zeros((), dtype=torch.int64), 0, 0, "field", None)]
    source = [torch.tensor(7)]
    shaped_load = ShapedLoad(slots, [((), ())], [(slots[0].storage,)], ())
    writer = staged(Stage(CPU, RecordedEvent), slots, source, (0,))
    assert writer.prepare(shaped_load, source, writes=True) is not None
    assert slots[0].storage.item() == 7


def test_a_capture_is_no_time_to_load_from_the_host() -> None:
    capturing: list[bool] = []
    stage = Stage(CPU, RecordedEvent, lambda: bool(capturing))
    slots, load = load_of(stage, (torch.int64,), 3, 4)
    before = slots[0].storage.clone()
    capturing.append(True)
    with pytest.raises(LaunchError, match="while a graph is captured"):
        load(sources_of((torch.int64,), 3, 1))
    assert torch.equal(slots[0].storage, before)


def test_a_block_is_guarded_even_where_the_load_fails() -> None:
    class Failing:
        def of(self, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> SlotWriter:
            return self

        def prepare(
            self, load: ShapedLoad, sources: Sequence[Tensor], *, writes: bool = False
        ) -> PreparedLoad:
            def fail(_: Sequence[Tensor]) -> bool:
                raise LaunchError("no room")

            return fail

    stage, slots = Stage(CPU, RecordedEvent), slots_of((torch.int64,))
    batch = sources_of((torch.int64,), 3, 0)
    writer = StagedSlots(stage, (0,), slots, batch, pack=TorchWriter(()), load=Failing())
    with pytest.raises(LaunchError, match="no room"):
        writer.prepare(shaped(slots, 3, 4), batch, writes=True)
    events = [block.free for block in stage.ring(1).blocks]
    assert sum(isinstance(each, RecordedEvent) and "record" in each.calls for each in events) == 1


def test_a_ring_takes_its_blocks_in_turn() -> None:
    ring = Ring(16, CPU, RecordedEvent)
    turns = [ring.turn() for _ in range(2 * DEPTH)]
    assert turns[:DEPTH] == turns[DEPTH:]
    assert sorted(turns[:DEPTH]) == list(range(DEPTH))


def test_only_sources_on_the_host_for_slots_elsewhere_wait() -> None:
    on_host, elsewhere = torch.zeros(4), torch.zeros(4, device="meta")
    slots = [
        WrittenSlot(on_host, 0, 0, "a", None),
        WrittenSlot(elsewhere, 0, 1, "b", None),
        WrittenSlot(elsewhere, 0, 2, None, 0, is_number=True),
        WrittenSlot(elsewhere, 0, 3, "c", None),
    ]
    assert staged_positions(slots, [on_host, on_host, elsewhere]) == (1,)
