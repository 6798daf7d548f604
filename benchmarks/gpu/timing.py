"""Medians of ways to do one thing, which take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median

import torch

CALLS, TURNS = 200, 25

Way = Callable[[], object]


def host_microseconds(ways: Mapping[str, Way]) -> dict[str, float]:
    """Of one call, without waiting for the device."""
    return _medians(ways, CALLS, wait=False)


def round_microseconds(ways: Mapping[str, Way]) -> dict[str, float]:
    """Of one call, until the device is done with it."""
    return _medians(ways, 1, wait=True)


def _medians(ways: Mapping[str, Way], calls: int, *, wait: bool) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, way in ways.items():
            torch.cuda.synchronize()
            started = time.perf_counter()
            for _ in range(calls):
                way()
            if wait:
                torch.cuda.synchronize()
            found[name].append((time.perf_counter() - started) / calls * 1e6)
    torch.cuda.synchronize()
    return {name: round(median(times), 2) for name, times in found.items()}
