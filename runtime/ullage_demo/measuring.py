"""What passes through a runner: the loads of each mode, their extents and their time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median

from ullage_demo.seam import Batch
from ullage_generated.sglang import Mode


@dataclass(slots=True)
class LoadStatistics:
    """Loads of one mode; `shapes` are padded requests and tokens, `times` seconds."""

    shapes: list[tuple[int, int]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return len(self.times)

    @property
    def largest_requests(self) -> int:
        return max((requests for requests, _ in self.shapes), default=0)

    @property
    def largest_tokens(self) -> int:
        return max((tokens for _, tokens in self.shapes), default=0)

    @property
    def median_time(self) -> float:
        return median(self.times) if self.times else 0.0

    def add(self, batch: Batch, seconds: float) -> None:
        self.shapes.append((batch.requests, batch.tokens))
        self.times.append(seconds)


Statistics = defaultdict[Mode, LoadStatistics]
"""Statistics of every mode that was loaded."""
