"""What a runner captures graphs for."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.place import Place


@dataclass(frozen=True, slots=True)
class Capture:
    """Batches of one mode replay the graphs that a runner captures with batches of `mode`.

    `replay` may be a family: all its modes that the runner serves.
    """

    mode: str
    replay: str
    place: Place
