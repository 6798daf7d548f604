"""Loads an engine's own batch objects through a generated runner, and gives them back loaded.

Sources in a spec are named as the attributes of the engine's batch are. So what feeds which slot,
and which attribute a slot stands for afterwards, follows from names; `Naming` has the exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from torch import Tensor

from ullage_runtime.arena_regions import Regions
from ullage_runtime.load_plan import LoadPlan, values_of, with_fields
from ullage_runtime.plan_cache import ALIKE, PlanCache, Seen
from ullage_runtime.views import ViewCache

BatchT = TypeVar("BatchT")
LiveT = TypeVar("LiveT")
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
    def plans(self) -> PlanCache[Any]:
        """What was loaded before, by what decides about its shape."""
        ...

    def plan(self, live: LiveT_contra, /) -> LoadPlan[Any]:
        """What loading this batch writes, and others like it."""
        ...

    def load(self, live: LiveT_contra, /) -> object:
        """The batch in the static buffers, padded."""
        ...


@dataclass(frozen=True, slots=True)
class Naming:
    """Where an engine's batch has other names than its spec.

    `sources`: the attribute that a field of the live batch is read from. One with a dot is of what
    an attribute holds; its slot is read where it lies, and no attribute stands for it.
    `fields`: the attribute that a field of the loaded batch stands for, such as padded rows.
    """

    sources: Mapping[str, str]
    fields: Mapping[str, str]

    def attribute_of(self, source: str) -> str:
        """What the batch calls a field of the live batch."""
        return self.sources.get(source, source)


class SeenBatch(Generic[BatchT]):
    """Loads batches of a class that are like one which was loaded before."""

    __slots__ = ("_absent", "_missing", "_sources", "_views", "_write")

    def __init__(
        self,
        plan: LoadPlan[Any],
        batch: BatchT,
        attribute_of: Callable[[str], str],
        views: dict[str, object],
    ) -> None:
        """`batch`: the one before, whose class decides which attributes there are."""
        sources, absent = (list(map(attribute_of, each)) for each in (plan.sources, plan.absent))
        absent = [path for path in absent if hasattr(batch, path.partition(".")[0])]
        self._sources = values_of(sources, lenient=any("." in path for path in sources))
        self._absent = values_of(absent, lenient=any("." in path for path in absent))
        self._missing = (None,) * len(absent)
        self._write = plan.write
        self._views = views

    def load(self, batch: BatchT) -> BatchT | None:
        """The batch loaded; None, with nothing written, if it is not like the one before."""
        if self._absent(batch) != self._missing or not self._write(self._sources(batch)):
            return None
        return with_fields(batch, self._views)


class BatchAdapter(Generic[BatchT, LiveT]):
    """Loads batches of an engine's own class, all of which have the same attributes."""

    def __init__(
        self, runner: Runner[LiveT], make_live: Callable[..., LiveT], naming: Naming
    ) -> None:
        """`make_live`: the class `LiveBatch` of the package that the runner is from."""
        self._runner = runner
        self._make_live = make_live
        self._attribute_of = naming.attribute_of
        paths = {name: naming.attribute_of(name) for name in _live_fields(make_live)}
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
        seen = self._runner.plans.deciding(mode, True)
        renamed = None if seen is None else seen.renamed(self._attribute_of)
        return ModeLoader(self, mode, renamed)

    def load(self, batch: BatchT, mode: Enum, beside: Mapping[str, Tensor]) -> BatchT:
        """As of `ModeLoader`, by the runner's own `load`."""
        loaded = self._runner.load(self._live(batch, mode, beside))
        return with_fields(batch, self._views(batch, loaded))

    def load_new(self, batch: BatchT, mode: Enum) -> tuple[BatchT, SeenBatch[BatchT]]:
        """The same, and what loads others like it."""
        live = self._live(batch, mode, NOTHING)
        plan = self._runner.plan(live)
        views = self._views(batch, plan.load_first(live))
        return with_fields(batch, views), SeenBatch(plan, batch, self._attribute_of, views)

    def _live(self, batch: BatchT, mode: Enum, beside: Mapping[str, Tensor]) -> LiveT:
        given = {
            name: value
            for names, read in self._reads
            for name, value in zip(names, read(batch), strict=True)
            if value is not None
        }
        given.update(beside)
        return self._make_live(mode=mode, **given)

    def _views(self, batch: BatchT, loaded: object) -> dict[str, object]:
        """What stands for the attributes of the batch, once it is loaded."""
        return {
            attribute: value
            for field, attribute in self._exposed
            if (value := getattr(loaded, field, None)) is not None and hasattr(batch, attribute)
        }


class ModeLoader(Generic[BatchT]):
    """Loads the batches of one mode; one like it has loaded before is only compared and copied."""

    def __init__(
        self, adapter: BatchAdapter[BatchT, Any], mode: Enum, deciding: Seen | None
    ) -> None:
        """`deciding`: what alone decides about the shape of a batch, if that is all."""
        self._adapter = adapter
        self._mode = mode
        self._key = deciding.key if deciding is not None else _no_key
        self._seen: ViewCache[tuple[SeenBatch[BatchT], ...]] = ViewCache()

    def load(self, batch: BatchT, beside: Mapping[str, Tensor] = NOTHING) -> BatchT:
        """A batch of the same class in which slots are views of the static buffers, padded.

        What the batch has none of, what the mode does not load, and all that is no slot is the
        very object that `batch` has. `batch` itself is left as it is.

        `beside`: fields of the live batch that the engine hands on outside of its batch.
        Raises what `load` of the runner does.
        """
        key = None if beside else self._key(batch)
        if key is None:
            return self._adapter.load(batch, self._mode, beside)
        known = self._seen.get(key) or ()
        for seen in known:
            loaded = seen.load(batch)
            if loaded is not None:
                return loaded
        loaded, new = self._adapter.load_new(batch, self._mode)
        self._seen.put(key, (new, *known[: ALIKE - 1]))
        return loaded


def _no_key(_: object) -> None:
    """Of batches whose shape other ranks have a part in, or that debug mode looks at."""


def _live_fields(live: Callable[..., object]) -> Iterator[str]:
    """The fields of a generated live batch but for its mode."""
    if not (isinstance(live, type) and is_dataclass(live)):
        raise TypeError(f"A live batch is made by its dataclass, and this is {live!r}.")
    yield from (field.name for field in fields(live) if field.name != "mode")


def _exposed(registry: Registry, naming: Naming) -> Iterator[tuple[str, str]]:
    """Fields of a loaded batch, each with the attribute that it stands for; later ones win.

    Of slots with one source that is the slot that is called like it, or else the first.
    """
    slots = [each.name for each in fields(registry) if each.name not in ("regions", *naming.fields)]
    named = [(slot, naming.attribute_of(registry.SOURCES.get(slot, slot))) for slot in slots]
    yield from sorted(
        ((slot, attribute) for slot, attribute in reversed(named) if "." not in attribute),
        key=lambda pair: pair[0] == pair[1],
    )
    yield from naming.fields.items()
