"""Greedy placement by size, to compare plans with.

The largest runner comes first, and each takes the lowest bytes that no runner alive together with
it has (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020).
"""

from __future__ import annotations

from collections.abc import Mapping

from ullage.plan.arenas import Pairs


def greedy_starts(sizes: Mapping[str, int], alive: Pairs) -> Mapping[str, int]:
    """The first byte of every runner; equal sizes keep their order."""
    starts: dict[str, int] = {}
    for name in sorted(sizes, key=lambda each: -sizes[each]):
        taken = sorted(
            (starts[other], starts[other] + sizes[other])
            for other in starts
            if frozenset((name, other)) in alive
        )
        start = 0
        for low, high in taken:
            if low - start >= sizes[name]:
                break
            start = max(start, high)
        starts[name] = start
    return starts


def greedy_bytes(sizes: Mapping[str, int], alive: Pairs) -> int:
    """How large an arena greedy placement needs."""
    starts = greedy_starts(sizes, alive)
    return max((starts[name] + size for name, size in sizes.items()), default=0)
