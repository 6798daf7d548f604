"""The writer by a library: all slots of a load in one launch of a kernel, or one call on a CPU."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from ullage_runtime.arena_regions import Regions
from ullage_runtime.load_plan import PreparedLoad, Writer
from ullage_runtime.loader import Fill, SlotLoad
from ullage_runtime.native.build import (
    BuildError,
    build_host_library,
    built_host_library,
    library_of,
)
from ullage_runtime.native.library import Load, Open, Prepare, opened
from ullage_runtime.native.targets import CudaTarget
from ullage_runtime.torch_writer import TorchWriter, copies

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
        self._prepare = open_library(device.index or 0, *addresses)
        self._prepare_host = None if open_host is None else open_host(0, *addresses)

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """The load of every batch that is like the one of `sources`, which has been checked.

        Everything is worked out here; a call compares, fills in addresses and launches. Works
        while a graph is captured. ValueError if a step is none of the runner's slots.
        """
        # A source that lies on the host for a slot on the device would be staged here: a step of
        # its own that copies through pinned memory, before the kernel reads it.
        _require_counted(steps, sources)
        device_load = _prepared(self._prepare, steps, sources)
        hosted = [step for step in steps if step.view.is_cpu is not self._is_cpu]
        if not hosted:
            return device_load
        positions = [i for i, each in enumerate(sources) if each.is_cpu is not self._is_cpu]
        if self._prepare_host is None:
            return _MixedLoad(device_load, _together(copies(hosted)), positions)
        host_load = _prepared(self._prepare_host, hosted, [sources[i] for i in positions])
        return _MixedLoad(device_load, host_load, positions)


def _prepared(
    prepare: Prepare, steps: Sequence[SlotLoad], sources: Sequence[Tensor]
) -> _DeviceLoad:
    views = [step.view for step in steps]
    numbers = [number for step in steps for number in _numbers(step)]
    load = prepare(id(views), id(sources), *numbers)
    load.release_gil = False  # it looks at Python objects
    return _DeviceLoad(load, views, sources)


def _together(copies: Iterable[Callable[[Sequence[Tensor]], None]]) -> PreparedLoad:
    """Copies by torch, which have nothing to look at any more."""
    every = tuple(copies)

    def write(sources: Sequence[Tensor]) -> bool:
        for copy in every:
            copy(sources)
        return True

    return write


class _DeviceLoad:
    """Looks at all sources, and writes the slots on the device.

    `views`: which the kernel has only the addresses of.
    """

    __slots__ = ("_floating", "_load", "_views")

    def __init__(self, load: Load, views: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
        self._load = load
        self._views = views
        # Whole numbers neither have gradients nor negative views, which only torch can tell.
        self._floating = [i for i, each in enumerate(sources) if each.is_floating_point()]

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        for position in self._floating:
            source = sources[position]
            if source.is_neg() or (source.requires_grad and torch.is_grad_enabled()):
                return False
        return self._load(id(sources))


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


def _require_counted(steps: Iterable[SlotLoad], sources: Sequence[Tensor]) -> None:
    """ValueError if there are more or fewer sources than steps take."""
    wanted = sum(step.source is not None for step in steps)
    if wanted != len(sources):
        raise ValueError(f"There are {len(sources)} sources, and the steps take {wanted}.")


def _numbers(step: SlotLoad) -> tuple[int, ...]:
    """A step as the kernel's `prepare` reads it."""
    view, fill = step.view, step.fill
    sourced = step.source is not None
    if fill is None:
        return *step.live, False, 0, sourced
    # 0.0 equals -0.0, and has other bits.
    bits = _bits(fill, view.dtype, "" if isinstance(fill, int) else str(fill))
    return *step.live, True, bits, sourced


@lru_cache(maxsize=1024)
def _bits(fill: Fill, dtype: torch.dtype, spelled: str) -> int:
    """The bits of one element that torch has filled. `spelled`: tells apart what is equal."""
    element = torch.full((1,), fill, dtype=dtype)
    return int(element.view(_WHOLE[dtype.itemsize]).item())


_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
