"""The reference loader: writes heads, tails and computed slots with torch, on any device.

Nothing here allocates tensor memory: heads and tails are views, and `copy_` and `fill_` write
through them. The caller has checked everything before (`ullage_runtime.checks`).
"""

from __future__ import annotations

from torch import Tensor

from ullage_runtime.storage import is_in_place

Fill = int | float | bool
"""A constant for every padded row of a slot."""


def load_rows(
    view: Tensor, source: Tensor | None, rows: int, fill: Fill | None = None, *, axis: int = 0
) -> None:
    """Write the live head of a slot, and its padded tail.

    `view`: the slot at its padded shape; `source`: the same shape but `rows` along `axis`, cast
    to the slot's dtype; not copied when it already lies there; None where no row is live.
    `fill`: see `fill_tail`.
    """
    if source is not None:
        head = view if view.shape[axis] == rows else view.narrow(axis, 0, rows)
        if not is_in_place(source, head):
            head.copy_(source)
    fill_tail(view, rows, fill, axis=axis)


def load_block(view: Tensor, source: Tensor | None, fill: Fill | None = None) -> None:
    """Like `load_rows`, for a slot with live and padded rows along more than one axis.

    Everything outside of the source's shape is tail; without a source all of the view is.
    """
    live = (0,) * view.dim() if source is None else tuple(source.shape)
    if source is not None:
        head = view.as_strided(live, view.stride(), view.storage_offset())
        if not is_in_place(source, head):
            head.copy_(source)
    for axis, rows in enumerate(live):
        fill_tail(view, rows, fill, axis=axis)


def fill_tail(view: Tensor, rows: int, fill: Fill | None, *, axis: int = 0) -> None:
    """Write `fill` into every row from `rows` on; None leaves the tail untouched.

    Enough by itself for a batch without a source, such as a padded idle one.
    """
    padding = view.shape[axis] - rows
    if fill is not None and padding > 0:
        view.narrow(axis, rows, padding).fill_(fill)


def write_scalar(view: Tensor, value: Fill) -> None:
    """Write a computed host value into every element of a slot, commonly of shape [1]."""
    view.fill_(value)
