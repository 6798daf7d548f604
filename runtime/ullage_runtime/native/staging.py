"""Sources that lie on the host for slots on a device: packed, and sent in one transfer.

They are copied side by side into a block of pinned memory, which is sent into a twin on the device
at once; the kernel reads them there. Blocks form a ring, so that the host packs the next batch
while the device still reads this one. An event says when a block may be written again: to reuse
one too early is a bug that engines have had (vllm-project/vllm#25279, #31841).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Protocol

import torch
from torch import Tensor

from ullage_runtime.native.library import LaunchError
from ullage_runtime.writers import PreparedLoad, ShapedLoad, Writer, WrittenSlot

DEPTH: Final = 3
"""Blocks of a ring: one that the device reads, one on its way, and one that is packed."""

ALIGNMENT: Final = 16
"""Of each source in its block, in bytes: cells that the kernel moves at once."""

SMALLEST: Final = 1 << 16
"""Bytes of the smallest block, so that small batches do not make one ring after another."""


class Event(Protocol):
    """When the device is done with what it was told so far."""

    def synchronize(self) -> None: ...

    def record(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Block:
    """`host`, `device`: as many bytes each; `free`: when the device has read the last batch."""

    host: Tensor
    device: Tensor
    free: Event


class StreamEvent:
    """An event of the stream that is current on one device, which need not be the current one."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def synchronize(self) -> None:
        self._event.synchronize()

    def record(self) -> None:
        self._event.record(torch.cuda.current_stream(self._device))


class Ring:
    """Blocks that take turns."""

    def __init__(self, size: int, device: torch.device, event: Callable[[], Event]) -> None:
        self.size = size
        with torch.inference_mode(False):  # or they could not be written outside of it
            self.blocks = tuple(
                Block(
                    torch.empty(size, dtype=torch.uint8, pin_memory=device.type == "cuda"),
                    torch.empty(size, dtype=torch.uint8, device=device),
                    event(),
                )
                for _ in range(DEPTH)
            )
        self._turn = 0

    def turn(self) -> int:
        """The next block, once the device is done with what it held."""
        self._turn = (self._turn + 1) % DEPTH
        self.blocks[self._turn].free.synchronize()
        return self._turn


class Stage:
    """Where the sources of one runner wait for its device.

    `event`: makes one of the device; `is_capturing`: whether a graph records what it is told.
    """

    def __init__(
        self,
        device: torch.device,
        event: Callable[[], Event],
        is_capturing: Callable[[], bool] = lambda: False,
    ) -> None:
        self.device = device
        self.is_capturing = is_capturing
        self._event = event
        self._rings: list[Ring] = []

    def ring(self, size: int) -> Ring:
        """The smallest whose blocks hold `size` bytes.

        Each is twice the one before it or larger, and none is given up, since the device may be
        reading it: together they are no more than twice the largest.
        """
        for ring in self._rings:
            if ring.size >= size:
                return ring
        made = Ring(max(SMALLEST, 1 << (size - 1).bit_length()), self.device, self._event)
        self._rings.append(made)
        return made


