"""What the emitter writes down: every runner's slots with shapes, tails and places in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ullage.expr.parse import SourceRef
from ullage.expr.simplify import fold
from ullage.expr.tree import Expr, substitute
from ullage.place import Place
from ullage.spec.elements import Elements
from ullage.spec.model import DeviceRole, Dtype, Range

ALIGNMENT = 256
"""What every offset is a multiple of, in bytes."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a slot.

    `capacity` is over parameters. `extent` is what a batch exposes of it: over parameters,
    `padded_<axis>` and live variables. `axis` names the axis that the dimension follows one to
    one, if any, `rises` the one that it grows with in some other way; `target` is the capacity
    that it takes or follows from, None if fixed: an axis, or `slot.dimension` where that is its
    own, also along an axis if only some modes load the slot.
    """

    capacity: Expr
    extent: Expr
    axis: str | None
    target: str | None
    rises: str | None = None

    @property
    def along(self) -> str | None:
        """The axis that decides how long the dimension is, one to one or otherwise."""
        return self.axis or self.rises

    def of(self, length: Expr) -> Expr:
        """How long the dimension is where what it follows, an axis or its own, is that long."""
        rising = {f"padded_{self.rises}": length}
        return length if self.rises is None else fold(substitute(self.extent, rising))


@dataclass(frozen=True, slots=True)
class Tail:
    """What the rows between live and padded hold in one mode: a fill, or whatever was there.

    `fill` is over parameters, `live_<axis>` and `padded_<axis>`; None leaves the rows untouched,
    which is allowed because its readers look at live rows only. `readers` asked for it; a slot that
    no reader mentions is filled all the same.
    """

    fill: Expr | None
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedSlot:
    """One buffer of one runner. `tails` has an entry for every mode that loads the slot.

    `live_range`: what a batch may bring, where that is less than `range`.
    `written_by` are the steps that write its rows, where load does not. What a `kept` one holds
    outlives the run of the runner, so that it shares storage with nothing. `elements`: what is
    written once, at the start, and by nobody else. `carried_otherwise`: where the slot does not
    exist, load passes the source on as it is.
    """

    name: str
    doc: str
    dimensions: tuple[Dimension, ...]
    dtype: Dtype
    cpu_dtype: Dtype
    device: DeviceRole
    source: SourceRef | None
    value: Expr | None
    range: Range | None
    casts_from: tuple[Dtype, ...]
    optional: bool
    guard: Expr
    tails: Mapping[str, Tail]
    place: Place
    written_by: tuple[str, ...] = ()
    kept: bool = False
    live_range: Range | None = None
    elements: Elements | None = None
    carried_otherwise: bool = False

    @property
    def brought(self) -> Range | None:
        """What the elements of a source may be, if that is stated."""
        return self.live_range or self.range

    @property
    def row_axis(self) -> int | None:
        """The dimension along which live rows end and the tail begins; None for scalars."""
        for position, dimension in enumerate(self.dimensions):
            if dimension.target is not None:
                return position
        return None


@dataclass(frozen=True, slots=True)
class PlannedRunner:
    """One runner of one worker, named `<runner>_<worker>`; slots lie in this order, by device.

    `kept` is the name of a part of its own for the slots that are kept, if there are any.
    """

    name: str
    runner: str
    worker: str
    guard: Expr
    slots: tuple[PlannedSlot, ...]
    place: Place
    kept: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """What has a place of its own in an arena: the slots of the runner, and the kept ones."""
        return (self.name,) if self.kept is None else (self.name, self.kept)


@dataclass(frozen=True, slots=True)
class Group:
    """Runners that may be alive together where `condition` holds: one of each part.

    `parts` hold names of planned runners, or of their kept parts; those of one part take turns.
    """

    parts: tuple[tuple[str, ...], ...]
    condition: Expr
    doc: str
    place: Place


@dataclass(frozen=True, slots=True)
class Below:
    """A runner, or a kept part, that ends before another one begins, where `condition` holds."""

    runner: str
    condition: Expr
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Base:
    """Where a runner begins in the arena of each device role: at the largest end of `below`."""

    runner: str
    below: tuple[Below, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All runners. `refusals` are constraints that slots with `on_overflow` add to validate.

    `bases` has each runner and kept part behind all those that lie below it.
    """

    runners: tuple[PlannedRunner, ...]
    refusals: tuple[tuple[Expr, str, Place], ...]
    groups: tuple[Group, ...] = ()
    bases: tuple[Base, ...] = ()
    alignment: int = ALIGNMENT
