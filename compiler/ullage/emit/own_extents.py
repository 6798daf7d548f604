"""Extents of slots that belong to the extents of a batch, beside its rows."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.registry import follows_rows
from ullage.plan.model import Dimension, PlannedSlot


@dataclass(frozen=True, slots=True)
class OwnExtent:
    """An extent of a slot's own dimension that belongs to the extents of a batch."""

    slot: PlannedSlot
    position: int
    dimension: Dimension
    name: str

    @property
    def live(self) -> str:
        return f"live_{self.name}"


def own_extents(runner: RunnerModel) -> tuple[OwnExtent, ...]:
    """The dimensions of slots whose extent does not follow from padded rows."""
    return tuple(
        OwnExtent(slot, position, dimension, runner.capacity_field(dimension.target))
        for slot, position, dimension in runner.own_dimensions
        if dimension.target is not None and not follows_rows(runner, dimension.extent)
    )
