"""Ways to write slots, each of which is told once what stays the same from batch to batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from ullage_runtime.loader import Fill, SlotLoad
from ullage_runtime.slots import Shape


class PreparedLoad(Protocol):
    """Writes one batch after another of a single shape."""

    def __call__(self, sources: Sequence[Tensor], /) -> bool:
        """Write all slots from `sources`, one for each slot that has a source, in their order.

        False, with nothing written, if some source differs from the first batch's in dtype,
        device, shape or layout, requires gradients, or lies in static storage, where a load
        slot by slot has to look closer.
        """
        ...


@dataclass(frozen=True, slots=True)
class WrittenSlot:
    """What is written into one slot, whatever the shape of a batch.

    `storage`: the slot at its capacity; `group`: which of a batch's shapes is its, and
    `position`: which of the views of that shape; `source`: the field that is copied there;
    `fill`: what other rows get, None where they are left; `varying`: where the fill is another
    one for each shape, which of those that a shape brings; `is_number`: whether the fill is all
    that it holds; `is_bare`: whether its source is missing.
    """

    storage: Tensor
    group: int
    position: int
    source: str | None
    fill: Fill | None
    varying: int | None = None
    is_number: bool = False
    is_bare: bool = False


class ShapedLoad:
    """What loading batches of one shape writes.

    `slots`: which are written; `shapes`: for each group of slots their live and their padded
    shape; `views`: for each group its slots at the padded one; `fills`: of slots whose fill
    varies.
    """

    __slots__ = ("fills", "shapes", "slots", "views")

    def __init__(
        self,
        slots: Sequence[WrittenSlot],
        shapes: Sequence[tuple[Shape, Shape]],
        views: Sequence[Sequence[Tensor]],
        fills: Sequence[Fill],
    ) -> None:
        self.slots = slots
        self.shapes = shapes
        self.views = views
        self.fills = fills

    def of(self, slot: WrittenSlot) -> SlotLoad:
        """What is written into one slot."""
        view = self.views[slot.group][slot.position]
        live = (0,) * view.dim() if slot.is_number else self.shapes[slot.group][0]
        fill = slot.fill if slot.varying is None else self.fills[slot.varying]
        return SlotLoad(view, slot.source, live, fill)

    @property
    def loads(self) -> tuple[SlotLoad, ...]:
        """What is written, slot by slot."""
        return tuple(map(self.of, self.slots))


class SlotWriter(Protocol):
    """Writes batches that have the same sources, in the same types."""

    def prepare(self, load: ShapedLoad, sources: Sequence[Tensor]) -> PreparedLoad | None:
        """The load of every batch of a shape; None if `sources` are none that it is for.

        They are those of one such batch, in the order of slots. They may be unlike those that the
        writer was made with, or not of that shape.
        """
        ...

    def write(self, load: ShapedLoad, sources: Sequence[Tensor]) -> bool:
        """Write one batch, and keep nothing for others of its shape.

        False, with nothing written, where there is no such load, or it would answer that.
        """
        ...


class Writer(Protocol):
    """A way to write slots: torch's operations, or one kernel for all of them."""

    def of(self, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> SlotWriter:
        """What writes these slots from sources like these, which have been checked."""
        ...


def prepared(writer: Writer, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
    """What writes exactly these steps from sources like these.

    ValueError if a source is not the live part of its slot, or if there are more or fewer than
    the steps take.
    """
    wanted = sum(step.source is not None for step in steps)
    if wanted != len(sources):
        raise ValueError(f"There are {len(sources)} sources, and the steps take {wanted}.")
    slots = [WrittenSlot(step.view, i, 0, step.source, step.fill) for i, step in enumerate(steps)]
    shapes = [(step.live, tuple(step.view.shape)) for step in steps]
    shaped = ShapedLoad(slots, shapes, [(step.view,) for step in steps], ())
    load = writer.of(slots, sources).prepare(shaped, sources)
    if load is None:
        raise ValueError("A source is not the live part of its slot.")
    return load
