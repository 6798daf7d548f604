"""What a runner loads in some of its modes: its slots, and what is written into each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeAlias, TypeVar

from torch import Tensor

from ullage_runtime.loader import Fill


class OfMode(Protocol):
    """A live batch, as far as it is not read by the names of slots."""

    @property
    def mode(self) -> Enum: ...


class Rows(Protocol):
    """The extents of a batch: its live rows, and its padded ones."""

    @property
    def rows(self) -> object: ...
    @property
    def padded(self) -> object: ...


LiveT = TypeVar("LiveT", bound=OfMode)
ExtentsT = TypeVar("ExtentsT", bound=Rows)
Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slot(Generic[LiveT, ExtentsT]):
    """One slot, and what a load writes into it.

    `field`: of the loaded batch; `storage`: the slot at its capacity, None where the
    configuration has none; `source`: the field of the live batch that is copied into its live
    rows; `fill`: what its other rows get, or what gives that for a batch and its extents, None
    where they are left; `is_number`: whether the fill is all that it holds; `optional`: whether
    it is left alone, and missing in the loaded batch, where a batch comes without the source;
    `carried_otherwise`: whether the loaded batch has the source itself where there is no storage.
    """

    field: str
    storage: Tensor | None
    source: str | None = None
    fill: Fill | Callable[[LiveT, ExtentsT], Fill] | None = None
    is_number: bool = False
    optional: bool = False
    carried_otherwise: bool = False


class SlotGroup(Generic[LiveT, ExtentsT]):
    """Slots that have one shape in every batch."""

    def __init__(
        self,
        shapes: Callable[[ExtentsT], tuple[Shape, Shape]],
        *slots: Slot[LiveT, ExtentsT],
    ) -> None:
        """`shapes`: of their live part, and of all of their rows, in elements."""
        self.shapes = shapes
        self.slots = tuple(slot for slot in slots if slot.storage is not None)
        self.carried = tuple(
            (slot.field, slot.source)
            for slot in slots
            if slot.storage is None and slot.carried_otherwise and slot.source is not None
        )


class SlotTable(Generic[LiveT, ExtentsT]):
    """The slots that are loaded in modes which load alike, by shape.

    `carried`: fields of the loaded batch that are those of the live one, there being no slots for
    them: names here and there.
    """

    def __init__(self, *groups: SlotGroup[LiveT, ExtentsT]) -> None:
        self.groups = tuple(group for group in groups if group.slots)
        self.carried = tuple(each for group in groups for each in group.carried)
