"""Random loads for any writer, and what torch's loader makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from ullage_runtime.arena import Arena, SlotShape
from ullage_runtime.arena_regions import Regions, RunnerLayout
from ullage_runtime.debug import DebugOptions
from ullage_runtime.loader import Fill, SlotLoad, write_slot
from ullage_runtime.storage import padded_view

WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES = (torch.bool, *WHOLE, *FLOATING)
LAYOUTS = ("dense", "misaligned", "strided", "transposed", "cut", "in_place")


@dataclass(frozen=True, slots=True)
class Case:
    """One slot and its load. `live` is None for a number that load computes.

    `layout`: how the source lies in memory; `sourced`: False where a step writes the live part.
    """

    capacity: tuple[int, ...]
    padded: tuple[int, ...]
    live: tuple[int, ...] | None
    dtype: torch.dtype
    source_dtype: torch.dtype
    layout: str
    sourced: bool
    fill: Fill | None

    @property
    def has_source(self) -> bool:
        return self.sourced and self.live is not None


@st.composite
def cases(draw: st.DrawFn, largest: int = 40, dtypes: Sequence[torch.dtype] = DTYPES) -> Case:
    """Any load of one slot with up to `largest` elements along its longest axis."""
    dimensions = draw(st.integers(1, 3))
    longest = draw(st.integers(0, dimensions - 1))
    rooms = (largest if axis == longest else 6 for axis in range(dimensions))
    capacity = tuple(draw(st.integers(1, room)) for room in rooms)
    padded = tuple(draw(st.integers(0, held)) for held in capacity)
    live = tuple(draw(st.integers(0, size)) for size in padded)
    dtype = draw(st.sampled_from(dtypes))
    source_dtype = draw(st.one_of(st.just(dtype), st.sampled_from(dtypes)))
    layout = draw(st.sampled_from(LAYOUTS))
    is_computed = draw(st.integers(0, 9)) == 0
    fill = draw(st.one_of(st.none(), fills(dtype)))
    if is_computed:
        fill = draw(fills(dtype))
    if layout == "in_place":
        source_dtype = dtype
    sourced = draw(st.integers(0, 5)) > 0
    return Case(
        capacity, padded, None if is_computed else live, dtype, source_dtype, layout, sourced, fill
    )


def fills(dtype: torch.dtype) -> st.SearchStrategy[Fill]:
    """Fills that a slot of that dtype can hold."""
    if dtype is torch.bool:
        return st.booleans()
    if dtype.is_floating_point:
        return st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e-5, 300, float("inf")])
    limits = torch.iinfo(dtype)
    return st.sampled_from([0, 1, limits.min, limits.max])


class Loaded:
    """The slots of some cases in arenas of their own, poisoned, with sources for each.

    Equal seeds give equal bytes and sources on every device.
    """

    def __init__(self, some: Sequence[Case], device: str, seed: int = 0) -> None:
        self.cases = some
        self.device = device
        self.random = torch.Generator().manual_seed(seed)
        shapes = [SlotShape(f"slot_{i}", each.capacity, each.dtype) for i, each in enumerate(some)]
        debug = DebugOptions.of(True)  # with guards between slots
        layout = RunnerLayout.of(compute=shapes, debug=debug)
        self.regions = Regions.alone("runner", layout, device=device, debug=debug)
        self.poison()
        self.slots = [self.regions.compute.slot(each.name) for each in shapes]
        self.views = [padded_view(s, *c.padded) for s, c in zip(self.slots, some, strict=True)]
        self.given = [self._source(i) for i, each in enumerate(some)]

    @property
    def arena(self) -> Arena:
        return self.regions.arenas[0]

    def poison(self) -> None:
        """Random bytes everywhere, between slots too."""
        noise = torch.randint(0, 2, (self.arena.size_bytes,), generator=self.random)
        self.arena.storage.copy_(noise.to(torch.uint8))

    @property
    def steps(self) -> list[SlotLoad]:
        return [self._step(i) for i in range(len(self.cases))]

    @property
    def sources(self) -> list[Tensor]:
        return [each for each in self.given if each is not None]

    def fresh(self) -> list[Tensor]:
        """Other sources of the same types, shapes and layouts."""
        self.given = [self._source(i) for i in range(len(self.cases))]
        return self.sources

    def load_by_torch(self) -> None:
        """What every writer has to do."""
        for step, source in zip(self.steps, self.given, strict=True):
            write_slot(step, source)

    def _step(self, number: int) -> SlotLoad:
        case, view = self.cases[number], self.views[number]
        source = f"source_{number}" if case.has_source else None
        live = (0,) * view.dim() if case.live is None else case.live
        return SlotLoad(view, source, live, case.fill)

    def _source(self, number: int) -> Tensor | None:
        case = self.cases[number]
        if not case.has_source or case.live is None:
            return None
        values = self._values(case, case.live)
        if case.layout == "in_place":
            head = self.slots[number].as_strided(
                case.live, self.slots[number].stride(), self.slots[number].storage_offset()
            )
            return head.copy_(values)
        return self._laid_out(case, values).to(case.source_dtype)

    def _laid_out(self, case: Case, values: Tensor) -> Tensor:
        """The values in memory of their own, with gaps or in another order of axes."""
        shape, dtype = tuple(values.shape), case.source_dtype
        if case.layout == "misaligned":
            room = torch.empty(values.numel() + 3, dtype=dtype, device=self.device)
            placed = room[3:].view(shape)
        elif case.layout == "strided":
            wide = (*shape[:-1], 2 * shape[-1] + 1)
            placed = torch.empty(wide, dtype=dtype, device=self.device)[..., 1::2]
        elif case.layout == "cut":  # out of something of the padded shape
            whole = torch.empty(case.padded, dtype=dtype, device=self.device)
            placed = whole[tuple(slice(size) for size in shape)]
        elif case.layout == "transposed":
            placed = torch.empty(shape[::-1], dtype=dtype, device=self.device).permute(
                *range(len(shape))[::-1]
            )
        else:
            placed = torch.empty(shape, dtype=dtype, device=self.device)
        return placed.copy_(values)

    def _values(self, case: Case, shape: tuple[int, ...]) -> Tensor:
        """Values that every conversion is defined for."""
        target, dtype = case.dtype, case.source_dtype
        if dtype is torch.bool:
            return torch.randint(0, 2, shape, generator=self.random).to(dtype)
        if dtype.is_floating_point:
            scale = 1e4 if target.is_floating_point else 30.0
            drawn = torch.randn(shape, generator=self.random, dtype=torch.float64) * scale
            return (drawn if target.is_floating_point else drawn.clamp(-100, 100)).to(dtype)
        limits = torch.iinfo(dtype)
        high = limits.max if limits.max == torch.iinfo(torch.int64).max else limits.max + 1
        return torch.randint(limits.min, high, shape, generator=self.random, dtype=dtype)
