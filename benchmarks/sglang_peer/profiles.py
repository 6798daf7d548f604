"""Where the host time of a load goes, by cProfile: in shares, since profiling slows it down."""

from __future__ import annotations

import cProfile
import io
import pstats
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sglang_peer.batches import ForwardBatch
from sglang_peer.implementations import Implementation

CALLS: Final = 2000


@dataclass(frozen=True, slots=True)
class Share:
    """A function: its calls and share of the time of one load, without what it calls."""

    function: str
    calls: float
    share: float


def shares(implementation: Implementation, batches: Sequence[ForwardBatch]) -> list[Share]:
    """All functions of a load, the dearest first."""
    profiler = cProfile.Profile()
    with implementation.setting():
        profiler.enable()
        for call in range(CALLS):
            batch = batches[call % len(batches)]
            implementation.fill(batch)
            implementation.view(batch)
        profiler.disable()
    return sorted(_shares(profiler), key=lambda each: -each.share)


def _shares(profiler: cProfile.Profile) -> Iterator[Share]:
    statistics = pstats.Stats(profiler, stream=io.StringIO())
    # typeshed does not know the table, which pstats documents by its methods alone.
    table = statistics.stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, _, _ in table.values())
    for (path, line, name), (_, calls, own, _, _) in table.items():
        where = f"{Path(path).name}:{line} " if line else ""
        yield Share(f"{where}{name}", calls / CALLS, own / total)


def print_profiles(
    title: str,
    implementations: Sequence[Implementation],
    batches: Sequence[ForwardBatch],
    longest: int = 14,
) -> None:
    """The dearest functions of each."""
    for each in implementations:
        print(f"{title}, {each.name}: share of its time, calls a load, function")
        for share in shares(each, batches)[:longest]:
            print(f"  {share.share:6.1%} {share.calls:6.1f}  {share.function}")
