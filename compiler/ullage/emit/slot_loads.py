"""How one slot is checked and loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.modules import IMPORTED
from ullage.emit.names import Names
from ullage.emit.source import Source
from ullage.emit.source_checks import SourceCheck
from ullage.emit.text import comment, literal
from ullage.expr.tree import TRUE, Expr
from ullage.plan.model import PlannedSlot, Tail

LOCALS = (
    *("batch", "config", "copy", "extents", "known", "live", "mode", "padded", "problem", "rows"),
    *("self", "views", *IMPORTED),
)
"""Names that the methods which load use themselves."""


def locals_of(runner: RunnerModel) -> Names:
    """The sources of all slots as local variables, by the fields of the slots."""
    return Names((runner.field(slot.name) for slot in runner.slots), LOCALS)


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """How one slot is loaded in the modes of a group.

    `taken` are the lines that take its view and source, `check` and `values` those that look at
    the source, `write` those that write; `exposed` is what the batch gets, `untouched` what it
    gets when nothing is copied.
    """

    name: str
    place: str
    taken: tuple[str, ...]
    check: tuple[str, ...]
    values: tuple[str, ...]
    poison: tuple[str, ...]
    write: tuple[str, ...]
    verify: tuple[str, ...]
    exposed: str
    untouched: str


@dataclass(frozen=True, slots=True)
class SlotWriter:
    """Writes how one slot is checked and loaded in one group of modes.

    `local`: its source as a local variable; `known`: whether `select` may have checked it.
    """

    runner: RunnerModel
    slot: PlannedSlot
    tail: Tail
    local: str
    known: bool

    def load(self) -> SlotLoad:
        if self.slot.written_by:
            return self._left()
        return self._computed() if self.slot.compute is not None else self._copied()

    @property
    def _field(self) -> str:
        return self.runner.field(self.slot.name)

    @property
    def _live(self) -> str:
        """The source as a field of the live batch."""
        source = self.slot.source
        return "" if source is None else self.runner.engine.live_field(source).name

    @property
    def _guarded(self) -> bool:
        return self.slot.guard != TRUE

    @property
    def _viewed(self) -> bool:
        return self.runner.is_viewed(self.slot)

    @property
    def _view(self) -> str:
        return f"views.{self._field}" if self._viewed else f"view_of_{self._field}"

    @property
    def _source(self) -> Source:
        """Expressions over live and padded extents, and parameters as they are at present."""
        engine = self.runner.engine
        names = dict(self.runner.serving_values)
        names |= {f"live_{a.name}": f"rows.{engine.axis(a.name)}" for a in engine.axes}
        names |= {f"padded_{a.name}": f"padded.{engine.axis(a.name)}" for a in engine.axes}
        return engine.settings.source("config").with_names(names)

    def _own_view(self) -> Iterator[str]:
        """The lines that take the view of a slot that does not follow from padded rows."""
        if self._viewed:
            return
        shape = ", ".join(self._extent(position, live=False) for position in self._positions)
        registry = f"self.registry.{self._field}"
        view = f"padded_view({registry}, {shape})"
        text = f"None if {registry} is None else {view}" if self._guarded else view
        yield f"{self._view} = {text}"

    @property
    def _positions(self) -> range:
        return range(len(self.slot.dimensions))

    def _extent(self, position: int, *, live: bool) -> str:
        """The extent of a dimension in the batch, of live or of all rows."""
        dimension = self.slot.dimensions[position]
        own = self.runner.own_extents_of(self.slot)
        if position in own:
            return f"extents.{own[position].live if live else own[position].name}"
        engine = self.runner.engine
        rows = "rows" if live else "padded"
        names = {f"padded_{a.name}": f"{rows}.{engine.axis(a.name)}" for a in engine.axes}
        return engine.settings.source("config").with_names(names).of(dimension.extent)

    @property
    def _moving(self) -> list[int]:
        """The dimensions along which live and padded rows may differ."""
        return [p for p in self._positions if self.slot.dimensions[p].target is not None]

    def _text(self, expr: Expr) -> str:
        return self._source.of(self.runner.unfold(expr))

    def _fill(self) -> str:
        return "None" if self.tail.fill is None else self._text(self.tail.fill)

    def _copied(self) -> SlotLoad:
        value = f"live.{self._live}"
        if self._guarded:
            value = f"None if {self._view} is None else {value}"
        check = SourceCheck(self.runner, self.slot, known=self.known)
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 8),
            (*self._own_view(), f"{self.local} = {value}"),
            tuple(check.lines()),
            tuple(check.values()),
            tuple(self._poison()),
            tuple(self._writes()),
            tuple(self._verify()),
            self._exposed(),
            self.local,
        )

    def _present(self) -> str:
        return f"{self.local} is not None"

    def _poison(self) -> Iterator[str]:
        yield f"poison_around(self.registry.{self._field}, live.{self._live})"

    def _writes(self) -> Iterator[str]:
        condition = self._written()
        margin = "    " if condition else ""
        if condition:
            yield f"if {condition}:"
        if len(self._moving) > 1:
            yield f"{margin}load_block({self._view}, {self.local}, {self._fill()})"
            return
        if not self._moving:
            yield f"{margin}load_rows({self._view}, {self.local}, {self._view}.shape[0])"
            return
        (axis,) = self._moving
        along = f", axis={axis}" if axis else ""
        rows = self._extent(axis, live=True)
        yield f"{margin}load_rows({self._view}, {self.local}, {rows}, {self._fill()}{along})"

    def _written(self) -> str:
        """When the slot is written at all."""
        if self.slot.optional:
            guard = f"{self._view} is not None and " if self._guarded else ""
            return guard + self._present()
        return f"{self._view} is not None" if self._guarded else ""

    def _verify(self) -> Iterator[str]:
        if self.tail.fill is None:
            return
        batch = f"batch.{self._field}"
        yield f"if {batch} is not None:"
        yield (
            f"    require_unpoisoned(mode, {literal(self.slot.name)}, {batch}, "
            f"place={literal(self.slot.place.short)})"
        )

    def _exposed(self) -> str:
        if self.slot.optional:
            return f"{self._view} if {self._present()} else None"
        return self._view

    def _left(self) -> SlotLoad:
        """A slot that a step writes: load fills no more than its tail."""
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 8),
            tuple(self._own_view()),
            (),
            (),
            (f"poison_around(self.registry.{self._field}, None)",),
            tuple(self._tails()),
            (),
            self._view,
            self._view,
        )

    def _tails(self) -> Iterator[str]:
        if self.tail.fill is None:
            return
        margin = "    " if self._guarded else ""
        if self._guarded:
            yield f"if {self._view} is not None:"
        for axis in self._moving:
            rows = self._extent(axis, live=True)
            along = f", axis={axis}" if axis else ""
            yield f"{margin}fill_tail({self._view}, {rows}, {self._fill()}{along})"

    def _computed(self) -> SlotLoad:
        compute = self.slot.compute
        value = "0" if compute is None else self._text(compute)
        registry = f"self.registry.{self._field}"
        write = [f"write_scalar({self._view}, {value})"]
        poison = [f"poison_around({registry}, None)"]
        untouched = f"torch.full_like({self._view}, {value})"
        if self._guarded:
            write = [f"if {self._view} is not None:", f"    {write[0]}"]
            untouched = f"None if {self._view} is None else {untouched}"
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 8),
            tuple(self._own_view()),
            (),
            (),
            tuple(poison),
            tuple(write),
            (),
            self._view,
            untouched,
        )
