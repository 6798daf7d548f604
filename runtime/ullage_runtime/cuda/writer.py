"""The writer for CUDA devices: all slots of a load in one launch of the runner's kernel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from ullage_runtime.arena_regions import Regions, addresses_of
from ullage_runtime.cuda.build import BuildError, kernel_library
from ullage_runtime.cuda.library import Open, opened
from ullage_runtime.load_plan import PreparedLoad, SlotLoad, Writer
from ullage_runtime.loader import Fill

_LOG = logging.getLogger(__name__)


def writer_for(kernel: Path, regions: Regions, otherwise: Writer) -> Writer:
    """The writer of a runner: its kernel where that can be had, else `otherwise`.

    `kernel`: the generated source; `regions`: of the runner. `otherwise` writes slots on the host
    in any case. The first call on a machine builds the kernel, which takes seconds; why there is
    none is said in the log. RuntimeError if the device refuses the kernel.
    """
    device = regions.compute.shared.arena.device
    if device.type != "cuda":
        return otherwise
    major, minor = torch.cuda.get_device_capability(device)
    try:
        library = kernel_library(kernel, f"{major}.{minor}")
    except BuildError as error:
        _LOG.warning("%s is loaded by torch, slot by slot: %s", kernel.stem, error)
        return otherwise
    return CudaWriter(opened(library), regions, otherwise)


class CudaWriter:
    """Writes slots on the device by one kernel, and those on the host by another writer.

    `open_kernel`: of the library built for the runner; `regions`: what must not be overwritten
    before it is read.
    """

    def __init__(self, open_kernel: Open, regions: Regions, host: Writer) -> None:
        device = regions.compute.shared.arena.device
        ranges = (addresses_of(arena.storage) for arena in regions.arenas)
        addresses = (address for each in ranges for address in each)
        self._device = device
        self._prepare = open_kernel(device.index or 0, *addresses)
        self._host = host

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """The load of every batch that is like the one of `sources`, which has been checked.

        Everything is worked out here; a call compares, fills in addresses and launches. Works
        while a graph is captured. ValueError if a step is none of the runner's slots.
        """
        # A source that lies on the host for a slot on the device would be staged here: a step of
        # its own that copies through pinned memory, before the kernel reads it.
        pairs = tuple(_with_sources(steps, sources))
        arguments = [argument for step, source in pairs for argument in _arguments(step, source)]
        load = self._prepare(*arguments)
        load.release_gil = False  # a launch is shorter than handing the lock over
        hosted = [
            (step, source) for step, source in pairs if step.view.device.type != self._device.type
        ]
        device_load = _DeviceLoad(load, pairs, self._device)
        if not hosted:
            return device_load
        host_sources = [source for _, source in hosted if source is not None]
        host_load = self._host.prepare([step for step, _ in hosted], host_sources)
        return _MixedLoad(device_load, host_load, tuple(_positions(pairs, self._device)))


class _DeviceLoad:
    """Looks at all sources, and writes the slots on the device."""

    def __init__(
        self,
        load: Callable[..., bool],
        pairs: Sequence[tuple[SlotLoad, Tensor | None]],
        device: torch.device,
    ) -> None:
        self._load = load
        self._views = [step.view for step, _ in pairs]  # the kernel knows but their addresses
        sources = [source for _, source in pairs if source is not None]
        # A negative view has the bytes of the positive one: only torch can tell.
        self._floating = [i for i, each in enumerate(sources) if each.is_floating_point()]
        streamed = any(source.device.type == device.type for source in sources)
        self._stream_of = [] if streamed else [torch.empty(0, device=device)]

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        if torch.is_grad_enabled():
            for each in sources:
                if each.requires_grad:
                    return False
        for position in self._floating:
            if sources[position].is_neg():
                return False
        try:
            return self._load(*sources, *self._stream_of)
        except RuntimeError:  # of tensors without an address, such as sparse and nested ones
            return False


class _MixedLoad:
    """Writes the slots on the device, and then those on the host while the device works.

    `positions`: of the sources for the host.
    """

    def __init__(
        self, device: PreparedLoad, host: PreparedLoad, positions: tuple[int, ...]
    ) -> None:
        self._device = device
        self._host = host
        self._positions = positions

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        # Sources for the host have been compared with the others by then: nothing is half done.
        return self._device(sources) and self._host([sources[i] for i in self._positions])


def _with_sources(
    steps: Iterable[SlotLoad], sources: Iterable[Tensor]
) -> Iterator[tuple[SlotLoad, Tensor | None]]:
    """Each step with its source. ValueError if there are more or fewer sources than steps take."""
    given = iter(sources)
    for step in steps:
        source = None if step.source is None else next(given, None)
        if source is None and step.source is not None:
            raise ValueError(f"There is no source for {step.source}.")
        yield step, source
    if next(given, None) is not None:
        raise ValueError("There are more sources than steps that take one.")


def _positions(
    pairs: Iterable[tuple[SlotLoad, Tensor | None]], device: torch.device
) -> Iterator[int]:
    taking = (step for step, source in pairs if source is not None)
    for position, step in enumerate(taking):
        if step.view.device.type != device.type:
            yield position


def _arguments(step: SlotLoad, source: Tensor | None) -> Iterator[object]:
    """A step as the kernel's `prepare` reads it: a view, numbers, and a source if there is one."""
    yield step.view
    yield from step.live or (0,) * step.view.dim()
    yield step.fill is not None
    yield 0 if step.fill is None else _bits(step.fill, step.view.dtype, str(step.fill))
    yield source is not None
    if source is not None:
        yield source


@lru_cache(maxsize=1024)
def _bits(fill: Fill, dtype: torch.dtype, spelled: str) -> int:
    """The bits of one element that torch has filled. `spelled`: 0.0 equals -0.0, in other bits."""
    element = torch.full((1,), fill, dtype=dtype)
    return int(element.view(_WHOLE[dtype.itemsize]).item())


_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
