"""How a runner loads: extents of each mode, checks before any write, then heads and tails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ullage.emit.accepting import shared_slots
from ullage.emit.extents import ExtentsWriter
from ullage.emit.model import RunnerModel
from ullage.emit.padding import FunctionView, fit_function, live_function, pad_function
from ullage.emit.scope import scope_of
from ullage.emit.slot_loads import SlotLoad, SlotWriter
from ullage.emit.text import comment, docstring, literal
from ullage.expr.simplify import fold
from ullage.expr.tree import Integer
from ullage.spec.model import Mode


@dataclass(frozen=True, slots=True)
class ExtentsView:
    """The method that finds and checks the extents of one mode."""

    place: str
    mode: str
    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlikeView:
    """Slots that have one shape in every batch; `shapes` gives it."""

    shapes: str
    slots: tuple[SlotLoad, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """Modes that load the same slots with the same tails."""

    name: str
    doc: str
    modes: tuple[str, ...]
    slots: tuple[SlotLoad, ...]
    unloaded: tuple[str, ...]
    extents: tuple[str, ...]
    knows: bool

    @property
    def members(self) -> str:
        """The modes as what stands in a tuple."""
        listed = ", ".join(f"Mode.{mode.upper()}" for mode in self.modes)
        return listed if len(self.modes) > 1 else f"{listed},"

    @property
    def alike(self) -> Iterator[AlikeView]:
        """The slots by their shape."""
        for shapes in dict.fromkeys(slot.shapes for slot in self.slots):
            yield AlikeView(shapes, tuple(slot for slot in self.slots if slot.shapes == shapes))

    @property
    def check(self) -> str:
        """The call that checks the sources of a batch; empty where there is nothing to check."""
        if not any(slot.check for slot in self.slots):
            return ""
        given = "".join(f", {name}" for name in self.extents)
        given += ", isinstance(pad, Offer) and pad.checked" if self.knows else ""
        return f"self._check_sources_{self.name}(live, rows{given})"

    @property
    def checks_values(self) -> bool:
        """Whether some source has a range of values."""
        return any(slot.values for slot in self.slots)

    @property
    def poisons(self) -> bool:
        """Whether there is anything to poison."""
        return bool(self.unloaded or any(slot.poison for slot in self.slots))

    @property
    def verifies(self) -> bool:
        """Whether a reader looks at padded rows of some slot."""
        return any(slot.verify for slot in self.slots)


@dataclass(frozen=True)
class Loading:
    """Writes the loading part of one runner."""

    runner: RunnerModel

    def functions(self) -> Iterator[FunctionView]:
        """The pure functions of every mode."""
        for mode, _ in self.runner.modes:
            scope = scope_of(self.runner, mode)
            yield live_function(scope)
            yield pad_function(scope)
            if self.runner.runner.pipeline_in(mode.name):
                yield fit_function(scope)

    def extents(self) -> Iterator[ExtentsView]:
        """The methods that find the extents of every mode."""
        checks = {mode: group.check for group in self.groups for mode in group.modes}
        for mode, _ in self.runner.modes:
            scope = scope_of(self.runner, mode)
            lines = tuple(ExtentsWriter(scope).lines(checks[mode.name]))
            yield ExtentsView(comment(mode.place.short, 4), literal(mode.name), mode.name, lines)

    @cached_property
    def groups(self) -> tuple[GroupView, ...]:
        """Modes by what they load, and whether they have any rows."""
        grouped: dict[tuple[object, ...], list[Mode]] = {}
        for mode, _ in self.runner.modes:
            loads = (
                (slot.name, slot.tails[mode.name].fill)
                for slot in self.runner.slots
                if mode.name in slot.tails
            )
            grouped.setdefault((_has_rows(mode), *loads), []).append(mode)
        return tuple(self._group(modes) for modes in grouped.values())

    def _group(self, modes: list[Mode]) -> GroupView:
        first = modes[0].name
        loaded = [slot for slot in self.runner.slots if first in slot.tails]
        absent = [slot for slot in self.runner.slots if first not in slot.tails]
        known = self._known(modes)
        slots = tuple(
            SlotWriter(
                self.runner,
                slot,
                slot.tails[first],
                slot.name in known,
                _has_rows(modes[0]),
            ).load()
            for slot in loaded
        )
        return GroupView(
            group_name(modes, self.runner),
            docstring((f"The slots of {', '.join(mode.name for mode in modes)}.",), indent=8),
            tuple(mode.name for mode in modes),
            slots,
            tuple(
                f"self.registry.{self.runner.field(each.name)}" for each in absent if not each.kept
            ),
            tuple(each.live for each in self.runner.own_extents if first in each.slot.tails),
            any(slot.name in known and slot.source is not None for slot in loaded),
        )

    def _known(self, modes: list[Mode]) -> frozenset[str]:
        """The slots whose sources `select` checks in all these modes."""
        engine, worker = self.runner.engine, self.runner.planned.worker
        if not engine.has_choice(worker):
            return frozenset()
        shared = [shared_slots(each) for each in engine.chains[worker] if each.mode in modes]
        return frozenset.intersection(*shared)


def _has_rows(mode: Mode) -> bool:
    """Whether a batch of the mode may have rows; a rank without work has none."""
    return any(fold(extent) != Integer(0) for _, extent in mode.axes)


def group_name(modes: list[Mode], runner: RunnerModel) -> str:
    """A family if the modes are exactly its own, else the first mode."""
    families = [family for family in modes[0].families if all(family in m.families for m in modes)]
    for family in families:
        members = [mode.name for mode, _ in runner.modes if family in mode.families]
        if members == [mode.name for mode in modes]:
            return family
    return modes[0].name
