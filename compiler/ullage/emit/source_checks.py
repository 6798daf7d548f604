"""How sources are checked: before ranks exchange anything, and so before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.text import comment, literal, tuple_of
from ullage.expr.tree import TRUE
from ullage.plan.model import PlannedSlot
from ullage.spec.model import Range


@dataclass(frozen=True, slots=True)
class SourceCheck:
    """Writes what is asked of the source of one slot; `settled`: whether the runner is known.

    Only the runner that loads a batch knows which of its sources may lie in static storage. The
    lines name `config`, `live`, `mode`, `registry`, `rows` and live extents of slots; and `known`,
    if all the rest may have been looked at before the runner was chosen.
    """

    runner: RunnerModel
    slot: PlannedSlot
    settled: bool = True
    known: bool = False

    def lines(self) -> Iterator[str]:
        """Dtype, device, shape and place, of which the host knows all."""
        if self.slot.source is None:
            return
        condition = self._condition()
        yield comment(self.slot.place.short, 8)
        if condition:
            yield f"if {condition}:"
        yield f"{'    ' if condition else ''}{self._call()}"

    def values(self) -> Iterator[str]:
        """The range of every element, which only the device may know."""
        if self.slot.brought is None or self.slot.source is None:
            return
        low, high = self._range(self.slot.brought)
        yield f"if {' and '.join((*self._exists, f'{self._live} is not None'))}:"
        yield (
            f"    check_values(mode, {literal(self.slot.name)}, {self._live}, {low}, {high}, "
            f"place={literal(self.slot.place.short)})"
        )

    @property
    def _live(self) -> str:
        """The source as a field of the live batch."""
        source = self.slot.source
        return "" if source is None else f"live.{self.runner.engine.live_field(source).name}"

    @property
    def _registry(self) -> str:
        return f"registry.{self.runner.field(self.slot.name)}"

    @property
    def _exists(self) -> tuple[str, ...]:
        """When the configuration has the slot, if that is ever in question."""
        return () if self.slot.guard == TRUE else (f"{self._registry} is not None",)

    def _condition(self) -> str:
        """When the source is looked at: an optional one if given, others if rows are live."""
        exists = self._exists
        given = f"{self._live} is not None"
        moving = [p for p, each in enumerate(self.slot.dimensions) if each.target is not None]
        if self.slot.optional:
            return " and ".join((*exists, given))
        if not moving:
            return " and ".join(exists)
        wanted = f"{given} or {self._extent(moving[0])} > 0"
        return " and ".join((*exists, f"({wanted})")) if exists else wanted

    def _extent(self, position: int) -> str:
        """The live extent of a dimension."""
        own = self.runner.own_extents_of(self.slot)
        if position in own:
            return own[position].live
        engine = self.runner.engine
        names = {f"padded_{a.name}": f"rows.{engine.axis(a.name)}" for a in engine.axes}
        extent = self.slot.dimensions[position].extent
        return engine.settings.source("config").with_names(names).of(extent)

    def _call(self) -> str:
        shape = tuple_of(self._extent(p) for p in range(len(self.slot.dimensions)))
        accepts = tuple_of(f"torch.{each}" for each in self.slot.casts_from)
        given = f", accepts={accepts}" if self.slot.casts_from else ""
        placed = "" if self.settled else ", settled=False"
        placed += ", known=known" if self.known else ""
        return (
            f"check_source(mode, {literal(self.slot.name)}, {self._live}, shape={shape}, "
            f"into={self._registry}, regions=registry.regions, "
            f"place={literal(self.slot.place.short)}{given}{placed})"
        )

    def _range(self, values: Range) -> tuple[str, str]:
        source = self.runner.engine.settings.source("config")
        return source.of(values.low), source.of(values.high)
