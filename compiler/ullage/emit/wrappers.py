"""The module `wrappers`: objects of a vendor's library over slots of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ullage.emit.model import EngineModel
from ullage.emit.modules import IMPORTED, Module
from ullage.emit.names import Names, camel
from ullage.emit.rendering import render
from ullage.emit.settings import RESERVED_CLASSES
from ullage.emit.text import comment, docstring, literal, sentence
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr
from ullage.spec.model import Slot
from ullage.spec.wrappers import (
    FormulaValue,
    GivenKind,
    GivenValue,
    SlotValue,
    TextValue,
    Wrapper,
    WrapperArgument,
    slots_in,
)

TYPES: Final[Mapping[GivenKind, str]] = {
    "tensor": "Tensor",
    "tensors": "Tensor | tuple[Tensor, ...]",
    "dtype": "torch.dtype",
    "int": "int",
    "float": "float",
    "bool": "bool",
}
RESERVED_ARGUMENTS: Final = (
    *("batch", "config", "declared", "made", "plan", "run", "self"),
    *IMPORTED,
)
"""What the classes have or use besides the names of libraries."""


@dataclass(frozen=True, slots=True)
class SlotView:
    """One slot of the batches that a wrapper takes."""

    place: str
    field: str


@dataclass(frozen=True, slots=True)
class MethodView:
    """One method: its arguments, and what it hands to the library."""

    place: str
    arguments: str
    doc: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """The method `run`: its arguments, and the same as they are handed on."""

    place: str
    arguments: str
    given: str


@dataclass(frozen=True, slots=True)
class WrapperView:
    """One wrapper; texts without a value are empty."""

    place: str
    name: str
    doc: str
    declared: tuple[str, str, str, str]
    condition: str
    index: str
    index_text: str
    count: str
    slots_name: str
    slots_doc: str
    slots: tuple[SlotView, ...]
    make: MethodView
    plan: MethodView
    run: RunView


@dataclass(frozen=True, slots=True)
class WrappersEmitter:
    """Writes the wrappers of one engine."""

    engine: EngineModel

    def modules(self) -> Iterator[Module]:
        """The module `wrappers`, if the engine declares any."""
        if not self.engine.spec.wrappers:
            return
        taken = set(_classes_of(self.engine))
        views: list[WrapperView] = []
        for wrapper in self.engine.spec.wrappers:
            name = _free(camel(wrapper.name), taken)
            taken |= {name, f"{name}Slots"}
            views.append(_Writing(self.engine, wrapper, name).view())
        body = render("wrappers.py.j2", wrappers=views)
        about = (sentence(f"Objects of libraries over the buffers of {self.engine.spec.engine}"),)
        siblings = {"Config": "config"}
        siblings |= dict.fromkeys(self.engine.settings.enum_classes, "config")
        yield Module("wrappers.py", about, body, siblings)


def _classes_of(engine: EngineModel) -> Iterator[str]:
    """What else is called something in the package."""
    yield from (*RESERVED_CLASSES, *engine.settings.enum_classes)
    for worker in engine.spec.workers:
        yield engine.selection_class(worker.name)
    for runner in engine.runners:
        each = runner.classes
        yield from (each.batch, each.capacities, each.registry, each.extents)
        yield from (each.engine, each.runner, each.facts)


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it, or the class of its slots, is taken."""
    stem, number = name, 2
    while name in taken or f"{name}Slots" in taken:
        name, number = f"{stem}{number}", number + 1
    return name


