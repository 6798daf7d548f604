"""What a small runner loads, by hand: a table of slots, batches, and the same in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import torch
from torch import Tensor

from ullage_runtime.arena import Arena, SlotShape
from ullage_runtime.plan_cache import PlanCache, Seen
from ullage_runtime.recipe import Recipes
from ullage_runtime.slots import Slot, SlotGroup, SlotTable
from ullage_runtime.torch_writer import TorchWriter

CAPACITY = 12
SLOTS = (
    SlotShape("ids", (CAPACITY,), torch.int64),
    SlotShape("lens", (CAPACITY,), torch.int32),
    SlotShape("axes", (3, CAPACITY), torch.int64),
    SlotShape("hidden", (CAPACITY, 2), torch.bfloat16),
    SlotShape("mask", (CAPACITY, CAPACITY), torch.bool),
    SlotShape("count", (1,), torch.int32),
    SlotShape("table", (CAPACITY,), torch.int64),
)


class Mode(Enum):
    """How batches come about: what is seen, what ranks agree on, and what elements say."""

    SERVE = "serve"
    SHARED = "shared"
    LISTED = "listed"


class Extents(NamedTuple):
    """How many rows a batch has."""

    rows: int
    padded: int


@dataclass
class Live:
    """What a scheduler would bring."""

    ids: Tensor | None
    lens: Tensor | None
    axes: Tensor | None
    hidden: Tensor | None
    mask: Tensor | None
    size: object = 0
    note: str = ""
    embeds: Tensor | None = None
    mode: Mode = Mode.SERVE


@dataclass(frozen=True)
class Loaded:
    """What a runner would hand out."""

    mode: Mode
    live: int
    padded: int
    ids: Tensor
    lens: Tensor
    hidden: Tensor
    mask: Tensor
    count: Tensor
    axes: Tensor | None = None
    table: Tensor | None = None
    note: str | None = None
    embeds: Tensor | None = None


def new_arena() -> Arena:
    return Arena.holding(SLOTS, "cpu", canaries=True)


def live_batch(rows: int, seed: int, *, with_axes: bool = True) -> Live:
    generator = torch.Generator().manual_seed(seed)

    def values(*shape: int) -> Tensor:
        return torch.randint(1, 100, shape, generator=generator)

    return Live(
        values(rows),
        values(rows).to(torch.int32),
        values(3, rows) if with_axes else None,
        values(rows, 2).to(torch.bfloat16),
        values(rows, rows) % 2 == 0,
        rows,
        f"batch {seed}",
        values(rows, 4),
    )


def table_of(arena: Arena) -> SlotTable[Live, Extents]:
    """Slots of every kind; the last one is for a step of the runner to write."""
    return SlotTable(
        SlotGroup(
            lambda extents: ((extents.rows,), (extents.padded,)),
            Slot("ids", arena.slot("ids"), source="ids"),
            Slot("lens", arena.slot("lens"), source="lens", fill=1),
            Slot("missing", None, source="missing"),
            Slot("table", arena.slot("table")),
        ),
        SlotGroup(
            lambda extents: ((3, extents.rows), (3, extents.padded)),
            Slot("axes", arena.slot("axes"), source="axes", fill=0, optional=True),
        ),
        SlotGroup(
            lambda extents: ((extents.rows, 2), (extents.padded, 2)),
            Slot("hidden", arena.slot("hidden"), source="hidden", fill=-2.5),
        ),
        SlotGroup(
            lambda extents: ((extents.rows,) * 2, (extents.padded,) * 2),
            Slot("mask", arena.slot("mask"), source="mask", fill=True),
        ),
        SlotGroup(
            lambda _: ((1,), (1,)),
            Slot(
                "count", arena.slot("count"), fill=lambda _, extents: extents.rows, is_number=True
            ),
        ),
    )


def recipes_of(arena: Arena) -> Recipes[Loaded, Live, Extents]:
    """What makes plans, by torch."""
    low = arena.storage.data_ptr()
    writer = TorchWriter([(low, low + arena.storage.nbytes)])
    tables = dict.fromkeys(Mode, table_of(arena))
    return Recipes(Loaded, tables, writer, carried=(("note", "note"), ("embeds", "embeds")))


def cache_of(arena: Arena, limit: int = 4) -> PlanCache[Loaded, Live, Extents]:
    """The plans of the runner."""
    seen = {
        Mode.SERVE: Seen(("size",), (("ids", 0),)),
        Mode.SHARED: Seen(("size",)),
        Mode.LISTED: Seen(("size",), by_contents=True),
    }
    return PlanCache(recipes_of(arena), seen, exchanging={Mode.SHARED}, limit=limit)


def write_all(arena: Arena, live: Live, rows: int, padded: int) -> None:
    """What a load has to leave, slot by slot."""
    for name, source, shape, fill in (
        ("ids", live.ids, (padded,), None),
        ("lens", live.lens, (padded,), 1),
        ("axes", live.axes, (3, padded), 0),
        ("hidden", live.hidden, (padded, 2), -2.5),
        ("mask", live.mask, (padded, padded), True),
    ):
        if source is None:
            continue
        view = head(arena, name, *shape)
        if fill is not None:
            view.fill_(fill)
        view[tuple(slice(size) for size in source.shape)] = source
    arena.slot("count").fill_(rows)


def head(arena: Arena, name: str, *shape: int) -> Tensor:
    """The leading part of a slot."""
    return arena.slot(name)[tuple(slice(size) for size in shape)]
