"""What one load writes, worked out once for a padded shape and then repeated for every batch of it.

A generated runner checks the first batch with some sources with all care. Whatever has the same
sources in the same types is only compared later, where another shape adds what depends on it, so
that whatever was checked holds for it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from operator import attrgetter
from typing import Any, Final, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from ullage_runtime.loader import SlotLoad, write_slot
from ullage_runtime.slots import Rows
from ullage_runtime.writers import PreparedLoad, ShapedLoad

BatchT = TypeVar("BatchT")
MadeT_co = TypeVar("MadeT_co", covariant=True)


# Bound once, since every load makes batches with them.
_new: Final = object.__new__
_assign: Final = object.__setattr__


class SourcesRead:
    """How batches are read that have some sources and lack others.

    `sources`: the fields that are copied, in the order of slots; `absent`: those that none of the
    batches has; `carried`: fields of the loaded batch that are those of the live one: names here
    and there.
    """

    def __init__(
        self,
        sources: Sequence[str],
        absent: Sequence[str],
        carried: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.sources = tuple(sources)
        self.absent = tuple(dict.fromkeys(absent))
        self.carried = tuple(carried)
        self.of = values_of(self.sources)
        self.absent_of = values_of(self.absent)
        self.missing = (None,) * len(self.absent)

    def carried_by(self, live: object) -> dict[str, Any]:
        """The fields of a loaded batch that are carried."""
        return {name: getattr(live, source) for name, source in self.carried}


class MakesBatches(Protocol[MadeT_co]):
    """What a plan was made by.

    `read`: how batches are read.
    """

    @property
    def read(self) -> SourcesRead: ...

    def batch(self, mode: Enum, extents: Rows, views: Iterable[Sequence[Tensor]]) -> MadeT_co:
        """What loading batches of these extents returns; what is carried is missing in it."""
        ...


class LoadPlan(Generic[BatchT]):
    """Loads the batches of one shape that have the same sources.

    `shaped`: what is written; `read`: how batches are read; `write`: writes from the sources of
    one. A plan outlives the batch that it was made for, and keeps nothing of it.
    """

    __slots__ = ("_batch", "_maker", "extents", "mode", "read", "shaped", "write")

    def __init__(
        self,
        maker: MakesBatches[BatchT],
        mode: Enum,
        extents: Rows,
        shaped: ShapedLoad,
        write: PreparedLoad,
    ) -> None:
        self._maker = maker
        self._batch: BatchT | None = None
        self.mode = mode
        self.extents = extents
        self.shaped = shaped
        self.read = maker.read
        self.write = write

    @property
    def batch(self) -> BatchT:
        """What loading one of them returns, in which what is carried is missing.

        It is made when it is first asked for, which an adapter never does.
        """
        if self._batch is None:
            self._batch = self._maker.batch(self.mode, self.extents, self.shaped.views)
        return self._batch

    @property
    def loads(self) -> tuple[SlotLoad, ...]:
        """What is written, slot by slot."""
        return self.shaped.loads

    def load(self, live: object) -> BatchT | None:
        """Load a batch of any class with those fields; None, with nothing written, if it is not
        like the first one: fields it lacks, dtypes, shapes, devices, or where its sources lie."""
        read = self.read
        if read.absent_of(live) != read.missing or not self.write(read.of(live)):
            return None
        return self.loaded(live)

    def loaded(self, live: object) -> BatchT:
        """What to return for a batch that was written."""
        for _, source in self.read.carried:
            if getattr(live, source) is not None:
                return self._made(live)
        return self.batch

    def load_first(self, live: object) -> BatchT:
        """Load the batch that this plan was made for, and checked with."""
        sources = self.read.of(live)
        if not self.write(sources):
            left = iter(sources)
            for load in self.loads:
                write_slot(load, None if load.source is None else next(left))
        return self._made(live)

    def hand_out(self, live: object) -> BatchT:
        """The batch with the sources themselves in place of their slots: nothing is copied.

        A source that is missing is None there too; numbers are in tensors of their own.
        """
        given: dict[int, Tensor | None] = {}
        for slot, load in zip(self.shaped.slots, self.loads, strict=True):
            if load.source is not None:
                given[id(load.view)] = getattr(live, load.source)
            elif slot.is_bare:
                given[id(load.view)] = None
            elif load.fill is not None and not any(load.live):
                given[id(load.view)] = torch.full_like(load.view, load.fill)
        made = self._made(live)
        changed = {name: given[id(each)] for name, each in vars(made).items() if id(each) in given}
        return with_fields(made, changed)

    def _made(self, live: object) -> BatchT:
        """A batch of its own with the carried fields of a live one."""
        return with_fields(self.batch, self.read.carried_by(live))


def with_fields(batch: BatchT, changed: dict[str, Any]) -> BatchT:
    """A copy in which some attributes are others; its constructor is not called.

    With dozens of fields a constructor takes longer than copying the batch does.
    """
    made = _new(type(batch))
    _assign(made, "__dict__", batch.__dict__ | changed)  # as `holding`, without its call
    return made


def holding(batch_class: type[BatchT], fields: dict[str, Any]) -> BatchT:
    """A batch with these fields, which others of its class lack or have defaults for."""
    made = _new(batch_class)
    _assign(made, "__dict__", fields)  # a frozen one has no other way
    return made


def values_of(
    names: Sequence[str], *, lenient: bool = False
) -> Callable[[object], tuple[Any, ...]]:
    """What reads these attributes as a tuple, in one call.

    `lenient`: what an object lacks is None; so is what an attribute holds, behind a dot, if that
    has none.
    """
    if lenient and any("." in name for name in names):
        paths = [name.split(".") for name in names]
        return lambda live: tuple([_value_at(live, path) for path in paths])
    if lenient and len(names) == 1:
        only = names[0]
        return lambda live: (getattr(live, only, None),)  # faster than a loop of one
    if lenient:
        return lambda live: tuple([getattr(live, name, None) for name in names])
    match names:
        case ():
            return lambda _: ()
        case (name,):
            read = attrgetter(name)
            return lambda live: (read(live),)
        case _:
            return attrgetter(*names)


def _value_at(holder: object, path: Sequence[str]) -> object:
    for name in path:
        holder = getattr(holder, name, None)
    return holder
