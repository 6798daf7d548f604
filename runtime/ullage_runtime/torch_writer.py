"""Loads of one shape with torch: all heads of a device in one grouped copy."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

import torch
from torch import Tensor

from ullage_runtime.loader import Fill, SlotLoad
from ullage_runtime.writers import PreparedLoad, ShapedLoad, SlotWriter, WrittenSlot, prepared

Copy: TypeAlias = Callable[[Sequence[Tensor]], None]
"""Writes on one device from all sources of a batch."""

_form: Final = attrgetter("shape", "dtype", "device")


class TorchWriter:
    """Writes slots with `torch._foreach_copy_`.

    `static`: the bytes of the arenas, as first addresses and those behind.
    """

    def __init__(self, static: Iterable[tuple[int, int]]) -> None:
        self._static = tuple((low, high) for low, high in static if low < high)

    def of(self, slots: Sequence[WrittenSlot], sources: Sequence[Tensor]) -> SlotWriter:
        """See `Writer`."""
        return _TorchSlots(slots, sources, self._static)

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """See `prepared`."""
        return prepared(self, steps, sources)


class _TorchSlots:
    """Writes slots from sources in the same types as the first ones."""

    def __init__(
        self,
        slots: Sequence[WrittenSlot],
        sources: Sequence[Tensor],
        static: tuple[tuple[int, int], ...],
    ) -> None:
        self._slots = tuple(slots_by_device(slots))
        self._groups = [slot.group for slot in slots if slot.source is not None]
        self._dtypes = [source.dtype for source in sources]
        self._devices = [source.device for source in sources]
        self._types = [type(source) for source in sources]
        self._floating = [at for at, source in enumerate(sources) if source.is_floating_point()]
        self._static = static

    def prepare(self, load: ShapedLoad, sources: Sequence[Tensor]) -> PreparedLoad | None:
        """See `SlotWriter`."""
        found = self._load_of(load)
        return found if found.takes(sources) else None

    def write(self, load: ShapedLoad, sources: Sequence[Tensor]) -> bool:
        """See `SlotWriter`."""
        return self._load_of(load)(sources)

    def _load_of(self, load: ShapedLoad) -> _TorchLoad:
        live = [load.shapes[group][0] for group in self._groups]
        forms = list(zip(live, self._dtypes, self._devices, strict=True))
        every = tuple(copies(load, self._slots))
        return _TorchLoad(every, forms, self._types, self._floating, self._static)


class _TorchLoad:
    """Compares sources with those of the first batch, then copies them."""

    __slots__ = ("_copies", "_floating", "_forms", "_static", "_types")

    def __init__(
        self,
        every: Sequence[Copy],
        forms: Sequence[tuple[tuple[int, ...], torch.dtype, torch.device]],
        types: Sequence[type],
        floating: Sequence[int],
        static: tuple[tuple[int, int], ...],
    ) -> None:
        """`every`: what copies; `forms`: shape, dtype and device of each source; `floating`: which
        are of floats."""
        self._forms = forms
        self._types = types
        self._floating = floating
        self._static = static
        self._copies = every

    def takes(self, sources: Sequence[Tensor]) -> bool:
        """Whether sources have the types and shapes that they should have."""
        try:
            return (
                list(map(_form, sources)) == self._forms and list(map(type, sources)) == self._types
            )
        except (AttributeError, RuntimeError):
            return False  # no tensors, or some without a shape: checks say which

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        if not self._is_alike(sources):
            return False
        for copy in self._copies:
            copy(sources)
        return True

    def _is_alike(self, sources: Sequence[Tensor]) -> bool:
        if not self.takes(sources):
            return False
        try:
            addresses = sorted(map(Tensor.data_ptr, sources))
        except RuntimeError:
            return False  # some are without memory: checks say which
        for low, high in self._static:
            if bisect_left(addresses, low) != bisect_left(addresses, high):
                return False
        if self._floating and torch.is_grad_enabled():
            return not any(sources[at].requires_grad for at in self._floating)
        return True


class SlotsOn(NamedTuple):
    """The slots on one device, and the sources that are copied into those that have one.

    `taken`: which of all sources, None for all of them.
    """

    is_cpu: bool
    slots: Sequence[WrittenSlot]
    taken: Sequence[int] | None


def slots_by_device(slots: Sequence[WrittenSlot]) -> Iterator[SlotsOn]:
    """The slots of each device."""
    sources = [slot for slot in slots if slot.source is not None]
    for device in dict.fromkeys(slot.storage.device for slot in slots):
        taken = [i for i, each in enumerate(sources) if each.storage.device == device]
        found = [slot for slot in slots if slot.storage.device == device]
        yield SlotsOn(device.type == "cpu", found, None if len(taken) == len(sources) else taken)


def copies(load: ShapedLoad, devices: Sequence[SlotsOn]) -> Iterator[Copy]:
    """For each device what copies its heads and fills its tails."""
    for is_cpu, slots, taken in devices:
        heads: list[Tensor] = []
        tails: dict[Fill, list[Tensor]] = {}  # zeros of any kind are one, as they are in memory
        for slot in slots:
            live, padded = load.shapes[slot.group]
            if live == padded and not slot.is_number:
                if slot.source is not None:
                    heads.append(load.views[slot.group][slot.position])
                continue
            step = load.of(slot)
            if step.source is not None:
                heads.append(step.head)
            if step.fill is not None:
                tails.setdefault(step.fill, []).extend(step.tails)
        yield from _writes(is_cpu, heads, taken, tails)


def _writes(
    is_cpu: bool,
    heads: list[Tensor],
    taken: Sequence[int] | None,
    tails: Mapping[Fill, list[Tensor]],
) -> Iterator[Copy]:
    if is_cpu and tails:
        # A constant in the same call is cheaper than a call of its own. A GPU would no longer
        # copy all in one kernel, which takes dense tensors of one dtype.
        filled = [(tail, fill) for fill, each in tails.items() for tail in each]
        constants = [_constant(fill, tail.dtype).expand_as(tail) for tail, fill in filled]
        if heads or filled:
            yield _copy([*heads, *(tail for tail, _ in filled)], taken, constants)
        return
    if heads:
        yield _copy(heads, taken, [])
    for fill, each in tails.items():
        yield _fill(each, fill)


@lru_cache(maxsize=256)
def _constant(fill: Fill, dtype: torch.dtype) -> Tensor:
    """One element on the host, which stands for as many as a tail has."""
    return torch.tensor(fill, dtype=dtype)


def _copy(written: list[Tensor], taken: Sequence[int] | None, constants: list[Tensor]) -> Copy:
    """`taken`: which of the sources are copied, None for all; `constants` follow them."""
    copy = torch._foreach_copy_
    if taken is None:
        return lambda sources: copy(written, [*sources, *constants])
    return lambda sources: copy(written, [*(sources[at] for at in taken), *constants])


def _fill(tails: list[Tensor], fill: Fill) -> Copy:
    if not fill:
        zero = torch._foreach_zero_
        return lambda _: zero(tails)

    def write(_: Sequence[Tensor]) -> None:
        for tail in tails:
            tail.fill_(fill)

    return write
