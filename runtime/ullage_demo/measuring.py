"""Counts what passes through a runner: the loads of each mode, their extents and their time."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

from ullage_demo.seam import Batch, LiveBatch, Mode, Runner


@dataclass(slots=True)
class LoadStatistics:
    """Loads of one mode; extents are padded ones, times in seconds."""

    largest_requests: int = 0
    largest_tokens: int = 0
    times: list[float] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return len(self.times)

    @property
    def median_time(self) -> float:
        return median(self.times) if self.times else 0.0

    def add(self, batch: Batch, seconds: float) -> None:
        self.largest_requests = max(self.largest_requests, batch.requests)
        self.largest_tokens = max(self.largest_tokens, batch.tokens)
        self.times.append(seconds)


class MeasuredRunner:
    """A runner that keeps `statistics` about the one it wraps."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.statistics: dict[Mode, LoadStatistics] = defaultdict(LoadStatistics)

    @property
    def max_requests(self) -> int:
        return self._runner.max_requests

    @property
    def max_tokens(self) -> int:
        return self._runner.max_tokens

    def load(self, live: LiveBatch) -> Batch:
        started = time.perf_counter()
        batch = self._runner.load(live)
        self.statistics[live.mode].add(batch, time.perf_counter() - started)
        return batch
