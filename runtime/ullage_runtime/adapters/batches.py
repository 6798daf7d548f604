"""Loads an engine's own batch objects through a generated runner, and gives them back loaded.

Sources in a spec are named as the attributes of the engine's batch are. So what feeds which slot,
and which attribute a slot stands for afterwards, follows from names; `Naming` has the exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import chain, compress
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from torch import Tensor

from ullage_runtime.arena_regions import Regions
from ullage_runtime.errors import UllageRuntimeError
from ullage_runtime.load_plan import LoadPlan, holding, values_of, with_fields
from ullage_runtime.plan_cache import PlanCache, Seen
from ullage_runtime.recipe import ALIKE, Recipe
from ullage_runtime.slots import LiveT
from ullage_runtime.views import RecentlyUsed
from ullage_runtime.writers import PreparedLoad

BatchT = TypeVar("BatchT")
LiveT_contra = TypeVar("LiveT_contra", contravariant=True)

NOTHING: Mapping[str, Tensor] = MappingProxyType({})


class Registry(Protocol):
    """The static buffers of a generated runner: its fields are the slots, besides `regions`."""

    SOURCES: ClassVar[Mapping[str, str]]
    """The field of a live batch that each slot is loaded from, for those that are."""
    # Any: the type of a dataclass's own table of fields.
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def regions(self) -> Regions: ...


class Runner(Protocol[LiveT_contra]):
    """A generated runner, as far as loading goes."""

    @property
    def registry(self) -> Registry: ...

    @property
    def modes(self) -> tuple[Enum, ...]:
        """The modes that it serves."""
        ...

    @property
    def plans(self) -> PlanCache[Any, Any, Any]:
        """What was loaded before, by what decides about its shape."""
        ...

    def plan(self, live: LiveT_contra, /) -> LoadPlan[Any]:
        """What loading this batch writes, and others like it."""
        ...

    def extents(self, live: LiveT_contra, /) -> Any:
        """Its extents, checked without a look at its sources."""
        ...

    def load(self, live: LiveT_contra, /) -> object:
        """The batch in the static buffers, padded."""
        ...


@dataclass(frozen=True, slots=True)
class Naming:
    """Where an engine's batch has other names than its spec.

    `sources`: the attribute that a field of the live batch is read from. One with a dot is of what
    an attribute holds; its slot is read where it lies, and no attribute stands for it.
    `fields`: the attribute that a slot stands for, or an axis, by its padded rows.
    """

    sources: Mapping[str, str]
    fields: Mapping[str, str]

    def attribute_of(self, source: str) -> str:
        """What the batch calls a field of the live batch."""
        return self.sources.get(source, source)


class SeenBatch(Generic[BatchT]):
    """Loads batches of a class that are like one which was loaded before.

    `views`: the attributes that stand for slots and axes.
    """

    __slots__ = ("_known", "_write", "views")

    def __init__(
        self, known: KnownSources[BatchT, Any], write: PreparedLoad, views: dict[str, object]
    ) -> None:
        self._known = known
        self._write = write
        self.views = views

    def load(self, batch: BatchT) -> BatchT | None:
        """The batch loaded; None, with nothing written, if it is not like the one before."""
        known = self._known
        if known.absent_of(batch) != known.missing or not self._write(known.sources_of(batch)):
            return None
        return with_fields(batch, self.views)


class KnownSources(Generic[BatchT, LiveT]):
    """Loads batches of a class and mode that have the sources of one which was loaded before.

    `recipe`: how.
    """

    def __init__(
        self,
        adapter: BatchAdapter[BatchT, LiveT],
        recipe: Recipe[Any, LiveT, Any],
        batch: BatchT,
        views: Mapping[str, str],
    ) -> None:
        """`batch`: the one before, whose class decides which attributes there are; `views`: those
        that stand for a field of what is loaded, with that field."""
        self.recipe = recipe
        sources, absent = (
            list(map(adapter.attribute_of, each))
            for each in (recipe.read.sources, recipe.read.absent)
        )
        absent = [path for path in absent if hasattr(batch, path.partition(".")[0])]
        self.sources_of = values_of(sources, lenient=any("." in path for path in sources))
        self.absent_of = values_of(absent, lenient=any("." in path for path in absent))
        self.missing = (None,) * len(absent)
        axes = {field: attribute for attribute, field in views.items()}
        self._is_exposed = tuple(field in axes for field in recipe.fields)
        self._attributes = tuple(axes.pop(field) for field in recipe.fields if field in axes)
        self._axes = tuple(axes.values())
        self._rows_of = values_of(tuple(axes))

    def is_for(self, batch: BatchT) -> bool:
        """Whether it loads batches of shapes that were not seen before, and one like this."""
        return self.recipe.loads_unseen and self.absent_of(batch) == self.missing

    def load(
        self, batch: BatchT, live: LiveT, extents: Any, *, keeps: bool
    ) -> tuple[BatchT, SeenBatch[BatchT] | None] | None:
        """A batch that nobody has checked, loaded; and what loads others like it, if it `keeps`.

        `live`: as far as it decides about its extents. None, with nothing written, where something
        is wrong with its sources.
        """
        sources = self.sources_of(batch)
        if not keeps:
            views = self.recipe.write(live, extents, sources)
            if views is None:
                return None
            return with_fields(batch, self._exposed(views, extents)), None
        plan = self.recipe.plan(live, extents, sources)
        if plan is None or not plan.write(sources):
            return None
        seen = self.behind(plan)
        return with_fields(batch, seen.views), seen

    def behind(self, plan: LoadPlan[Any]) -> SeenBatch[BatchT]:
        """What loads batches by a plan."""
        return SeenBatch(self, plan.write, self._exposed(plan.shaped.views, plan.extents))

    def _exposed(self, views: Sequence[Sequence[Tensor]], extents: Any) -> dict[str, object]:
        """The attributes that stand for slots and axes."""
        slots = compress(chain.from_iterable(views), self._is_exposed)
        exposed: dict[str, object] = dict(zip(self._attributes, slots, strict=True))
        exposed.update(zip(self._axes, self._rows_of(extents.padded), strict=True))
        return exposed


class BatchAdapter(Generic[BatchT, LiveT]):
    """Loads batches of an engine's own class, all of which have the same attributes."""

    def __init__(self, runner: Runner[LiveT], live_class: type[LiveT], naming: Naming) -> None:
        """`live_class`: the class `LiveBatch` of the package that the runner is from."""
        self.runner = runner
        self.attribute_of = naming.attribute_of
        self._live_class = live_class
        paths = {name: naming.attribute_of(name) for name in _live_fields(live_class)}
        # Those behind a dot apart, since reading them is slower.
        groups = [
            [name for name in paths if ("." in paths[name]) is held] for held in (False, True)
        ]
        self._reads = tuple(
            (group, values_of([paths[name] for name in group], lenient=True)) for group in groups
        )
        self._exposed = tuple(_exposed(runner.registry, naming))

    def of(self, mode: Enum) -> ModeLoader[BatchT]:
        """What loads the batches of one mode."""
        return ModeLoader(self, mode, self.runner.plans.deciding(mode, True))

    def load(self, batch: BatchT, mode: Enum, beside: Mapping[str, Tensor]) -> BatchT:
        """As of `ModeLoader`, by the runner's own `load`."""
        loaded = self.runner.load(self._live(batch, mode, beside))
        views = self._exposed_in(batch, loaded).items()
        return with_fields(batch, {name: getattr(loaded, field) for name, field in views})

    def load_new(
        self, batch: BatchT, mode: Enum
    ) -> tuple[KnownSources[BatchT, LiveT], LoadPlan[Any]]:
        """The same, and what loads batches like it."""
        live = self._live(batch, mode, NOTHING)
        plan = self.runner.plan(live)
        loaded = plan.load_first(live)
        views = self._exposed_in(batch, loaded)
        recipe = self.runner.plans.recipes.behind(plan, live)
        return KnownSources(self, recipe, batch, views), plan

    def deciding(self, mode: Enum, seen: Seen) -> Callable[[BatchT], LiveT]:
        """What reads the fields that decide about the extents of a batch, and no others."""
        live_class, names = self._live_class, seen.fields
        read = values_of(tuple(map(self.attribute_of, names)), lenient=True)

        def live_of(batch: BatchT) -> LiveT:
            given = {"mode": mode}
            for name, value in zip(names, read(batch), strict=True):
                if value is not None:
                    given[name] = value
            return holding(live_class, given)

        return live_of

    def _live(self, batch: BatchT, mode: Enum, beside: Mapping[str, Tensor]) -> LiveT:
        given = {
            name: value
            for names, read in self._reads
            for name, value in zip(names, read(batch), strict=True)
            if value is not None
        }
        given.update(beside)
        return holding(self._live_class, {"mode": mode, **given})

    def _exposed_in(self, batch: BatchT, loaded: object) -> Mapping[str, str]:
        """The attributes of the batch that a field of the loaded one stands for, with that."""
        return {
            attribute: field
            for field, attribute in self._exposed
            if getattr(loaded, field, None) is not None and hasattr(batch, attribute)
        }