class StagedSlots:
    """Writes slots on a device from sources of which those at `positions` lie on the host."""

    def __init__(
        self,
        stage: Stage,
        positions: Sequence[int],
        slots: Sequence[WrittenSlot],
        sources: Sequence[Tensor],
        *,
        pack: Writer,
        load: Writer,
    ) -> None:
        """`pack` writes on the host, `load` on the device; `sources`: see `Writer`."""
        self._stage = stage
        self._positions = tuple(positions)
        self._pack = pack
        sourced = [slot for slot in slots if slot.source is not None]
        self._groups = tuple(sourced[at].group for at in self._positions)
        self._dtypes = tuple(sources[at].dtype for at in self._positions)
        # Only the types and the device of these samples count.
        room = torch.zeros(ALIGNMENT, dtype=torch.uint8, device=stage.device)
        samples = [room[: dtype.itemsize].view(dtype)[0] for dtype in self._dtypes]
        shaped = [
            sample.expand(sources[at].shape)
            for sample, at in zip(samples, self._positions, strict=True)
        ]
        self._load = load.of(slots, self.exchanged(sources, shaped))

    def prepare(
        self, load: ShapedLoad, sources: Sequence[Tensor], *, writes: bool = False
    ) -> PreparedLoad | None:
        """See `SlotWriter`."""
        shapes = [load.shapes[group][0] for group in self._groups]
        places = list(side_by_side(shapes, self._dtypes))
        parts = list(zip(places, shapes, self._dtypes, strict=True))
        found = StagedLoad(self, load, self._stage.ring(max(places[-1].stop, 1)), parts)
        is_for = found(sources) if writes else found.takes(sources)
        return found if is_for else None

    def exchanged(self, sources: Sequence[Tensor], sent: Sequence[Tensor]) -> Sequence[Tensor]:
        """The sources, those on the host as they were sent."""
        if len(sent) == len(sources):
            return sent
        given = list(sources)
        for at, tensor in zip(self._positions, sent, strict=True):
            given[at] = tensor
        return given

    def turn(
        self, load: ShapedLoad, sources: Sequence[Tensor], block: Block, parts: Sequence[Part]
    ) -> Turn | None:
        """What goes through one block; None if the sources are none that the load is for."""
        with torch.inference_mode(False):  # as for the blocks
            packed = [block.host[place].view(dtype).view(shape) for place, shape, dtype in parts]
            sent = [block.device[place].view(dtype).view(shape) for place, shape, dtype in parts]
        waiting = self.waiting(sources)
        if not all(
            isinstance(source, Tensor)
            and source.is_cpu
            and source.shape == part.shape
            and source.dtype is part.dtype
            for source, part in zip(waiting, packed, strict=True)
        ):
            return None
        slots = [WrittenSlot(view, group, 0, "packed", None) for group, view in enumerate(packed)]
        shapes = [(shape, shape) for _, shape, _ in parts]
        shaped = ShapedLoad(slots, shapes, [(view,) for view in packed], ())
        pack = self._pack.of(slots, waiting).prepare(shaped, waiting)
        write = self._load.prepare(load, self.exchanged(sources, sent))
        if pack is None or write is None:
            return None
        used = slice(0, parts[-1][0].stop)
        return Turn(pack, write, block.host[used], block.device[used], sent, block.free)

    def require_eager(self) -> None:
        """LaunchError while a graph is captured: a replay would send what the block holds then."""
        if self._stage.is_capturing():
            raise LaunchError(
                "Sources on the host cannot be loaded while a graph is captured: load the batch "
                "before, or capture with sources on the device."
            )

    def waiting(self, sources: Sequence[Tensor]) -> Sequence[Tensor]:
        """The sources on the host."""
        if len(self._positions) == len(sources):
            return sources
        return [sources[at] for at in self._positions]


Part = tuple[slice, tuple[int, ...], torch.dtype]
"""A source in a block: its bytes, and what they are."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A load through one block: what packs, what is sent, and what loads.

    `packed`, `received`: the used bytes on either side; `sent`: the sources as the load finds them.
    """

    pack: PreparedLoad
    load: PreparedLoad
    packed: Tensor
    received: Tensor
    sent: Sequence[Tensor]
    free: Event


class StagedLoad:
    """Packs, sends and loads the batches of one shape, each through the next block."""

    __slots__ = ("_load", "_parts", "_ring", "_slots", "_turns")

    def __init__(
        self, slots: StagedSlots, load: ShapedLoad, ring: Ring, parts: Sequence[Part]
    ) -> None:
        """`parts`: of the sources in a block."""
        self._slots = slots
        self._load = load
        self._ring = ring
        self._parts = tuple(parts)
        self._turns: list[Turn | None] = [None] * len(ring.blocks)

    def takes(self, sources: Sequence[Tensor]) -> bool:
        """Whether the load is for these sources; a first turn is prepared for them."""
        return self._turn_of(0, sources) is not None

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        self._slots.require_eager()
        at = self._ring.turn()
        turn = self._turns[at] or self._turn_of(at, sources)
        if turn is None or not turn.pack(self._slots.waiting(sources)):
            return False
        try:
            turn.received.copy_(turn.packed, non_blocking=True)
            return turn.load(self._slots.exchanged(sources, turn.sent))
        finally:
            turn.free.record()

    def _turn_of(self, at: int, sources: Sequence[Tensor]) -> Turn | None:
        if self._turns[at] is None:
            block = self._ring.blocks[at]
            self._turns[at] = self._slots.turn(self._load, sources, block, self._parts)
        return self._turns[at]


def side_by_side(
    shapes: Sequence[tuple[int, ...]], dtypes: Sequence[torch.dtype]
) -> Iterator[slice]:
    """Where in a block each source lies, in bytes."""
    start = 0
    for shape, dtype in zip(shapes, dtypes, strict=True):
        stop = start + prod(shape) * dtype.itemsize
        yield slice(start, stop)
        start = -(-stop // ALIGNMENT) * ALIGNMENT


def staged_positions(slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> tuple[int, ...]:
    """Which sources lie on the host, while their slots do not."""
    sourced = (slot for slot in slots if slot.source is not None)
    return tuple(
        at
        for at, (slot, source) in enumerate(zip(sourced, sources, strict=True))
        if source.is_cpu and not slot.storage.is_cpu
    )
