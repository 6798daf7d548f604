"""The writer by a library: all slots of a load in one launch of a kernel, or one call on a CPU."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from ullage_runtime.arena_regions import Regions
from ullage_runtime.loader import Fill, SlotLoad
from ullage_runtime.native.build import (
    BuildError,
    build_host_library,
    built_host_library,
    library_of,
)
from ullage_runtime.native.library import Load, Open, TakeRecipe, opened
from ullage_runtime.native.staging import Stage, StagedSlots, StreamEvent, staged_positions
from ullage_runtime.native.targets import CudaTarget
from ullage_runtime.torch_writer import TorchWriter, copies, slots_by_device
from ullage_runtime.writers import (
    PreparedLoad,
    ShapedLoad,
    SlotWriter,
    Writer,
    WrittenSlot,
    prepared,
)

_LOG = logging.getLogger(__name__)


HOST_DIMENSIONS: Final = 8
"""The most dimensions that the library of a CPU takes."""


def writer_for(module: str, regions: Regions) -> Writer:
    """The writer of a runner: by a library where that can be had, else by torch.

    `module`: the file of the runner's module, which has a folder `kernels` beside it; `regions`:
    of the runner. On a CUDA device the first call on a machine builds the kernel, which takes
    seconds; why there is none is said in the log. On a CPU the library is only used where somebody
    has built it ahead. LaunchError if the device refuses the kernel.
    """
    device = regions.compute.shared.arena.device
    if device.type == "cuda" and (kernel := _kernel(Path(module), device)) is not None:
        return LibraryWriter(kernel, regions, _host_library(regions, build_host_library))
    if device.type == "cpu" and (library := _host_library(regions, built_host_library)) is not None:
        return LibraryWriter(library, regions)
    return TorchWriter(regions.addresses)


def _kernel(module: Path, device: torch.device) -> Open | None:
    kernel = module.parent / "kernels" / f"{module.stem}.cu"
    major, minor = torch.cuda.get_device_capability(device)
    try:
        return opened(library_of(kernel, CudaTarget(f"{major}.{minor}")))
    except BuildError as error:
        _LOG.warning("%s is loaded by torch, slot by slot: %s", kernel.stem, error)
        return None


def _host_library(regions: Regions, find: Callable[[], Path | None]) -> Open | None:
    shapes = (slot.shape for region in regions.all for slot in region.layout.slots)
    if any(len(shape) > HOST_DIMENSIONS for shape in shapes):
        return None
    try:
        library = find()
        return None if library is None else opened(library)
    except BuildError as error:
        _LOG.warning("the library of the CPU is not used: %s", error)
        return None


class LibraryWriter:
    """Writes slots by libraries: on a device by one kernel, then those on the host.

    On a CPU all slots are on the device.

    `open_library`: of the library built for the runner; `regions`: what must not be overwritten
    before it is read; `open_host`: of the library of a CPU, without which torch writes there.
    """

    def __init__(self, open_library: Open, regions: Regions, open_host: Open | None = None) -> None:
        device = regions.compute.shared.arena.device
        addresses = [address for each in regions.addresses for address in each]
        self._is_cpu = device.type == "cpu"
        self._take = open_library(device.index or 0, *addresses)
        self._take_host = None if open_host is None else open_host(0, *addresses)
        self._device = _Taken(self._take)
        # Into memory of its own, where no source lies.
        self._pack = TorchWriter(()) if open_host is None else _Taken(open_host(0))
        self._stage = Stage(
            device, partial(StreamEvent, device), torch.cuda.is_current_stream_capturing
        )

    def of(self, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> SlotWriter:
        """What writes these slots from sources like these, which have been checked.

        What all batches have in common is worked out here, what all batches of one shape have in
        its `prepare`: a load compares, fills in addresses and launches. Works while a graph is
        captured, if all sources are on the device. ValueError, there, for what no slot of the
        runner is copied from.
        """
        device = self._on_device(slots, sources)
        hosted = [slot for slot in slots if slot.storage.is_cpu is not self._is_cpu]
        if not hosted:
            return device
        sourced = [slot for slot in slots if slot.source is not None]
        positions = [
            at for at, slot in enumerate(sourced) if slot.storage.is_cpu is not self._is_cpu
        ]
        if self._take_host is None:
            return _MixedSlots(device, _HostSlots(hosted), positions)
        host = _LibrarySlots(self._take_host, hosted, [sources[i] for i in positions])
        return _MixedSlots(device, host, positions)

    def _on_device(self, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> SlotWriter:
        """What writes the slots on the device, from sources there and on the host."""
        waiting = staged_positions(slots, sources)
        if not waiting:
            return self._device.of(slots, sources)
        return StagedSlots(self._stage, waiting, slots, sources, pack=self._pack, load=self._device)

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """See `prepared`."""
        return prepared(self, steps, sources)


class _Taken:
    """Writes by one library."""

    def __init__(self, take: TakeRecipe) -> None:
        self._take = take

    def of(self, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> SlotWriter:
        """See `Writer`."""
        return _LibrarySlots(self._take, slots, sources)


_SOURCED, _FILLED, _VARYING, _NUMBER = 1, 2, 4, 8
"""See Treatment in recipe.cuh."""


class _LibrarySlots:
    """Writes the slots that a library was told of once."""

    def __init__(
        self, take: TakeRecipe, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]
    ) -> None:
        self._varying = [
            (slot.varying, slot.storage.dtype) for slot in slots if slot.varying is not None
        ]
        dimensions = {slot.group: slot.storage.dim() for slot in slots}
        self._groups = tuple(dimensions)
        self._storages = [slot.storage for slot in slots]
        # Whole numbers neither have gradients nor negative views, which only torch can tell.
        self._floating = [i for i, each in enumerate(sources) if each.is_floating_point()]
        numbers = _numbers(slots, dimensions)
        self._prepare = take(id(self._storages), id(sources), *numbers)
        self._prepare.release_gil = False  # it looks at Python objects

    def prepare(
        self, load: ShapedLoad, sources: Sequence[Tensor], *, writes: bool = False
    ) -> PreparedLoad | None:
        """See `SlotWriter`."""
        if writes and not _has_values(sources, self._floating):
            return None
        numbers: list[int] = []
        for group in self._groups:
            live, padded = load.shapes[group]
            numbers += live
            numbers += padded
        for position, dtype in self._varying:
            numbers.append(_bits_of(load.fills[position], dtype))
        found = self._prepare(id(sources), writes, *numbers)
        if found is None:
            return None
        found.release_gil = False
        return _DeviceLoad(found, self._storages, self._floating)


class _HostSlots:
    """Writes slots on the host by torch."""

    def __init__(self, slots: Sequence[WrittenSlot]) -> None:
        self._slots = tuple(slots_by_device(slots))

    def prepare(
        self, load: ShapedLoad, sources: Sequence[Tensor], *, writes: bool = False
    ) -> PreparedLoad:
        """See `SlotWriter`; the sources were looked at with those for the device."""
        every = tuple(copies(load, self._slots))

        def write(sources: Sequence[Tensor]) -> bool:
            for copy in every:
                copy(sources)
            return True

        if writes:
            write(sources)
        return write


class _MixedSlots:
    """Writes slots on the device, and others on the host from the sources at `positions`."""

    def __init__(self, device: SlotWriter, host: SlotWriter, positions: Sequence[int]) -> None:
        self._device = device
        self._host = host
        self._positions = positions

    def prepare(
        self, load: ShapedLoad, sources: Sequence[Tensor], *, writes: bool = False
    ) -> PreparedLoad | None:
        """See `SlotWriter`."""
        hosted = [sources[i] for i in self._positions]
        host = self._host.prepare(load, hosted)
        device = None if host is None else self._device.prepare(load, sources, writes=writes)
        if device is None or host is None or (writes and not host(hosted)):
            return None
        return _MixedLoad(device, host, self._positions)


class _DeviceLoad:
    """Looks at all sources, and writes the slots on the device.

    `storages`: which the kernel has only the addresses of; `floating`: the sources of floats.
    """

    __slots__ = ("_floating", "_load", "_storages")

    def __init__(self, load: Load, storages: Sequence[Tensor], floating: Sequence[int]) -> None:
        self._load = load
        self._storages = storages
        self._floating = floating

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        return _has_values(sources, self._floating) and self._load(id(sources))


def _has_values(sources: Sequence[Tensor], floating: Sequence[int]) -> bool:
    """Whether sources are what lies in their memory, as far as torch alone can tell."""
    for position in floating:
        source = sources[position]
        if source.is_neg() or (source.requires_grad and torch.is_grad_enabled()):
            return False
    return True


class _MixedLoad:
    """Writes the slots on the device, and then those on the host while the device works.

    `host`: what writes there, from the sources at `positions`.
    """

    __slots__ = ("_device", "_host", "_positions")

    def __init__(self, device: PreparedLoad, host: PreparedLoad, positions: Sequence[int]) -> None:
        self._device = device
        self._host = host
        self._positions = positions

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        # Those for the host were compared with the others: nothing is half done.
        return self._device(sources) and self._host([sources[at] for at in self._positions])


def _numbers(slots: Sequence[WrittenSlot], dimensions: Mapping[int, int]) -> Iterator[int]:
    """The slots as the library reads them; `dimensions`: of each group, in their order."""
    first, end = {}, 0
    for group, count in dimensions.items():
        first[group], end = end, end + 2 * count
    for slot in slots:
        treatment = _SOURCED * (slot.source is not None) + _NUMBER * slot.is_number
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
