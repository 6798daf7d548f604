"""What all scenarios share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ullage_demo.checks import Reference
from ullage_demo.model import build_reference, build_target
from ullage_demo.paged_kv import RequestTable
from ullage_demo.place import CPU, Place
from ullage_demo.schedule import Request, Scheduler
from ullage_demo.sizes import Sizes


@dataclass(frozen=True, slots=True)
class Demo:
    """`requests`: how many the plain scenario serves; others serve fewer.

    `alignment` pads each batch; `place`: of what is served, not of the reference; `student`: where
    each batch is computed once more, to be compared.
    """

    reference: Reference
    requests: int = 24
    alignment: int = 1
    place: Place = CPU
    student: Place | None = None

    @property
    def fewer(self) -> int:
        return max(4, self.requests // 2)


def build_demo(requests: int = 24, *, place: Place = CPU, student: Place | None = None) -> Demo:
    reference = Reference(build_reference(build_target(place.head_dim)))
    return Demo(reference, requests, place=place, student=student)


def build_scheduler(requests: Sequence[Request], table: RequestTable, sizes: Sizes) -> Scheduler:
    """A scheduler of an engine of these sizes, before its first step."""
    return Scheduler(
        requests, table, sizes.max_running, sizes.chunk, window=sizes.window, mixes=sizes.mixes
    )
