"""What ranks do together, as immutable records."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.expr.tree import Aggregate
from ullage.place import Place

OPERATIONS: dict[str, tuple[Aggregate, ...]] = {
    "all_gather": ("max_ranks", "sum_ranks"),
    "all_gather_max": ("max_ranks",),
    "all_gather_sum": ("sum_ranks",),
}
"""What ranks do together, and what each of them then knows of all."""


@dataclass(frozen=True, slots=True)
class Collective:
    """What all ranks of `group` do together when the transform runs."""

    operation: str
    group: str
    place: Place