class _Writing:
    """Writes one wrapper, whose class is called `name`."""

    def __init__(self, engine: EngineModel, wrapper: Wrapper, name: str) -> None:
        self._engine = engine
        self._wrapper = wrapper
        self._name = name
        self._rewrite = next(iter(engine.rewrites.values()))
        self._index = "" if wrapper.each is None else self._named((wrapper.each.index,))[0]
        self._fields = self._fields_of_batches()

    def view(self) -> WrapperView:
        """What the template is filled with."""
        wrapper = self._wrapper
        condition = "" if wrapper.when == TRUE else self._source("config", wrapper.when)
        each = wrapper.each
        return WrapperView(
            place=comment(wrapper.place.short),
            name=self._name,
            doc=self._doc(),
            declared=self._declared(),
            condition=condition,
            index="" if each is None else self._index,
            index_text="" if each is None else literal(each.index),
            count="" if each is None else self._source("config", each.count),
            slots_name=f"{self._name}Slots",
            slots_doc=docstring((sentence(f"What a batch has for {wrapper.name}"),)),
            slots=tuple(self._slots()),
            make=self._make(),
            plan=self._plan(),
            run=self._run(),
        )

    def _doc(self) -> str:
        wrapper = self._wrapper
        about = [f"wraps {wrapper.library}, an object of which is `made`"]
        if wrapper.each is not None:
            about.append(f"one object for each {wrapper.each.index} of {spell(wrapper.each.count)}")
        if wrapper.when != TRUE:
            about.append(f"only where {spell(wrapper.when)}")
        return docstring((sentence(wrapper.doc or wrapper.name), sentence("; ".join(about))))

    def _declared(self) -> tuple[str, str, str, str]:
        """What errors say: the wrapper, its class, its condition and its place."""
        wrapper = self._wrapper
        condition = literal(spell(wrapper.when))
        return (
            literal(wrapper.name),
            literal(wrapper.library),
            condition,
            literal(wrapper.place.short),
        )

    def _fields_of_batches(self) -> Mapping[str, str]:
        """The slots as fields of the batches that have all of them."""
        names = tuple(dict.fromkeys(value.slot for value in self._wrapper.slot_values))
        for runner in self._engine.runners:
            if {slot.name for slot in runner.slots}.issuperset(names):
                return {name: runner.field(name) for name in names}
        raise ValueError(f"no runner has all slots of wrapper {self._wrapper.name}")

    def _slots(self) -> Iterator[SlotView]:
        for name, field in self._fields.items():
            place = comment(self._engine.slot(name).place.short, 4)
            yield SlotView(place, field)

    def _make(self) -> MethodView:
        batch = self._batch(self._wrapper.make)
        index = f", {self._index}: int" if self._index else ""
        given = self._given(self._wrapper.make)
        arguments = f"self{batch}, config: Config{index}{given}"
        values = tuple(self._values(self._wrapper.make, "config", self._index))
        over = " over slots of the batch, whose storage it keeps" if batch else ""
        text = f"Makes the object{over}. Raises WrapperError for what it lacks."
        doc = docstring((text,), indent=8)
        return MethodView(self._place(self._wrapper.make), arguments, doc, values)

    def _plan(self) -> MethodView:
        batch = self._batch(self._wrapper.plan)
        arguments = f"self{batch}{self._given(self._wrapper.plan)}"
        index = f"self.{self._index}" if self._index else ""
        values = tuple(self._values(self._wrapper.plan, "self.config", index))
        over = " on slots of the batch; WrapperError for one that it lacks" if batch else ""
        doc = docstring((f"Prepares the runs that follow{over}.",), indent=8)
        return MethodView(self._place(self._wrapper.plan), arguments, doc, values)

    def _run(self) -> RunView:
        run = self._wrapper.run
        names = self._named(tuple(argument.name for argument in run))
        typed = zip(names, run, strict=True)
        arguments = "".join(f", {name}: {TYPES[argument.kind]}" for name, argument in typed)
        place = comment((run[0].place if run else self._wrapper.place).short, 4)
        return RunView(place, f"self{arguments}", ", ".join(names))

    def _batch(self, arguments: tuple[WrapperArgument, ...]) -> str:
        """The batch as an argument, where its slots are needed."""
        return f", batch: {self._name}Slots" if any(slots_in(arguments)) else ""

    def _given(self, arguments: tuple[WrapperArgument, ...]) -> str:
        """The keyword arguments of the engine."""
        given = [
            f"{name}: {TYPES[argument.value.kind]}"
            for name, argument in zip(self._names(arguments), arguments, strict=True)
            if isinstance(argument.value, GivenValue)
        ]
        return f", *, {', '.join(given)}" if given else ""

    def _values(
        self, arguments: tuple[WrapperArgument, ...], config: str, index: str
    ) -> Iterator[str]:
        """What the library gets."""
        for name, argument in zip(self._names(arguments), arguments, strict=True):
            match argument.value:
                case FormulaValue(formula=formula):
                    value = self._source(config, formula)
                case SlotValue() as seen:
                    value = self._slot(seen, index)
                case TextValue(text=text):
                    value = literal(text)
                case GivenValue():
                    value = name
            yield f"{argument.name}={value}"

    def _slot(self, seen: SlotValue, index: str) -> str:
        slot = self._engine.slot(seen.slot)
        parts = [literal(slot.name), f"batch.{self._fields[slot.name]}", literal(_only(slot))]
        if seen.at is not None:
            parts.append(f"at={index}")
        if seen.flat:
            parts.append("flat=True")
        return f"self.declared.slot({', '.join(parts)})"

    def _source(self, config: str, formula: Expr) -> str:
        return self._engine.settings.source(config).of(self._rewrite(formula))

    def _names(self, arguments: tuple[WrapperArgument, ...]) -> tuple[str, ...]:
        return self._named(tuple(argument.name for argument in arguments), self._index)

    def _named(self, names: tuple[str, ...], *taken: str) -> tuple[str, ...]:
        """Names of the library as arguments of a method, which has some of its own."""
        python = Names(names, (*RESERVED_ARGUMENTS, *filter(None, taken)))
        return tuple(python.of(name) for name in names)

    def _place(self, arguments: tuple[WrapperArgument, ...]) -> str:
        return comment((arguments[0].place if arguments else self._wrapper.place).short, 4)


def _only(slot: Slot) -> str:
    """Of which batches a slot is part."""
    parts = [] if slot.when == TRUE else [f"where {spell(slot.when)}"]
    if slot.modes:
        parts.append(f"in {', '.join(slot.modes)}")
    if slot.optional:
        parts.append(f"with {slot.source}")
    return ", ".join(parts) or "by its own runners"
