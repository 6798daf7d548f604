"""One allocation per device, and the slots placed in it.

Offsets come from the compiler's plan (`Arena.view`), or slots are placed one after another
(`lay_out`, `Arena.holding`). In debug mode every byte that no slot owns is a guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from ullage_runtime.errors import DebugError
from ullage_runtime.integers import align_up
from ullage_runtime.storage import ALIGNMENT, dense_strides, next_offset, spanned_bytes

GUARD_BYTES = ALIGNMENT
GUARD_VALUE = 0xA5


@dataclass(frozen=True, slots=True)
class SlotShape:
    """A slot to place: its capacity shape in elements, and its dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Layout:
    """Where slots lie. `offsets`: bytes, aligned, in slot order; `size_bytes`: of the arena."""

    slots: tuple[SlotShape, ...]
    offsets: tuple[int, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes [start, end) of an arena that the slot `name` owns."""

    start: int
    end: int
    name: str


def lay_out(slots: Sequence[SlotShape], *, guard_bytes: int = 0) -> Layout:
    """Place slots one after another, `guard_bytes` of room behind each.

    ValueError if a name appears twice.
    """
    names = [slot.name for slot in slots]
    if len(set(names)) != len(names):
        raise ValueError(f"Slot names must differ, and these do not: {', '.join(names)}.")
    offset = 0
    offsets: list[int] = []
    for slot in slots:
        offsets.append(offset)
        offset = align_up(next_offset(offset, slot.shape, slot.dtype) + guard_bytes, ALIGNMENT)
    return Layout(tuple(slots), tuple(offsets), offset)


class Arena:
    """One zeroed allocation of bytes, handed out as typed views that never move.

    `device`: of all slots; `pinned`: page-locked host memory, where CUDA exists; `canaries`:
    remember what slots own so that `set_canaries` and `check_canaries` can guard the rest.
    """

    def __init__(
        self,
        device: torch.device | str,
        size_bytes: int,
        *,
        pinned: bool = False,
        canaries: bool = False,
    ) -> None:
        if size_bytes < 0:
            raise ValueError(f"An arena cannot have {size_bytes} bytes.")
        pin = pinned and torch.device(device).type == "cpu" and torch.cuda.is_available()
        # A tensor born in inference mode could never be written outside of it.
        with torch.inference_mode(False):
            self.storage: Tensor = torch.zeros(
                size_bytes, dtype=torch.uint8, device=device, pin_memory=pin
            )
        self.device: torch.device = self.storage.device
        self.size_bytes = size_bytes
        self._canaries = canaries
        self._spans: list[Span] = []
        self._slots: dict[str, Tensor] = {}

    @classmethod
    def holding(
        cls,
        slots: Sequence[SlotShape],
        device: torch.device | str,
        *,
        pinned: bool = False,
        canaries: bool = False,
    ) -> Arena:
        """An arena just large enough for `slots`, each of which `slot(name)` then returns."""
        layout = lay_out(slots, guard_bytes=GUARD_BYTES if canaries else 0)
        arena = cls(device, layout.size_bytes, pinned=pinned, canaries=canaries)
        for slot, offset in zip(layout.slots, layout.offsets, strict=True):
            arena.view(offset, slot.shape, slot.dtype, name=slot.name)
        arena.set_canaries()
        return arena

    def view(
        self,
        offset: int,
        shape: Sequence[int],
        dtype: torch.dtype,
        *,
        name: str = "",
        strides: Sequence[int] | None = None,
    ) -> Tensor:
        """A slot at byte `offset`. `strides`: in elements, dense if left out.

        Slots may overlap: that is how a plan shares storage. ValueError if the slot is not
        aligned, has a negative size, or leaves the arena.
        """
        steps = dense_strides(shape) if strides is None else tuple(strides)
        self._require_room(name, offset, shape, dtype, steps)
        end = offset + spanned_bytes(shape, dtype, steps)
        with torch.inference_mode(False):
            slot = self.storage[offset:end].view(dtype).as_strided(tuple(shape), steps)
        if self._canaries and end > offset:
            self._spans.append(Span(offset, end, name or f"at byte {offset}"))
        if name:
            self._slots[name] = slot
        return slot

    def slot(self, name: str) -> Tensor:
        """The slot that was placed under `name`. KeyError if there is none."""
        return self._slots[name]

    def owns(self, tensor: Tensor) -> bool:
        """Whether a tensor lies in this arena's allocation."""
        same = tensor.untyped_storage().data_ptr() == self.storage.untyped_storage().data_ptr()
        return same and tensor.device == self.device and self.size_bytes > 0

    def set_canaries(self) -> None:
        """Write the guard pattern to every byte that no slot owns. Does nothing without canaries.

        For slots placed with `view`, call it once after the last.
        """
        if self._canaries:
            set_guards(self.storage, self._guards())

    def check_canaries(self) -> None:
        """Find guards that were overwritten. DebugError (U733) names the slots before them."""
        if self._canaries:
            check_guards(self.storage, self._guards())

    def _require_room(
        self,
        name: str,
        offset: int,
        shape: Sequence[int],
        dtype: torch.dtype,
        strides: Sequence[int],
    ) -> None:
        what = f"Slot {name}" if name else "A slot"
        if offset < 0 or offset % ALIGNMENT != 0:
            raise ValueError(f"{what} at byte {offset} is not aligned to {ALIGNMENT} bytes.")
        if len(strides) != len(shape) or any(size < 0 for size in (*shape, *strides)):
            raise ValueError(f"{what} cannot have shape {tuple(shape)} and strides {strides}.")
        end = offset + spanned_bytes(shape, dtype, strides)
        if end > self.size_bytes:
            raise ValueError(
                f"{what} ends at byte {end}, but the arena has {self.size_bytes} bytes."
            )

    def _guards(self) -> Iterator[Span]:
        return guards_between(self._spans, Span(0, self.size_bytes, "0 (start of the arena)"))


def guards_between(spans: Iterable[Span], whole: Span) -> Iterator[Span]:
    """What lies between, behind and before `spans`, named by the one in front of it.

    `whole`: the bytes to look at, under the name of what lies before the first of them.
    """
    edges = [Span(whole.start, whole.start, whole.name), *sorted(spans, key=_start)]
    edges.append(Span(whole.end, whole.end, ""))
    covered = edges[0]
    for before, after in pairwise(edges):
        covered = max(covered, before, key=_end)
        if after.start > covered.end:
            yield Span(covered.end, after.start, covered.name)


def set_guards(storage: Tensor, guards: Iterable[Span]) -> None:
    """Write the guard pattern. `storage`: all bytes of an arena."""
    for guard in guards:
        storage[guard.start : guard.end].fill_(GUARD_VALUE)


def check_guards(storage: Tensor, guards: Iterable[Span]) -> None:
    """Find guards that were overwritten. DebugError (U733) names the slots before them."""
    broken = [
        f"{guard.name} (byte {guard.start + position})"
        for guard in guards
        if (position := _first_difference(storage[guard.start : guard.end])) is not None
    ]
    if broken:
        raise DebugError(
            "U733",
            f"A guard of the arena on {storage.device} was overwritten behind slot "
            f"{', behind slot '.join(broken)}.",
        )


def _start(span: Span) -> int:
    return span.start


def _end(span: Span) -> int:
    return span.end


def _first_difference(guard: Tensor) -> int | None:
    different = guard != GUARD_VALUE
    return int(different.to(torch.uint8).argmax()) if bool(different.any()) else None
