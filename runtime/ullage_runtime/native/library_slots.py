"""Slots that a library writes: it is told of them once, then of each shape a few numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count

import torch
from torch import Tensor

from ullage_runtime.loader import Fill
from ullage_runtime.native.library import Load, TakeRecipe
from ullage_runtime.writers import PreparedLoad, ShapedLoad, WrittenSlot

_SOURCED, _FILLED, _VARYING, _NUMBER, _STAGED = 1, 2, 4, 8, 16
"""See Treatment in recipe.cuh."""


class LibrarySlots:
    """Writes the slots that a library was told of once."""

    def __init__(
        self,
        take: TakeRecipe,
        slots: Sequence[WrittenSlot],
        sources: Sequence[Tensor],
        staged: Collection[int] = (),
    ) -> None:
        """`staged`: the positions of sources on the host for slots on a device."""
        self._varying = [
            (slot.varying, slot.storage.dtype) for slot in slots if slot.varying is not None
        ]
        dimensions = {slot.group: slot.storage.dim() for slot in slots}
        self._groups = tuple(dimensions)
        self._storages = [slot.storage for slot in slots]
        # Whole numbers neither have gradients nor negative views, which only torch can tell.
        self._floating = [i for i, each in enumerate(sources) if each.is_floating_point()]
        numbers = _numbers(slots, dimensions, staged)
        self._take_shape = take(id(self._storages), id(sources), *numbers)
        self._take_shape.release_gil = False  # it looks at Python objects

    def prepare(self, load: ShapedLoad, sources: Sequence[Tensor]) -> PreparedLoad | None:
        """See `SlotWriter`."""
        found = self._take_shape(id(sources), True, *self._numbers_of(load))
        if found is None:
            return None
        found.release_gil = False
        return _load_of(found, self._storages, self._floating)

    def write(self, load: ShapedLoad, sources: Sequence[Tensor]) -> bool:
        """See `SlotWriter`."""
        if not _has_values(sources, self._floating):
            return False
        return self._take_shape(id(sources), False, *self._numbers_of(load)) is not None

    def _numbers_of(self, load: ShapedLoad) -> list[int]:
        numbers: list[int] = []
        for group in self._groups:
            live, padded = load.shapes[group]
            numbers += live
            numbers += padded
        for position, dtype in self._varying:
            numbers.append(_bits_of(load.fills[position], dtype))
        return numbers


def _load_of(load: Load, storages: Sequence[Tensor], floating: Sequence[int]) -> PreparedLoad:
    """What looks at all sources, and writes the slots on the device.

    `storages`: which the library has only the addresses of; `floating`: the sources of floats. A
    function, since calling an object of a class takes a tenth of a microsecond more.
    """

    def write(sources: Sequence[Tensor], /, _held: Sequence[Tensor] = storages) -> bool:
        return load(id(sources))

    def write_floating(sources: Sequence[Tensor], /) -> bool:
        return _has_values(sources, floating) and write(sources)

    return write_floating if floating else write


def _has_values(sources: Sequence[Tensor], floating: Sequence[int]) -> bool:
    """Whether sources are what lies in their memory, as far as torch alone can tell."""
    for position in floating:
        source = sources[position]
        if source.is_neg() or (source.requires_grad and torch.is_grad_enabled()):
            return False
    return True


def staged_positions(slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> tuple[int, ...]:
    """Which sources lie on the host, while their slots do not."""
    sourced = (slot for slot in slots if slot.source is not None)
    return tuple(
        at
        for at, (slot, source) in enumerate(zip(sourced, sources, strict=True))
        if source.is_cpu and not slot.storage.is_cpu
    )


def _numbers(
    slots: Sequence[WrittenSlot], dimensions: Mapping[int, int], staged: Collection[int]
) -> Iterator[int]:
    """The slots as the library reads them; `dimensions`: of each group, in their order."""
    first, end = {}, 0
    for group, axes in dimensions.items():
        first[group], end = end, end + 2 * axes
    position = count()
    for slot in slots:
        treatment = _NUMBER * slot.is_number
        if slot.source is not None:
            treatment += _SOURCED + _STAGED * (next(position) in staged)
        if slot.varying is not None:
            yield from (first[slot.group], treatment + _FILLED + _VARYING, end)
            end += 1
        elif slot.fill is None:
            yield from (first[slot.group], treatment, 0)
        else:
            bits = _bits_of(slot.fill, slot.storage.dtype)
            yield from (first[slot.group], treatment + _FILLED, bits)


def _bits_of(fill: Fill, dtype: torch.dtype) -> int:
    """The bits of one element that torch has filled."""
    if type(fill) is int and dtype in _LIMITS:
        low, high = _LIMITS[dtype]
        if low <= fill <= high:
            return fill
    # 0.0 equals -0.0, and has other bits.
    return _bits(fill, dtype, "" if isinstance(fill, int) else str(fill))


@lru_cache(maxsize=1024)
def _bits(fill: Fill, dtype: torch.dtype, spelled: str) -> int:
    """`spelled`: tells apart what is equal."""
    element = torch.full((1,), fill, dtype=dtype)
    return int(element.view(_WHOLE[dtype.itemsize]).item())


_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_LIMITS = {dtype: (torch.iinfo(dtype).min, torch.iinfo(dtype).max) for dtype in _WHOLE.values()}
