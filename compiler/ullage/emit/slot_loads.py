"""How one slot is checked and loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.source import Source
from ullage.emit.source_checks import SourceCheck
from ullage.emit.text import comment, literal
from ullage.expr.tree import TRUE, Expr
from ullage.plan.model import PlannedSlot, Tail


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """How one slot is loaded in the modes of a group.

    `check` and `values` are the lines that look at its source, `recorded` is the expression that
    records what is written and gives what the batch gets.
    """

    name: str
    place: str
    check: tuple[str, ...]
    values: tuple[str, ...]
    poison: tuple[str, ...]
    recorded: str
    verify: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlotWriter:
    """Writes how one slot is checked and loaded in one group of modes.

    `known`: whether `select` may have checked its source.
    """

    runner: RunnerModel
    slot: PlannedSlot
    tail: Tail
    known: bool

    def load(self) -> SlotLoad:
        if self.slot.written_by:
            return self._left()
        return self._computed() if self.slot.value is not None else self._copied()

    @property
    def _field(self) -> str:
        return self.runner.field(self.slot.name)

    @property
    def _live(self) -> str:
        """The source as a field of the live batch."""
        source = self.slot.source
        return "" if source is None else self.runner.engine.live_field(source).name

    @property
    def _view(self) -> str:
        """The slot at the padded shape of the batch, where guards say that there is one."""
        shape = ", ".join(self._extent(position, live=False) for position in self._positions)
        return f"view(registry.{self._field}, {shape})"

    @property
    def _source(self) -> Source:
        """Expressions over live and padded extents, and parameters as they are at present."""
        engine = self.runner.engine
        names = dict(self.runner.serving_values)
        names |= {f"live_{a.name}": f"rows.{engine.axis(a.name)}" for a in engine.axes}
        names |= {f"padded_{a.name}": f"padded.{engine.axis(a.name)}" for a in engine.axes}
        return engine.settings.source("config").with_names(names)

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

    def _guarded(self, recorded: str) -> str:
        """The record of a slot that the configuration may not have."""
        if self.slot.guard == TRUE:
            return recorded
        return f"None if registry.{self._field} is None else {recorded}"

    def _rows(self) -> str:
        """The live extents of the slot."""
        extents = [self._extent(position, live=True) for position in self._positions]
        return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"

    def _copied(self) -> SlotLoad:
        check = SourceCheck(self.runner, self.slot, known=self.known)
        method = "copy_present" if self.slot.optional else "copy"
        arguments = [self._view, literal(self._live), f"live.{self._live}", self._rows()]
        if self._moving and self.tail.fill is not None:
            arguments.append(self._text(self.tail.fill))
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 16),
            tuple(check.lines()),
            tuple(check.values()),
            (f"poison_around(self.registry.{self._field}, live.{self._live})",),
            self._guarded(f"steps.{method}({', '.join(arguments)})"),
            tuple(self._verify()),
        )

    def _verify(self) -> Iterator[str]:
        if self.tail.fill is None:
            return
        batch = f"batch.{self._field}"
        yield f"if {batch} is not None:"
        yield (
            f"    require_unpoisoned(mode, {literal(self.slot.name)}, {batch}, "
            f"place={literal(self.slot.place.short)})"
        )

    def _left(self) -> SlotLoad:
        """A slot that a step writes: load fills no more than its tail."""
        fill = self.tail.fill if self._moving else None
        if fill is None:
            return self._unread(self._view)
        return self._unread(f"steps.pad({self._view}, {self._rows()}, {self._text(fill)})")

    def _computed(self) -> SlotLoad:
        value = self.slot.value
        text = "0" if value is None else self._text(value)
        return self._unread(f"steps.compute({self._view}, {text})")

    def _unread(self, recorded: str) -> SlotLoad:
        """A slot without a source."""
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 16),
            (),
            (),
            (f"poison_around(self.registry.{self._field}, None)",),
            self._guarded(recorded),
            (),
        )
