"""Slots whose batches lie on the host, and the sizes of where these wait: see ring.cuh."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ullage_runtime.native.library import TakeRecipe
from ullage_runtime.native.library_slots import LibrarySlots
from ullage_runtime.writers import PreparedLoad, ShapedLoad, WrittenSlot

LOADS = 2
"""Of the largest batch, how many a half holds."""

SMALLEST = 1 << 17
"""Bytes of the smallest half."""

EVENTS = 8
"""Of a half."""

LINE = 128
"""Bytes that a load takes at least."""

ROWS = SMALLEST // LOADS // 8
"""Of the largest batch that the smallest halves are for."""


class Staged:
    """Slots of their own whose batches lie on the host; their tails are filled with 1."""

    def __init__(
        self, take: TakeRecipe, *, live: int = 3, padded: int | None = None, slots: int = 1
    ) -> None:
        rows = live + 1 if padded is None else padded
        self.live = live
        self.slots = [torch.zeros(rows, dtype=torch.int64) for _ in range(slots)]
        written = [WrittenSlot(slot, i, 0, "field", 1) for i, slot in enumerate(self.slots)]
        self.first = self.batch(0)
        shapes = [((live,), (rows,))] * slots
        shaped = ShapedLoad(written, shapes, [(slot,) for slot in self.slots], ())
        sources = [self.first] * slots
        found = LibrarySlots(take, written, sources, range(slots)).prepare(shaped, sources)
        assert found is not None
        self.load: PreparedLoad = found

    def load_batch(self, seed: int) -> None:
        """From a source that is written again at once."""
        source = self.batch(seed)
        try:
            assert self.load([source] * len(self.slots))
        finally:
            source.fill_(-1)

    def batch(self, seed: int) -> Tensor:
        return torch.arange(self.live) + 100 * seed

    def holds(self, seed: int) -> bool:
        """Whether all slots hold that batch."""
        return all(torch.equal(slot[: self.live], self.batch(seed)) for slot in self.slots)

    @property
    def slot(self) -> Tensor:
        """The first one."""
        return self.slots[0]

    @property
    def rows(self) -> Tensor:
        """What is live in it."""
        return self.slot[: self.live]


def large(take: TakeRecipe, count: int) -> list[Staged]:
    """Of the largest batch of the smallest ring."""
    return [Staged(take, live=ROWS) for _ in range(count)]


def load_all(every: Sequence[Staged], first: int = 0) -> None:
    """Each its own batch."""
    for seed, each in enumerate(every, first):
        each.load_batch(seed)


def all_hold(every: Sequence[Staged], first: int = 0) -> bool:
    """Whether each holds its own batch."""
    return all(each.holds(seed) for seed, each in enumerate(every, first))
