"""Along which axes there are live rows beside padded ones."""

from __future__ import annotations

from ullage.emit.model import EngineModel
from ullage.expr.tree import Name
from ullage.spec.model import Axis


def brought_axes(engine: EngineModel) -> tuple[Axis, ...]:
    """The axes that every batch brings."""
    return tuple(axis for axis in engine.axes if axis.is_brought)


def axes_of_sources(engine: EngineModel) -> tuple[Axis, ...]:
    """The axes that batches bring, and those that the source of some slot has rows along.

    Along others what an axis begins as are no rows that anybody has.
    """
    sources = (slot.shape for slot in engine.spec.slots if slot.source is not None)
    along = {each.name for shape in sources for each in shape if isinstance(each, Name)}
    return tuple(each for each in engine.axes if each.is_brought or each.name in along)


def differ(engine: EngineModel, rows: str, padded: str) -> str:
    """The condition that a batch has padded rows, along the axes that it brings."""
    if brought_axes(engine) == engine.axes:
        return f"{rows} != {padded}"
    return f"{rows}.brought != {padded}.brought"
