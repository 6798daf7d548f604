"""Host time of each implementation, in alternating blocks of one process.

Machines change their speed while a run lasts, so that only what is measured in turns compares.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from torch.utils._python_dispatch import TorchDispatchMode

from sglang_peer.batches import ForwardBatch
from sglang_peer.implementations import Implementation

BLOCK: Final = 40
"""Calls in a row of one implementation."""


@dataclass(frozen=True, slots=True)
class Host:
    """Microseconds a call, without waiting for the device: medians, and percentiles of the sum.

    `rounds`: the median of each block, in the order in which the implementations took turns.
    """

    fill: float
    view: float
    both: float
    p10: float
    p90: float
    rounds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Samples:
    """Nanoseconds of single calls."""

    fill: list[int] = field(default_factory=list)
    view: list[int] = field(default_factory=list)

    def host(self) -> Host:
        both = [sum(each) / 1e3 for each in zip(self.fill, self.view, strict=True)]
        tenths = statistics.quantiles(both, n=10)
        fill, view = statistics.median(self.fill) / 1e3, statistics.median(self.view) / 1e3
        rounds = tuple(
            round(statistics.median(both[first : first + BLOCK]), 2)
            for first in range(0, len(both), BLOCK)
        )
        return Host(fill, view, statistics.median(both), tenths[0], tenths[-1], rounds)


def host_times(
    implementations: Sequence[Implementation],
    batches: Sequence[ForwardBatch],
    *,
    calls: int,
    synchronize: Callable[[], None],
) -> Mapping[str, Host]:
    """How long each takes, by name; `synchronize` is called between blocks."""
    samples = {each.name: _Samples() for each in implementations}
    for each in implementations:
        _run_block(each, batches, _Samples(), 4 * BLOCK)
    gc.collect()
    gc.disable()
    try:
        for _ in range(max(1, calls // BLOCK)):
            for each in implementations:
                synchronize()
                _run_block(each, batches, samples[each.name], BLOCK)
    finally:
        gc.enable()
    synchronize()
    return {name: taken.host() for name, taken in samples.items()}


def _run_block(
    implementation: Implementation, batches: Sequence[ForwardBatch], into: _Samples, calls: int
) -> None:
    fill, view, now = implementation.fill, implementation.view, time.perf_counter_ns
    with implementation.setting():
        for call in range(calls):
            batch = batches[call % len(batches)]
            began = now()
            fill(batch)
            filled = now()
            view(batch)
            ended = now()
            into.fill.append(filled - began)
            into.view.append(ended - filled)


def times_of_first_loads(
    loads: Mapping[str, Callable[[ForwardBatch], object]], batches: Sequence[ForwardBatch]
) -> Mapping[str, float]:
    """Median microseconds of loading batches each of which has a shape that was not seen before.

    Whoever is first with a batch finds it out of the processor's caches, so that all take turns.
    """
    taken: dict[str, list[int]] = {name: [] for name in loads}
    turns = [*loads.items()]
    gc.collect()
    gc.disable()
    try:
        for batch in batches:
            for name, load in turns:
                began = time.perf_counter_ns()
                load(batch)
                taken[name].append(time.perf_counter_ns() - began)
            turns.append(turns.pop(0))
    finally:
        gc.enable()
    return {name: statistics.median(each) / 1e3 for name, each in taken.items()}


class _Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__
    """Counts torch's operations. A kernel that Triton launches is none."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


def operations(implementation: Implementation, batch: ForwardBatch) -> Mapping[str, int]:
    """How often one load dispatches each of torch's operations."""
    with implementation.setting(), _Counting() as counting:
        implementation.fill(batch)
        implementation.view(batch)
    return dict(counting.counts)
