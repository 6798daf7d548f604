"""Loads of one shape with torch: all heads of a device in one grouped copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

import torch
from torch import Tensor

from ullage_runtime.load_plan import PreparedLoad
from ullage_runtime.loader import Fill, SlotLoad

_form: Final = attrgetter("shape", "dtype", "device")


class TorchWriter:
    """Writes slots with `torch._foreach_copy_`.

    `static`: the bytes of the arenas, as first addresses and those behind.
    """

    def __init__(self, static: Iterable[tuple[int, int]]) -> None:
        self._static = tuple((low, high) for low, high in static if low < high)

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """See `Writer`."""
        return _TorchLoad(steps, sources, self._static)


class _TorchLoad:
    """Compares sources with those of the first batch, then copies them."""

    __slots__ = ("_copies", "_floating", "_forms", "_static", "_types")

    def __init__(
        self,
        steps: Sequence[SlotLoad],
        sources: Sequence[Tensor],
        static: tuple[tuple[int, int], ...],
    ) -> None:
        self._forms = [_form(source) for source in sources]
        self._types = [type(source) for source in sources]
        self._floating = [at for at, source in enumerate(sources) if source.is_floating_point()]
        self._static = static
        self._copies = tuple(copies(steps))

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        if not self._is_alike(sources):
            return False
        for copy in self._copies:
            copy(sources)
        return True

    def _is_alike(self, sources: Sequence[Tensor]) -> bool:
        try:
            if list(map(_form, sources)) != self._forms or list(map(type, sources)) != self._types:
                return False
            addresses = list(map(Tensor.data_ptr, sources))
        except (AttributeError, RuntimeError):
            return False  # no tensors, or some without a shape or memory: checks say which
        for low, high in self._static:
            is_near = max(addresses, default=0) >= low and min(addresses, default=0) < high
            if is_near and any(low <= address < high for address in addresses):
                return False
        if self._floating and torch.is_grad_enabled():
            return not any(sources[at].requires_grad for at in self._floating)
        return True


def copies(steps: Sequence[SlotLoad]) -> Iterator[Callable[[Sequence[Tensor]], None]]:
    """For each device what copies its heads and fills its tails."""
    writes: dict[torch.device, _Writes] = {}
    position = 0
    for step in steps:
        device = step.view.device
        found = writes.get(device)
        if found is None:
            found = writes[device] = _Writes([], [], {})
        if step.source is not None:
            found.heads.append(step.head)
            found.taken.append(position)
            position += 1
        if step.fill is not None and step.live != step.view.shape:
            found.tails.setdefault(step.fill, []).extend(step.tails)
    for device, found in writes.items():
        taken = None if len(found.taken) == position else found.taken
        filled = [(tail, fill) for fill, tails in found.tails.items() for tail in tails]
        if device.type == "cpu":
            # A constant in the same call is cheaper than a call of its own. A GPU would no longer
            # copy all in one kernel, which takes dense tensors of one dtype.
            constants = [_constant(fill, tail.dtype).expand_as(tail) for tail, fill in filled]
            if found.heads or filled:
                yield _copy([*found.heads, *(tail for tail, _ in filled)], taken, constants)
            continue
        if found.heads:
            yield _copy(found.heads, taken, [])
        for fill, tails in found.tails.items():
            yield _fill(tails, fill)


@lru_cache(maxsize=256)
def _constant(fill: Fill, dtype: torch.dtype) -> Tensor:
    """One element on the host, which stands for as many as a tail has."""
    return torch.tensor(fill, dtype=dtype)


class _Writes(NamedTuple):
    """What is written on one device: heads from the sources at `taken`, and tails by their fill,
    where zeros of any kind are one, as they are in memory."""

    heads: list[Tensor]
    taken: list[int]
    tails: dict[Fill, list[Tensor]]


def _copy(
    written: list[Tensor], taken: list[int] | None, constants: list[Tensor]
) -> Callable[[Sequence[Tensor]], None]:
    """`taken`: which of the sources are copied, None for all; `constants` follow them."""
    copy = torch._foreach_copy_
    if taken is None:
        return lambda sources: copy(written, [*sources, *constants])
    return lambda sources: copy(written, [*(sources[at] for at in taken), *constants])


def _fill(tails: list[Tensor], fill: Fill) -> Callable[[Sequence[Tensor]], None]:
    if not fill:
        zero = torch._foreach_zero_
        return lambda _: zero(tails)

    def write(_: Sequence[Tensor]) -> None:
        for tail in tails:
            tail.fill_(fill)

    return write