class ModeLoader(Generic[BatchT]):
    """Loads the batches of one mode; one like it has loaded before is only compared and copied."""

    def __init__(self, adapter: BatchAdapter[BatchT, Any], mode: Enum, seen: Seen | None) -> None:
        """`seen`: what alone decides about the shape of a batch, if that is all."""
        self._adapter = adapter
        self._mode = mode
        self._key = _no_key if seen is None else seen.renamed(adapter.attribute_of).key
        self._deciding = None if seen is None else adapter.deciding(mode, seen)
        self._seen: RecentlyUsed[tuple[SeenBatch[BatchT], ...]] = RecentlyUsed()
        self._known: tuple[KnownSources[BatchT, Any], ...] = ()

    def load(self, batch: BatchT, beside: Mapping[str, Tensor] = NOTHING) -> BatchT:
        """A batch of the same class in which slots are views of the static buffers, padded.

        What the batch has none of, what the mode does not load, and all that is no slot is the
        very object that `batch` has. `batch` itself is left as it is.

        `beside`: fields of the live batch that the engine hands on outside of its batch.
        Raises what `load` of the runner does.
        """
        key = None if beside else self._key(batch)
        if key is None or self._deciding is None:
            return self._adapter.load(batch, self._mode, beside)
        seen = self._seen.get(key)
        for each in seen or ():
            loaded = each.load(batch)
            if loaded is not None:
                return loaded
        loaded, new = self._unseen(batch, self._deciding, keeps=seen is not None)
        kept = seen or ()
        self._seen.put(key, kept if new is None else (new, *kept[: ALIKE - 1]))
        return loaded

    def _unseen(
        self, batch: BatchT, deciding: Callable[[BatchT], Any], *, keeps: bool
    ) -> tuple[BatchT, SeenBatch[BatchT] | None]:
        """`keeps`: whether the shape has come before. That of prompts seldom comes again, so that
        what loads others like it is made for the second one."""
        extents = None
        for known in self._known:
            if not known.is_for(batch):
                continue
            if extents is None:
                live = deciding(batch)
                try:
                    extents = self._adapter.runner.extents(live)
                except UllageRuntimeError:
                    break  # which sources are wrong is to be said first
            loaded = known.load(batch, live, extents, keeps=keeps)
            if loaded is not None:
                return loaded
        return self._checked(batch)

    def _checked(self, batch: BatchT) -> tuple[BatchT, SeenBatch[BatchT]]:
        new, plan = self._adapter.load_new(batch, self._mode)
        others = (each for each in self._known if each.recipe is not new.recipe)
        self._known = (new, *others)[:ALIKE]
        seen = new.behind(plan)
        return with_fields(batch, seen.views), seen


def _no_key(_: object) -> None:
    """Of batches whose shape other ranks have a part in, or that debug mode looks at."""


def _live_fields(live: type[Any]) -> Iterator[str]:
    """The fields of a generated live batch but for its mode."""
    if not (isinstance(live, type) and is_dataclass(live)):
        raise TypeError(f"A live batch is made by its dataclass, and this is {live!r}.")
    yield from (field.name for field in fields(live) if field.name != "mode")


def _exposed(registry: Registry, naming: Naming) -> Iterator[tuple[str, str]]:
    """Fields of a loaded batch, each with the attribute that it stands for; later ones win.

    Of slots with one source that is the slot that is called like it, or else the first. What the
    configuration has no slot for stands in the batch already.
    """
    slots = [
        each.name
        for each in fields(registry)
        if each.name not in ("regions", *naming.fields) and getattr(registry, each.name) is not None
    ]
    named = [(slot, naming.attribute_of(registry.SOURCES.get(slot, slot))) for slot in slots]
    yield from sorted(
        ((slot, attribute) for slot, attribute in reversed(named) if "." not in attribute),
        key=lambda pair: pair[0] == pair[1],
    )
    yield from naming.fields.items()
