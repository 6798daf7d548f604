"""What one load writes, worked out once for a padded shape and then repeated for every batch of it.

A generated runner checks the first batch of a shape with all care and records here what loading it
writes. A later batch of the same shape is only compared: its sources have the same types, shapes
and places, so that whatever was checked holds for it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from ullage_runtime.loader import Fill


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """What a load writes into one slot: a source into its live rows, and a constant around them.

    `view`: the slot at its padded shape, with the strides of its capacity. `live`: the extents of
    the leading part of the view that is live; `source`: the field of the batch that is copied
    there, None where nothing is. `fill`: what everything else of the view gets, None where it is
    left as it is. A computed number has no live part: it fills the whole view.
    """

    view: Tensor
    source: str | None
    live: tuple[int, ...]
    fill: Fill | None


class PreparedLoad(Protocol):
    """Writes one batch after another of a single shape."""

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        """Write all slots from `sources`, one for each step that has a source, in their order.

        False, with nothing written, if some source differs from the first batch's in dtype,
        device, shape or layout, requires gradients, or lies in static storage other than at the
        head of its own slot. Sources already in place are not copied.
        """
        ...


class Writer(Protocol):
    """A way to write slots: torch's operations, or one kernel for all of them."""

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """The load of every batch that is like the one of `sources`, which has been checked."""
        ...
