"""Arenas that runners share: the region of each runner, and who loaded into it last.

Runners that are never alive together have regions that overlap: what one of them loads, the other
one loses. Loads need to know nothing of that, since each writes everything that it exposes. Debug
mode counts loads as claims, so that a runner which still reads what another one has overwritten
is found, and so that guards between slots are looked at before somebody else overwrites them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import torch
from torch import Tensor

from ullage_runtime.arena import (
    GUARD_BYTES,
    Arena,
    Layout,
    SlotShape,
    Span,
    check_guards,
    guards_between,
    lay_out,
    set_guards,
)
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import DebugError
from ullage_runtime.storage import spanned_bytes


@dataclass(frozen=True, slots=True)
class RunnerLayout:
    """Where one runner's slots lie from its own start, for each device role.

    Those that are kept lie from a start of their own, where nobody else loads.
    """

    compute: Layout
    host: Layout
    kept_compute: Layout
    kept_host: Layout

    @classmethod
    def of(
        cls,
        compute: Sequence[SlotShape] = (),
        host: Sequence[SlotShape] = (),
        *,
        kept_compute: Sequence[SlotShape] = (),
        kept_host: Sequence[SlotShape] = (),
        debug: DebugOptions,
    ) -> RunnerLayout:
        """The slots of each role one after another, with guards between them in debug mode."""
        room = GUARD_BYTES if debug.canaries else 0
        groups = (compute, host, kept_compute, kept_host)
        return cls(*(lay_out(group, guard_bytes=room) for group in groups))


class SharedArena:
    """One allocation with a region for each runner. `debug` must be that of all its runners."""

    def __init__(
        self,
        device: torch.device | str,
        size_bytes: int,
        *,
        pinned: bool = False,
        debug: DebugOptions,
    ) -> None:
        self.arena = Arena(device, size_bytes, pinned=pinned)
        self.debug = debug
        self.regions: list[Region] = []
        self.claims = 0

    def region(self, runner: str, start: int, layout: Layout, *, kept: bool = False) -> Region:
        """Place a runner's slots from byte `start` on. ValueError if they leave the arena.

        `kept`: what they hold outlives the run of the runner.
        """
        placed = Region(self, runner, start, layout, kept=kept)
        if kept and not layout.slots:
            return placed
        self.regions.append(placed)
        if self.debug.claims:
            placed.claim()
        return placed


class Region:
    """The bytes [start, end) of an arena that the slots of one runner take."""

    def __init__(
        self,
        shared: SharedArena,
        runner: str,
        start: int,
        layout: Layout,
        *,
        kept: bool = False,
    ) -> None:
        self.shared = shared
        self.kept = kept
        self.runner = runner
        self.layout = layout
        self.start = start
        self.end = start + layout.size_bytes
        placed = zip(layout.slots, layout.offsets, strict=True)
        self._slots: dict[str, Tensor] = {
            slot.name: shared.arena.view(start + offset, slot.shape, slot.dtype, name=slot.name)
            for slot, offset in placed
        }
        self._guards = tuple(self._find_guards()) if shared.debug.canaries else ()
        self._claim = 0

    def slot(self, name: str) -> Tensor:
        """The slot of that name. KeyError if there is none."""
        return self._slots[name]

    def holds(self, tensor: Tensor) -> bool:
        """Whether a tensor of the arena's device begins in these bytes."""
        low = self.shared.arena.storage.data_ptr()
        return low + self.start <= tensor.data_ptr() < low + self.end

    @property
    def is_kept(self) -> bool:
        """Whether nobody has loaded into these bytes since this runner has, as claims tell."""
        return 0 < self._claim > max((each._claim for each in self._overlapping()), default=0)

    def claim(self) -> None:
        """Debug mode: take the bytes over. DebugError (U733) if a guard was overwritten before."""
        for region in self._overlapping():
            if region.is_kept:
                region.check_canaries()
        if self.is_kept:
            self.check_canaries()
        else:
            set_guards(self.shared.arena.storage, self._guards)
        self.shared.claims += 1
        self._claim = self.shared.claims

    def require_kept(self, since: int) -> None:
        """What was loaded here after claim `since` is still there. DebugError (U735) if not."""
        if self._claim <= since or self.is_kept:
            return
        others = (each.runner for each in self._overlapping() if each._claim > self._claim)
        raise DebugError(
            "U735",
            f"While the steps of runner {self.runner} ran, {', '.join(others)} loaded into the "
            "storage that they share, and what the steps read was lost. If both may be alive at "
            "once, the spec has to say so under 'concurrent'.",
        )

    def check_canaries(self) -> None:
        """Guards between the slots are intact. DebugError (U733) names the slots before others."""
        check_guards(self.shared.arena.storage, self._guards)

    def _overlapping(self) -> Iterator[Region]:
        for other in self.shared.regions:
            if other is not self and self.start < other.end and other.start < self.end:
                yield other

    def _find_guards(self) -> Iterator[Span]:
        spans: list[Span] = []
        for slot, offset in zip(self.layout.slots, self.layout.offsets, strict=True):
            start = self.start + offset
            end = start + spanned_bytes(slot.shape, slot.dtype)
            if end > start:
                spans.append(Span(start, end, slot.name))
        return guards_between(spans, Span(self.start, self.end, "0 (start of the runner)"))


