"""Bounded caches of views and of what belongs to one padded shape."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from ullage_runtime.storage import padded_view

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts since the cache was made; `entries` is its present size."""

    hits: int
    misses: int
    evictions: int
    entries: int


class ViewCache(Generic[V]):
    """Maps a padded shape to its views; the least recently used one leaves when it is full.

    The views hold no memory of their own, so an evicted one costs only its rebuilding.
    """

    def __init__(self, limit: int = 1024) -> None:
        if limit < 1:
            raise ValueError(f"A view cache holds at least 1 entry, and this limit is {limit}.")
        self._limit = limit
        self._entries: OrderedDict[Hashable, V] = OrderedDict()
        self._hits = self._misses = self._evictions = 0

    def get(self, key: Hashable) -> V | None:
        """The views for `key`, now the most recently used; None on a miss."""
        views = self._entries.get(key)
        if views is None:
            self._misses += 1
            return None
        self._hits += 1
        self._entries.move_to_end(key)
        return views

    def put(self, key: Hashable, views: V) -> V:
        """Keep `views` under `key`, evicting the oldest entry if need be; returns `views`."""
        self._entries.pop(key, None)
        if len(self._entries) >= self._limit:
            self._entries.popitem(last=False)
            self._evictions += 1
        self._entries[key] = views
        return views

    def clear(self) -> None:
        """Drop every entry; the counts go on."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def statistics(self) -> CacheStatistics:
        return CacheStatistics(self._hits, self._misses, self._evictions, len(self._entries))


class SlotViews:
    """The views of slots at the shapes that batches have met, one for each slot and shape.

    A step of prompts comes with ever new numbers of tokens, but most of its slots have been seen
    at their shape. All views are dropped when there are too many.
    """

    def __init__(self, limit: int = 16384) -> None:
        self._limit = limit
        self._views: dict[tuple[int, tuple[int, ...]], Tensor] = {}

    def of(self, slot: Tensor, *shape: int) -> Tensor:
        """The leading `shape` of a slot, which outlives this. ValueError if it does not fit."""
        view = self._views.get((id(slot), shape))
        if view is None:
            if len(self._views) >= self._limit:
                self._views.clear()
            view = self._views[id(slot), shape] = padded_view(slot, *shape)
        return view

    def __len__(self) -> int:
        return len(self._views)
