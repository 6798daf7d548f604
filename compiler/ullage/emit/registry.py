"""The module `registry`: the static buffers of each runner, and views of their padded heads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.model import EngineModel, RunnerModel
from ullage.emit.modules import Module
from ullage.emit.rendering import render
from ullage.emit.source import Source
from ullage.emit.text import comment, docstring, literal, sentence, tuple_of
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE
from ullage.plan.model import Dimension, PlannedSlot
from ullage.spec.model import DeviceRole

ROLES: tuple[DeviceRole, ...] = ("compute", "host")


@dataclass(frozen=True, slots=True)
class SlotView:
    """One slot: its field, and how it is placed in an arena.

    `field` and `source` are literals: of its own field, and of that of the live batch, if any.
    """

    place: str
    name: str
    field: str
    source: str
    key: str
    annotation: str
    doc: str
    shape: str
    dtype: str
    condition: str


@dataclass(frozen=True, slots=True)
class ArenaView:
    """The slots of one device role in the order of the plan; `fixed` are always there."""

    role: str
    fixed: tuple[SlotView, ...]
    slots: tuple[SlotView, ...]


@dataclass(frozen=True, slots=True)
class ConstantView:
    """A slot that is written once; `element` gives what stands at each position.

    `guarded`: only some configurations have it.
    """

    slot: str
    key: str
    element: str
    place: str
    guarded: bool


@dataclass(frozen=True, slots=True)
class RegistryView:
    """The registry of one runner."""

    place: str
    name: str
    capacities: str
    title: str
    doc: str
    arenas: tuple[ArenaView, ...]
    slots: tuple[SlotView, ...]
    constants: tuple[ConstantView, ...]


@dataclass(frozen=True, slots=True)
class RegistryEmitter:
    """Writes the registries of all runners of one engine."""

    engine: EngineModel

    def module(self) -> Module:
        """The module `registry`."""
        body = render(
            "registry.py.j2", runners=[self._runner(each) for each in self.engine.runners]
        )
        about = (sentence(f"The static buffers of {self.engine.spec.engine}"),)
        siblings = {"Config": "config", "Rows": "batch"}
        siblings |= dict.fromkeys(self.engine.settings.enum_classes, "config")
        siblings |= {each.classes.capacities: "capacities" for each in self.engine.runners}
        return Module("registry.py", about, body, siblings)

    def _runner(self, runner: RunnerModel) -> RegistryView:
        slots = {slot.name: self._slot(runner, slot) for slot in runner.slots}
        return RegistryView(
            comment(runner.planned.place.short),
            runner.classes.registry,
            runner.classes.capacities,
            literal(f"{runner.planned.runner} of worker {runner.planned.worker}"),
            docstring(
                (sentence(f"The static buffers of the {runner.title}, each at its capacity"),)
            ),
            tuple(self._arenas(runner, slots)),
            tuple(slots.values()),
            tuple(self._constants(runner)),
        )

    def _constants(self, runner: RunnerModel) -> Iterator[ConstantView]:
        for slot in runner.constants:
            if slot.elements is not None:
                position = slot.elements.position
                names = {position: position} if position else {}
                value = self._config.with_names(names).of(slot.elements.value)
                yield ConstantView(
                    runner.field(slot.name),
                    literal(slot.name),
                    f"lambda {position or '_'}: {value}",
                    literal(slot.place.short),
                    slot.guard != TRUE,
                )

    def _arenas(self, runner: RunnerModel, slots: dict[str, SlotView]) -> Iterator[ArenaView]:
        """The slots by device, those that are kept apart if there are any."""
        for kept in (False, True) if runner.planned.kept else (False,):
            for role in ROLES:
                members = tuple(
                    slots[slot.name]
                    for slot in runner.slots
                    if slot.device == role and slot.kept == kept
                )
                fixed = tuple(each for each in members if not each.condition)
                yield ArenaView(f"kept_{role}" if kept else role, fixed, members)

    @property
    def _config(self) -> Source:
        return self.engine.settings.source("config")

    def _slot(self, runner: RunnerModel, slot: PlannedSlot) -> SlotView:
        name = runner.field(slot.name)
        guarded = slot.guard != TRUE
        shape = tuple_of(self._capacity(runner, each) for each in slot.dimensions)
        spelled = ", ".join(spell(self.engine.by_axes(each.extent)) for each in slot.dimensions)
        source = slot.source
        return SlotView(
            comment(slot.place.short, 4),
            name,
            literal(name),
            "" if source is None else literal(self.engine.live_field(source).name),
            literal(slot.name),
            "Tensor | None" if guarded else "Tensor",
            docstring((sentence(f"[{spelled}]: {slot.doc or slot.name}"),)),
            shape,
            dtype_source(slot),
            self._config.of(slot.guard) if guarded else "",
        )

    def _capacity(self, runner: RunnerModel, dimension: Dimension) -> str:
        if dimension.target is None:
            return self._config.of(dimension.capacity)
        length = f"capacities.{runner.capacity_field(dimension.target)}"
        if dimension.rises is None:
            return length
        return self._config.with_names({f"padded_{dimension.rises}": length}).of(dimension.extent)


def dtype_source(slot: PlannedSlot, device: str = "device") -> str:
    """The dtype that a slot is allocated with; `device`: what gives where it lies."""
    if slot.device == "host":
        return f"torch.{slot.cpu_dtype}"
    if slot.dtype == slot.cpu_dtype:
        return f"torch.{slot.dtype}"
    return f'(torch.{slot.cpu_dtype} if {device}.type == "cpu" else torch.{slot.dtype})'
