"""How tensors lie in memory: sizes, padded views, and whether a source is already in place."""

from __future__ import annotations

from collections.abc import Sequence
from operator import le

import torch
from torch import Tensor

from ullage_runtime.integers import align_up

ALIGNMENT = 256
"""Bytes. Every slot starts at a multiple of it, counted from the start of its arena."""


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * max(shape[axis], 1)
    return tuple(strides)


def spanned_bytes(
    shape: Sequence[int], dtype: torch.dtype, strides: Sequence[int] | None = None
) -> int:
    """Bytes from the first to the end of the last element; 0 when there is no element."""
    if 0 in shape:
        return 0
    steps = dense_strides(shape) if strides is None else strides
    last = sum((size - 1) * step for size, step in zip(shape, steps, strict=True))
    return (last + 1) * dtype.itemsize


def next_offset(offset: int, shape: Sequence[int], dtype: torch.dtype) -> int:
    """The first aligned byte offset behind a dense slot placed at `offset`."""
    return align_up(offset + spanned_bytes(shape, dtype), ALIGNMENT)


def padded_view(slot: Tensor, *shape: int) -> Tensor:
    """The leading `shape` of a slot, with the strides of its capacity.

    ValueError if the shape does not fit; capacities are checked with a better message before.
    """
    held = slot.shape
    fits = len(shape) == len(held) and all(map(le, shape, held)) and min(shape, default=0) >= 0
    if not fits:
        raise ValueError(f"A view of shape {shape} does not fit a slot of {tuple(slot.shape)}.")
    return slot.as_strided(shape, slot.stride(), slot.storage_offset())


def is_in_place(source: Tensor, slot: Tensor) -> bool:
    """Whether `source` is the head of `slot`: same storage, dtype and layout, nothing to copy."""
    return (
        source.data_ptr() == slot.data_ptr()
        and source.dtype is slot.dtype
        and source.device == slot.device
        and _same_layout(source, slot)
    )


def _same_layout(source: Tensor, slot: Tensor) -> bool:
    """Equal strides along every axis that the source steps over at least once."""
    if source.dim() != slot.dim():
        return False
    axes = zip(source.shape, source.stride(), slot.stride(), strict=True)
    return all(size <= 1 or step == slot_step for size, step, slot_step in axes)
