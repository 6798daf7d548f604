"""The writer by a library: all slots of a load in one launch of a kernel, or one call on a CPU."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from ullage_runtime.arena_regions import Regions
from ullage_runtime.loader import SlotLoad
from ullage_runtime.native.build import (
    BuildError,
    build_host_library,
    built_host_library,
    library_of,
)
from ullage_runtime.native.library import Open, opened
from ullage_runtime.native.library_slots import LibrarySlots, staged_positions
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
    device = regions.device
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
        device = regions.device
        addresses = [address for each in regions.addresses for address in each]
        self._is_cpu = device.type == "cpu"
        self._take = open_library(device.index or 0, *addresses)
        self._take_host = None if open_host is None else open_host(0, *addresses)

    def of(self, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> SlotWriter:
        """What writes these slots from sources like these, which have been checked.

        What all batches have in common is worked out here, what all batches of one shape have in
        its `prepare`: a load compares, fills in addresses and launches. Works while a graph is
        captured, if all sources are on the device. ValueError, there, for what no slot of the
        runner is copied from.
        """
        staged = staged_positions(slots, sources)
        device = LibrarySlots(self._take, slots, sources, staged)
        hosted = [slot for slot in slots if slot.storage.is_cpu is not self._is_cpu]
        if not hosted:
            return device
        sourced = [slot for slot in slots if slot.source is not None]
        positions = [
            at for at, slot in enumerate(sourced) if slot.storage.is_cpu is not self._is_cpu
        ]
        if self._take_host is None:
            return _MixedSlots(device, _HostSlots(hosted), positions)
        host = LibrarySlots(self._take_host, hosted, [sources[i] for i in positions])
        return _MixedSlots(device, host, positions)

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """See `prepared`."""
        return prepared(self, steps, sources)


class _HostSlots:
    """Writes slots on the host by torch."""

    def __init__(self, slots: Sequence[WrittenSlot]) -> None:
        self._slots = tuple(slots_by_device(slots))

    def prepare(self, load: ShapedLoad, sources: Sequence[Tensor]) -> PreparedLoad:
        """See `SlotWriter`; the sources were looked at with those for the device."""
        every = tuple(copies(load, self._slots))

        def write(sources: Sequence[Tensor]) -> bool:
            for copy in every:
                copy(sources)
            return True

        return write

    def write(self, load: ShapedLoad, sources: Sequence[Tensor]) -> bool:
        """See `SlotWriter`; the same is true of these sources."""
        return self.prepare(load, sources)(sources)


class _MixedSlots:
    """Writes slots on the device, and others on the host from the sources at `positions`."""

    def __init__(self, device: SlotWriter, host: SlotWriter, positions: Sequence[int]) -> None:
        self._device = device
        self._host = host
        self._positions = positions

    def prepare(self, load: ShapedLoad, sources: Sequence[Tensor]) -> PreparedLoad | None:
        """See `SlotWriter`."""
        host = self._host.prepare(load, self._hosted(sources))
        device = None if host is None else self._device.prepare(load, sources)
        if device is None or host is None:
            return None
        return _MixedLoad(device, host, self._positions)

    def write(self, load: ShapedLoad, sources: Sequence[Tensor]) -> bool:
        """See `SlotWriter`."""
        # The device's looks at the sources for the host too: nothing is half done.
        return self._device.write(load, sources) and self._host.write(load, self._hosted(sources))

    def _hosted(self, sources: Sequence[Tensor]) -> list[Tensor]:
        return [sources[at] for at in self._positions]


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