Addresses = tuple[int, int]
"""The first address of an allocation, and the first behind it."""


def _addresses(storage: Tensor) -> Addresses:
    """None at all for an arena without memory, since tensors without any begin at 0 as well."""
    start = storage.data_ptr()
    return (start, start + storage.nbytes) if start else (0, 0)


@dataclass(frozen=True, slots=True)
class Regions:
    """What one runner has of the arena of each device role."""

    compute: Region
    host: Region
    kept_compute: Region
    kept_host: Region
    _addresses: tuple[Addresses, Addresses] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        compute, host = (_addresses(arena.storage) for arena in self.arenas)
        object.__setattr__(self, "_addresses", (compute, host))

    def __reduce__(self) -> NoReturn:
        """As `copy.deepcopy` and pickle ask. TypeError: a copy of the storage would lie elsewhere
        than the addresses say, which writers and graphs have as well."""
        raise TypeError("The storage of a runner cannot be copied or pickled; make another runner.")

    @property
    def device(self) -> torch.device:
        """Where slots lie that are not on the host."""
        return self.compute.shared.arena.device

    @classmethod
    def alone(
        cls, runner: str, layout: RunnerLayout, *, device: torch.device | str, debug: DebugOptions
    ) -> Regions:
        """Arenas that are the runner's own."""
        ends = layout.compute.size_bytes, layout.host.size_bytes
        compute = SharedArena(device, ends[0] + layout.kept_compute.size_bytes, debug=debug)
        host_bytes = ends[1] + layout.kept_host.size_bytes
        host = SharedArena("cpu", host_bytes, pinned=True, debug=debug)
        return cls.place(runner, layout, compute, host, starts=(0, 0), kept=ends)

    @classmethod
    def place(
        cls,
        runner: str,
        layout: RunnerLayout,
        compute: SharedArena,
        host: SharedArena,
        *,
        starts: tuple[int, int],
        kept: tuple[int, int] = (0, 0),
    ) -> Regions:
        """The regions of a runner in two arenas; `starts`: where they begin in each of them.

        `kept`: where the slots that are kept begin.
        """
        return cls(
            compute.region(runner, starts[0], layout.compute),
            host.region(runner, starts[1], layout.host),
            compute.region(runner, kept[0], layout.kept_compute, kept=True),
            host.region(runner, kept[1], layout.kept_host, kept=True),
        )

    @property
    def all(self) -> tuple[Region, ...]:
        """Every region of the runner."""
        kept = (each for each in (self.kept_compute, self.kept_host) if each.layout.slots)
        return self.compute, self.host, *kept

    @property
    def addresses(self) -> tuple[Addresses, Addresses]:
        """The bytes of the arenas."""
        return self._addresses

    def hold(self, tensor: Tensor) -> bool:
        """Whether a tensor lies in the arenas. RuntimeError for one without an address."""
        address = tensor.data_ptr()
        (low, high), (host_low, host_high) = self._addresses
        return low <= address < high or host_low <= address < host_high

    def lose(self, tensor: Tensor) -> bool:
        """Whether a load may overwrite a tensor: it is in the arenas, and not kept by another."""
        return self.hold(tensor) and not any(
            region.kept and region.holds(tensor) and region not in self.all
            for shared in (self.compute.shared, self.host.shared)
            for region in shared.regions
        )

    def offset_of(self, tensor: Tensor) -> int:
        """Where a tensor that the arenas hold begins in its own arena, in bytes."""
        address = tensor.data_ptr()
        return address - next(low for low, high in self._addresses if low <= address < high)

    @property
    def _layout(self) -> RunnerLayout:
        regions = (self.compute, self.host, self.kept_compute, self.kept_host)
        return RunnerLayout(*(region.layout for region in regions))

    @property
    def arenas(self) -> tuple[Arena, Arena]:
        """The arenas, which other runners may have regions in too."""
        return self.compute.shared.arena, self.host.shared.arena

    @property
    def claims(self) -> tuple[int, int]:
        """How many claims there were, for `require_kept`."""
        return self.compute.shared.claims, self.host.shared.claims

    def claim(self) -> None:
        """Debug mode: this runner is about to load. DebugError (U733) if a guard is broken."""
        for region in self.all:
            region.claim()

    def require_kept(self, since: tuple[int, int]) -> None:
        """Nobody has overwritten what was loaded after `since`. DebugError (U735) if so."""
        self.compute.require_kept(since[0])
        self.host.require_kept(since[1])

    def check_canaries(self) -> None:
        """Guards between the slots are intact. DebugError (U733) if not."""
        for region in self.all:
            region.check_canaries()

    def require_made_for(
        self, layout: RunnerLayout, *, device: torch.device, debug: DebugOptions
    ) -> None:
        """ValueError if the arenas were made for something else than what this runner is."""
        shared = self.compute.shared
        if self._layout != layout:
            problem = "another configuration"
        elif shared.arena.device.type != device.type:
            problem = f"device {shared.arena.device}"
        elif shared.debug.claims != debug.claims:
            problem = "another debug mode"
        else:
            return
        raise ValueError(f"The arenas of runner {self.compute.runner} are for {problem}.")
