"""What passes through a runner: the loads of each mode, their extents and their time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

from ullage_demo.seam import Batch
from ullage_generated.sglang import Mode


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


Statistics = defaultdict[Mode, LoadStatistics]
"""Statistics of every mode that was loaded."""
