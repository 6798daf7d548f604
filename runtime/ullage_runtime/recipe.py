"""How batches with the same sources are loaded, whatever their shape.

Which slots there are, what they are copied from and in which types follows from the mode and from
the sources that a batch has. It is worked out once, so that a new shape takes only what depends
on extents: views, and the numbers that a writer is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain, count
from typing import Any, Final, Generic, NamedTuple, TypeVar

from torch import Tensor

from ullage_runtime.load_plan import LoadPlan, SourcesRead, holding
from ullage_runtime.slots import ExtentsT, LiveT, Rows, Shape, Slot, SlotTable
from ullage_runtime.views import SlotsAlike, SlotViews
from ullage_runtime.writers import ShapedLoad, Writer, WrittenSlot

BatchT = TypeVar("BatchT")
ModeT = TypeVar("ModeT")

ALIKE: Final = 4
"""How many are kept for one mode or key: its batches may differ in the sources they have."""


class _Group(NamedTuple):
    """Slots of one shape, and what gives it."""

    shapes: Callable[[Any], tuple[Shape, Shape]]
    slots: SlotsAlike


class Recipe(Generic[BatchT, LiveT, ExtentsT]):
    """Makes the plans of batches of one mode that have the same sources.

    `read`: how those are read; `fields`: those of the loaded batch that views of slots are in,
    one group of slots after the other; `loads_unseen`: whether it loads batches that nobody has
    checked: there is a writer, which looks at sources, and none is missing that they need as soon
    as rows are live.
    """

    def __init__(self, recipes: Recipes[BatchT, LiveT, ExtentsT], live: LiveT) -> None:
        """`live`: one of the batches, which has been checked."""
        groups = recipes.tables[live.mode].groups
        loaded = [
            (group.shapes, slots)
            for group in groups
            if (slots := [slot for slot in group.slots if _is_loaded(slot, live)])
        ]
        self._groups = [_Group(shapes, SlotsAlike(_storages(slots))) for shapes, slots in loaded]
        self.fields = tuple(slot.field for _, slots in loaded for slot in slots)
        self._slots = tuple(_written([slots for _, slots in loaded], live))
        self._fills = [slot.fill for _, slots in loaded for slot in slots if callable(slot.fill)]
        named = [slot.source for group in groups for slot in group.slots if slot.source is not None]
        self.read = SourcesRead(
            [slot.source for slot in self._slots if slot.source is not None],
            [source for source in named if getattr(live, source) is None],
            (*recipes.carried, *recipes.tables[live.mode].carried),
        )
        self._class = recipes.batch_class
        self._views = recipes.views
        writer = recipes.writer
        self._writer = None if writer is None else writer.of(self._slots, self.read.of(live))
        is_bare = any(slot.is_bare for slot in self._slots)
        self.loads_unseen = self._writer is not None and not is_bare

    def is_for(self, live: object) -> bool:
        """Whether a batch has the sources, and no others."""
        read = self.read
        if read.absent_of(live) != read.missing:
            return False
        return all([source is not None for source in read.of(live)])

    def plan(
        self, live: LiveT, extents: ExtentsT, sources: Sequence[Tensor]
    ) -> LoadPlan[BatchT] | None:
        """The plan of a batch, and of others of its extents.

        `live`: as far as it decides about them. None if some source has not the type and shape
        that it should have; nobody has to have looked at that.
        """
        shaped = self._shaped(live, extents)
        if self._writer is None:
            return LoadPlan(self, live.mode, extents, shaped, _refuse)
        write = self._writer.prepare(shaped, sources)
        return None if write is None else LoadPlan(self, live.mode, extents, shaped, write)

    def write(
        self, live: LiveT, extents: ExtentsT, sources: Sequence[Tensor]
    ) -> Sequence[Sequence[Tensor]] | None:
        """Load one batch of which no plan is made; its views, see `batch`.

        None, with nothing written, where there is none, or its load would be refused.
        """
        if self._writer is None:
            return None
        shaped = self._shaped(live, extents)
        return shaped.views if self._writer.write(shaped, sources) else None

    def _shaped(self, live: LiveT, extents: ExtentsT) -> ShapedLoad:
        shapes: list[tuple[Shape, Shape]] = []
        views: list[tuple[Tensor, ...]] = []
        views_of = self._views.of
        for shapes_of, slots in self._groups:
            both = shapes_of(extents)
            shapes.append(both)
            views.append(views_of(slots, both[1]))
        fills = [fill(live, extents) for fill in self._fills] if self._fills else ()
        return ShapedLoad(self._slots, shapes, views, fills)

    def batch(self, mode: object, extents: Rows, views: Iterable[Sequence[Tensor]]) -> BatchT:
        """What loading batches of these extents returns; what is carried is missing in it.

        `views`: for each group those of its slots, in the order of `fields`.
        """
        # As attributes: the constructor of a batch takes longer than all the rest.
        given: dict[str, Any] = {"mode": mode, "live": extents.rows, "padded": extents.padded}
        given.update(zip(self.fields, chain.from_iterable(views), strict=True))
        return holding(self._class, given)


class Recipes(Generic[BatchT, LiveT, ExtentsT]):
    """Makes the plans of a runner's loads, and keeps what those of one mode have in common.

    `tables`: the slots of each mode; `carried`: see `SourcesRead`; `writer`: None where each
    batch is looked at anew.
    """

    def __init__(
        self,
        batch_class: type[BatchT],
        tables: Mapping[ModeT, SlotTable[LiveT, ExtentsT]],
        writer: Writer | None,
        *,
        carried: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`batch_class`: a dataclass with the fields `mode`, `live`, `padded`, and those of slots.
        ValueError if it has not."""
        self.tables: dict[object, SlotTable[LiveT, ExtentsT]] = {
            mode: each for mode, each in tables.items()
        }
        self.carried = tuple(carried)
        self.writer = writer
        self.views = SlotViews()
        self._known: dict[object, tuple[Recipe[BatchT, LiveT, ExtentsT], ...]] = {}
        self.batch_class = batch_class
        self._require_fields()

    def known(self, live: LiveT) -> list[Recipe[BatchT, LiveT, ExtentsT]]:
        """What is for batches that have the sources of this one."""
        return [each for each in self._known.get(live.mode, ()) if each.is_for(live)]

    def plan(self, live: LiveT, extents: ExtentsT) -> LoadPlan[BatchT]:
        """The plan of a batch that has been checked."""
        for recipe in self.known(live):
            plan = recipe.plan(live, extents, recipe.read.of(live))
            if plan is not None:
                return plan
        made = Recipe(self, live)
        self._known[live.mode] = (made, *self._known.get(live.mode, ())[: ALIKE - 1])
        plan = made.plan(live, extents, made.read.of(live))
        if plan is None:
            raise ValueError("A batch was not checked before its load was planned.")
        return plan

    def behind(self, plan: LoadPlan[BatchT], live: LiveT) -> Recipe[BatchT, LiveT, ExtentsT]:
        """What has just made the plan of this batch."""
        return next(each for each in self.known(live) if each.read is plan.read)

    def _require_fields(self) -> None:
        given: Any = self.batch_class  # a dataclass, which its type does not say
        known = {each.name: each for each in fields(given)}
        groups = [group for table in self.tables.values() for group in table.groups]
        wanted = {"mode", "live", "padded", *(s.field for group in groups for s in group.slots)}
        if lacking := wanted - known.keys():
            problem = f"has no field {', '.join(sorted(lacking))}"
            raise ValueError(f"{self.batch_class.__name__} {problem}.")


def _refuse(_: Sequence[Tensor]) -> bool:
    """Where each batch is looked at anew."""
    return False


def _is_loaded(slot: Slot[Any, Any], live: object) -> bool:
    """Whether a batch has a view of the slot."""
    return not slot.optional or slot.source is None or getattr(live, slot.source) is not None


def _storages(slots: Sequence[Slot[Any, Any]]) -> list[Tensor]:
    return [slot.storage for slot in slots if slot.storage is not None]


def _written(groups: Sequence[Sequence[Slot[Any, Any]]], live: object) -> Iterator[WrittenSlot]:
    """The slots that a load of this batch writes; others are for steps of the runner."""
    varying = count()
    for group, slots in enumerate(groups):
        for position, slot in enumerate(slots):
            if slot.storage is None or (slot.source is None and slot.fill is None):
                continue
            is_bare = slot.source is not None and getattr(live, slot.source) is None
            yield WrittenSlot(
                slot.storage,
                group,
                position,
                None if is_bare else slot.source,
                None if callable(slot.fill) else slot.fill,
                varying=next(varying) if callable(slot.fill) else None,
                is_number=slot.is_number,
                is_bare=is_bare,
            )
