"""Bounded caches of views and of what belongs to one padded shape."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final, Generic, TypeAlias, TypeVar

import torch
from torch import Tensor

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts since the cache was made; `entries` is its present size."""

    hits: int
    misses: int
    evictions: int
    entries: int


class RecentlyUsed(Generic[V]):
    """Keeps what belongs to a key; the least recently used leaves when it is full."""

    def __init__(self, limit: int = 1024) -> None:
        if limit < 1:
            raise ValueError(f"A cache holds at least 1 entry, and this limit is {limit}.")
        self._limit = limit
        self._entries: OrderedDict[Hashable, V] = OrderedDict()
        self._hits = self._misses = self._evictions = 0

    def get(self, key: Hashable) -> V | None:
        """What is kept for `key`, now the most recently used; None on a miss."""
        found = self._entries.get(key)
        if found is None:
            self._misses += 1
            return None
        self._hits += 1
        self._entries.move_to_end(key)
        return found

    def put(self, key: Hashable, value: V) -> V:
        """Keep `value` under `key`, evicting the oldest entry if need be; returns it."""
        self._entries.pop(key, None)
        if len(self._entries) >= self._limit:
            self._entries.popitem(last=False)
            self._evictions += 1
        self._entries[key] = value
        return value

    def clear(self) -> None:
        """Drop every entry; the counts go on."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def statistics(self) -> CacheStatistics:
        return CacheStatistics(self._hits, self._misses, self._evictions, len(self._entries))


class SlotViews:
    """The views of groups of slots at the shapes that batches have met.

    A step of prompts comes with ever new numbers of tokens, but most of its slots have been seen
    at their shape. All views are dropped when there are too many.
    """

    def __init__(self, limit: int = 16384) -> None:
        self._limit = limit
        self._views: dict[tuple[SlotsAlike, tuple[int, ...]], tuple[Tensor, ...]] = {}
        self._count = 0

    def of(self, slots: SlotsAlike, shape: tuple[int, ...]) -> tuple[Tensor, ...]:
        """The leading `shape` of each slot. ValueError if it does not fit."""
        views = self._views.get((slots, shape))
        if views is None:
            views = slots.views(shape)
            self._count += len(views)
            if self._count > self._limit:
                self._views.clear()
                self._count = len(views)
            self._views[slots, shape] = views
        return views

    def __len__(self) -> int:
        return self._count


class SlotsAlike:
    """Slots of which batches have views of one shape. Each is a key of its own."""

    __slots__ = ("_capacity", "_slots", "_strides")

    def __init__(self, slots: Sequence[Tensor]) -> None:
        self._slots = tuple(slots)
        self._strides = [slot.stride() for slot in slots]
        self._capacity = tuple(map(min, zip(*(slot.shape for slot in slots), strict=True)))

    def views(self, shape: tuple[int, ...]) -> tuple[Tensor, ...]:
        """The leading `shape` of each. ValueError if it does not fit all of them."""
        fits = len(shape) == len(self._capacity)
        for size, room in zip(shape, self._capacity, strict=False):
            fits = fits and 0 <= size <= room
        if not fits:
            raise ValueError(f"A view of shape {shape} does not fit slots of {self._capacity}.")
        # In inference mode the short way would make tensors that nobody may write outside of it.
        head = _strided if torch.is_inference_mode_enabled() else _reinterpreted
        return tuple(map(head, self._slots, repeat(shape), self._strides, repeat(0)))


_Head: TypeAlias = Callable[[Tensor, Sequence[int], Sequence[int], int], Tensor]
"""The head of a slot, of a shape, with strides, from an element on."""


def _strided(slot: Tensor, shape: Sequence[int], strides: Sequence[int], _: int) -> Tensor:
    return slot.as_strided(shape, strides)


# What torch's compiled code makes views with. It takes half of the time, since it keeps no books
# for gradients, of which static buffers have none.
def _fastest_head() -> _Head:
    """It is no public part of torch: `as_strided` where it is missing, or has become another."""
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    found: _Head | None = getattr(guards, "_reinterpret_tensor", None)
    if found is None:
        return _strided
    sample = torch.arange(6).view(2, 3)
    try:
        is_alike = torch.equal(found(sample, (1, 2), (3, 1), 0), sample[:1, :2])
    except (TypeError, RuntimeError):
        return _strided
    return found if is_alike else _strided


_reinterpreted: Final = _fastest_head()
