"""The reference loader: writes heads, tails and computed slots with torch, on any device.

Nothing here allocates tensor memory: heads and tails are views, and `copy_` and `fill_` write
through them. The caller has checked everything before (`ullage_runtime.checks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from ullage_runtime.storage import is_in_place, padded_view

Fill = int | float | bool
"""A constant for every padded row of a slot."""


class SlotLoad(NamedTuple):
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

    @property
    def head(self) -> Tensor:
        """The live part of the view."""
        return self.view if self.view.shape == self.live else padded_view(self.view, *self.live)

    @property
    def tails(self) -> Iterator[Tensor]:
        """Parts of the view that together are all that is not live; none where that is left."""
        if self.fill is None:
            return
        inside = self.view
        for axis, (rows, padded) in enumerate(zip(self.live, self.view.shape, strict=True)):
            if rows < padded:
                yield inside.narrow(axis, rows, padded - rows)
                if not rows:
                    return
                inside = inside.narrow(axis, 0, rows)


def write_slot(load: SlotLoad, source: Tensor | None) -> None:
    """Write the live part of a slot, and everything around it.

    `source`: of the shape of the live part, cast to the slot's dtype; not copied when it already
    lies there; None where nothing is copied.
    """
    if source is not None:
        head = load.head
        if not is_in_place(source, head):
            head.copy_(source)
    if load.fill is not None:
        for tail in load.tails:
            tail.fill_(load.fill)
