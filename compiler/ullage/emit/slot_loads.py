"""How one slot is checked and loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ullage.emit.model import RunnerModel
from ullage.emit.source import Source
from ullage.emit.source_checks import SourceCheck
from ullage.emit.text import comment, literal, tuple_of
from ullage.expr.tree import Expr, free_names
from ullage.plan.model import PlannedSlot, Tail


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """How one slot is loaded in the modes of a group.

    `check` and `values` are the lines that look at its source, `shapes` is the expression that
    gives the live and the padded shape for the extents of a batch, and `recorded` says what is
    written.
    """

    name: str
    place: str
    check: tuple[str, ...]
    values: tuple[str, ...]
    poison: tuple[str, ...]
    shapes: str
    recorded: str
    verify: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlotWriter:
    """Writes how one slot is checked and loaded in one group of modes.

    `known`: whether `select` may have checked its source. `has_rows`: whether a batch of the modes
    may have rows; one that has none cannot lack a source, and padding is read all the same.
    """

    runner: RunnerModel
    slot: PlannedSlot
    tail: Tail
    known: bool
    has_rows: bool

    def load(self) -> SlotLoad:
        if self.slot.elements is not None:
            return replace(self._loaded(), poison=())  # it is written before any load
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
    def _source(self) -> Source:
        """Expressions over live and padded extents, and parameters as they are at present."""
        engine = self.runner.engine
        names = dict(self.runner.serving_values)
        for axis in engine.axes:
            field = engine.axis(axis.name)
            names[f"live_{axis.name}"] = f"extents.rows.{field}"
            names[f"padded_{axis.name}"] = f"extents.padded.{field}"
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
        rows = "extents.rows" if live else "extents.padded"
        names = {f"padded_{a.name}": f"{rows}.{engine.axis(a.name)}" for a in engine.axes}
        return engine.settings.source("config").with_names(names).of(dimension.extent)

    @property
    def _moving(self) -> list[int]:
        """The dimensions along which live and padded rows may differ."""
        return [p for p in self._positions if self.slot.dimensions[p].target is not None]

    def _fill(self, expr: Expr) -> str:
        """A fill, or what gives it where it depends on the batch."""
        fill = self.runner.unfold(expr)
        settings, names = self.runner.engine.settings, free_names(fill)
        text = self._source.of(fill)
        if not all(name in settings for name in names) or names & self.runner.serving.keys():
            live = "live" if names & self.runner.serving.keys() else "_"
            return f"lambda {live}, extents: {text}"
        if any(settings.of(name).guarded for name in names):
            return f"None if registry.{self._field} is None else {text}"
        return text

    def _shape(self, *, live: bool) -> str:
        return tuple_of(self._extent(position, live=live) for position in self._positions)

    def _loaded(
        self,
        recorded: str = "",
        *,
        check: SourceCheck | None = None,
        verify: tuple[str, ...] = (),
    ) -> SlotLoad:
        source = "None" if check is None else f"live.{self._live}"
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 16),
            () if check is None else tuple(check.lines()),
            () if check is None else tuple(check.values()),
            (f"poison_around(self.registry.{self._field}, {source})",),
            f"lambda extents: ({self._shape(live=True)}, {self._shape(live=False)})",
            f"Slot({literal(self._field)}, registry.{self._field}{recorded})",
            verify,
        )

    def _copied(self) -> SlotLoad:
        recorded = f", source={literal(self._live)}"
        if self._moving and self.tail.fill is not None:
            recorded += f", fill={self._fill(self.tail.fill)}"
        if self.slot.optional and self.has_rows:
            recorded += ", optional=True"
        if self.slot.carried_otherwise:
            recorded += ", carried_otherwise=True"
        check = SourceCheck(self.runner, self.slot, known=self.known)
        return self._loaded(recorded, check=check, verify=tuple(self._verify()))

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
        return self._loaded("" if fill is None else f", fill={self._fill(fill)}")

    def _computed(self) -> SlotLoad:
        value = "0" if self.slot.value is None else self._fill(self.slot.value)
        return self._loaded(f", fill={value}, is_number=True")
