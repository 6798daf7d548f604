"""What one load writes, worked out once for a padded shape and then repeated for every batch of it.

A generated runner checks the first batch of a shape with all care and records here what loading it
writes. A later batch of the same shape is only compared: its sources have the same types, shapes
and places, so that whatever was checked holds for it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from ullage_runtime.loader import Fill, SlotLoad, write_slot

BatchT = TypeVar("BatchT")


class PreparedLoad(Protocol):
    """Writes one batch after another of a single shape."""

    def __call__(self, sources: Sequence[Tensor], /) -> bool:
        """Write all slots from `sources`, one for each step that has a source, in their order.

        False, with nothing written, if some source differs from the first batch's in dtype,
        device, shape or layout, requires gradients, or lies in static storage, where a load
        by the steps themselves has to look closer.
        """
        ...


class Writer(Protocol):
    """A way to write slots: torch's operations, or one kernel for all of them."""

    def prepare(self, steps: Sequence[SlotLoad], sources: Sequence[Tensor]) -> PreparedLoad:
        """The load of every batch that is like the one of `sources`, which has been checked."""
        ...


class LoadSteps:
    """The slots of one load, as generated code lists them; each call returns the batch's field."""

    def __init__(self) -> None:
        self.loads: list[SlotLoad] = []
        self.sources: list[Tensor] = []
        self.absent: list[str] = []
        self.bare: list[Tensor] = []

    def copy(
        self,
        view: Tensor,
        name: str,
        source: Tensor | None,
        live: tuple[int, ...],
        fill: Fill | None = None,
    ) -> Tensor:
        """A slot with a source, which is missing only where no row is live.

        `name`: the field of the live batch that `source` is; `live`: its shape.
        """
        if source is None:
            self.absent.append(name)
            self.bare.append(view)
            self.loads.append(SlotLoad(view, None, live, fill))
        else:
            self.sources.append(source)
            self.loads.append(SlotLoad(view, name, live, fill))
        return view

    def copy_present(
        self,
        view: Tensor,
        name: str,
        source: Tensor | None,
        live: tuple[int, ...],
        fill: Fill | None = None,
    ) -> Tensor | None:
        """As `copy`; a slot without its source is not written, and the batch has none."""
        if source is not None:
            return self.copy(view, name, source, live, fill)
        self.absent.append(name)
        return None

    def compute(self, view: Tensor, value: Fill) -> Tensor:
        """A slot that holds a number."""
        self.loads.append(SlotLoad(view, None, (0,) * view.dim(), value))
        return view

    def pad(self, view: Tensor, live: tuple[int, ...], fill: Fill) -> Tensor:
        """A slot whose live rows a step of the runner writes: load fills the others."""
        self.loads.append(SlotLoad(view, None, live, fill))
        return view


class LoadPlan(Generic[BatchT]):
    """Loads the batches of one shape.

    `loads`: what is written, in order; `sources`: the fields of a live batch that are read;
    `absent`: those that no batch of this plan has; `batch`: what loading one of them returns;
    `write`: writes from the sources of a batch, in the order of `sources`.
    """

    write: PreparedLoad

    def __init__(
        self,
        batch: BatchT,
        steps: LoadSteps,
        writer: Writer | None,
        *,
        carried: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """`carried`: fields of the batch that are those of the live one: names here and there.
        A plan outlives the batch that it was made for, so it keeps nothing of what that carried.

        `writer`: None where each batch is looked at anew.
        """
        self.batch = with_fields(batch, dict.fromkeys(name for name, _ in carried))
        self.loads = tuple(steps.loads)
        self.sources = tuple(load.source for load in self.loads if load.source is not None)
        self.absent = tuple(dict.fromkeys(steps.absent))
        self._bare = frozenset(map(id, steps.bare))
        self._carried = carried
        self._sources = values_of(self.sources)
        self._absent = values_of(self.absent)
        self._missing = (None,) * len(self.absent)
        if writer is None:
            self.write = _refuse
        else:
            self.write = writer.prepare(self.loads, steps.sources)

    def load(self, live: object) -> BatchT | None:
        """Load a batch of any class with those fields; None, with nothing written, if it is not
        like the first one: fields it lacks, dtypes, shapes, devices, or where its sources lie."""
        if self._absent(live) != self._missing or not self.write(self._sources(live)):
            return None
        for _, source in self._carried:
            if getattr(live, source) is not None:
                return self._made(live)
        return self.batch

    def load_first(self, live: object) -> BatchT:
        """Load the batch that this plan was made for, and checked with."""
        sources = self._sources(live)
        if not self.write(sources):
            left = iter(sources)
            for load in self.loads:
                write_slot(load, None if load.source is None else next(left))
        return self._made(live)

    def hand_out(self, live: object) -> BatchT:
        """The batch with the sources themselves in place of their slots: nothing is copied.

        A source that is missing is None there too; numbers are in tensors of their own.
        """
        values: dict[int, Tensor | None] = dict.fromkeys(self._bare)
        for load in self.loads:
            if load.source is not None:
                values[id(load.view)] = getattr(live, load.source)
            elif id(load.view) not in self._bare and load.fill is not None and not any(load.live):
                values[id(load.view)] = torch.full_like(load.view, load.fill)
        made = self._made(live)
        given = {name: values[id(each)] for name, each in vars(made).items() if id(each) in values}
        return with_fields(made, given)

    def _made(self, live: object) -> BatchT:
        """A batch of its own with the carried fields of a live one."""
        carried = {name: getattr(live, source) for name, source in self._carried}
        return with_fields(self.batch, carried)


def with_fields(batch: BatchT, changed: dict[str, Any]) -> BatchT:
    """A copy in which some attributes are others; its constructor is not called.

    With dozens of fields a constructor takes longer than copying the batch does.
    """
    copied = object.__new__(type(batch))
    object.__setattr__(
        copied, "__dict__", batch.__dict__ | changed
    )  # a frozen one has no other way
    return copied


def _refuse(_: Sequence[Tensor]) -> bool:
    """Where each batch is looked at anew."""
    return False


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
