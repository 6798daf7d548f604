"""A bounded cache of the views that belong to one padded shape."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
