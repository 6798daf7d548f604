"""Groups of ranks that are threads of one process, so that a hang is an error of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ullage_runtime.ranks import Gathered, GatheringRanks

T = TypeVar("T")
PATIENCE_SECONDS = 120.0


class Meeting:
    """Where the ranks of one group meet; a rank that never comes breaks it for the others."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.barrier = threading.Barrier(count)
        self.messages: list[tuple[str, tuple[int, ...]]] = [("", ())] * count
        self.exchanges = 0


class ThreadRanks(GatheringRanks):
    """One rank of a meeting; all ranks must be in the same collective."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting = meeting
        self.rank = rank
        self.count = meeting.count

    def exchange(self, message: tuple[int, ...], collective: str) -> Gathered:
        meeting = self.meeting
        meeting.messages[self.rank] = collective, message
        if meeting.barrier.wait(PATIENCE_SECONDS) == 0:
            meeting.exchanges += 1
        gathered = tuple(meeting.messages)
        meeting.barrier.wait(PATIENCE_SECONDS)
        assert {(name, len(row)) for name, row in gathered} == {(collective, len(message))}
        return tuple(row for _, row in gathered)


def at_once(calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """What each call returns or raises, each in a thread of its own."""
    with ThreadPoolExecutor(len(calls)) as threads:
        running = [threads.submit(call) for call in calls]
        return [each.exception() or each.result() for each in running]  # type: ignore[misc]  # no BaseException comes out of a call
