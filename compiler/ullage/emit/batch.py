"""The module `batch`: modes, live batches, and the padded batches that load returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ullage.emit.axes import differ
from ullage.emit.live_fields import LiveField
from ullage.emit.model import EngineModel, RunnerModel
from ullage.emit.modules import Module
from ullage.emit.needs import FieldPath, Needs
from ullage.emit.rendering import render
from ullage.emit.text import comment, docstring, entries, literal, sentence, tuple_of
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE
from ullage.plan.model import PlannedSlot
from ullage.spec.model import LiveVariable, Mode, Slot


@dataclass(frozen=True, slots=True)
class ModeView:
    """One mode as a member of the enum."""

    place: str
    member: str
    value: str
    doc: str
    category: str
    families: str


@dataclass(frozen=True, slots=True)
class FieldView:
    """One field of a batch."""

    places: tuple[str, ...]
    name: str
    annotation: str
    default: str
    doc: str


@dataclass(frozen=True, slots=True)
class AxisView:
    """One axis, as a field for padded rows, and one for live rows if batches bring some."""

    place: str
    name: str
    doc: str
    is_brought: bool


@dataclass(frozen=True, slots=True)
class BatchView:
    """The padded batch of one runner."""

    name: str
    doc: str
    fields: tuple[FieldView, ...]


@dataclass(frozen=True)
class BatchEmitter:
    """Writes the batches of one engine."""

    engine: EngineModel

    def module(self) -> Module:
        """The module `batch`."""
        modes = self.engine.spec.modes
        body = render(
            "batch.py.j2",
            modes=[_mode(mode) for mode in modes],
            axes=[
                AxisView(
                    comment(axis.place.short, 4),
                    self.engine.axis(axis.name),
                    _doc(axis.doc or axis.name),
                    axis.is_brought,
                )
                for axis in self.engine.axes
            ],
            live_doc=self._live_doc(),
            live_fields=[self._live_field(each) for each in self.engine.live_fields.values()],
            offers=any(self.engine.has_choice(each.name) for each in self.engine.spec.workers),
            differ=differ(self.engine, "self.live", "self.padded"),
            batches=[self._batch(each) for each in self.engine.runners],
        )
        about = (
            sentence(f"Batches of {self.engine.spec.engine}: their modes, before and after load"),
        )
        return Module("batch.py", about, body, {})

    def _live_doc(self) -> str:
        fields = self.engine.live_fields.values()
        about = "What a scheduler hands to a runner; its tensors have exactly the live rows"
        return docstring(
            (sentence(about), "Without live rows none of them is needed."),
            listing=entries((each.name, self._texts[each.path]) for each in fields),
        )

    @cached_property
    def _texts(self) -> Mapping[FieldPath, str]:
        """What each field of a live batch is, and in which modes it is needed."""
        needs = Needs(self.engine)
        return {path: self._text(each, needs) for path, each in self.engine.live_fields.items()}

    def _text(self, field: LiveField, needs: Needs) -> str:
        if field.varies is not None:
            return f"{field.varies.doc or field.varies.name}; None for the configured value."
        texts = (*self._texts_of(field), *needs.of(field))
        return sentence("; ".join(dict.fromkeys(texts)))

    @cached_property
    def _slots(self) -> Mapping[FieldPath, list[Slot]]:
        """The slots that are loaded from each field."""
        found: dict[FieldPath, list[Slot]] = {}
        for slot in self.engine.spec.slots:
            if slot.source is not None:
                found.setdefault(slot.source.path, []).append(slot)
        return found

    @cached_property
    def _variables(self) -> Mapping[FieldPath, list[tuple[Mode, LiveVariable]]]:
        """The live variables that are seen in each field, or that debug mode reads from it."""
        found: dict[FieldPath, list[tuple[Mode, LiveVariable]]] = {}
        for mode in self.engine.spec.modes:
            for variable in mode.live:
                debug = () if variable.debug_in is None else (variable.debug_in,)
                for path in dict.fromkeys(each.path for each in (*variable.seen_in, *debug)):
                    found.setdefault(path, []).append((mode, variable))
        return found

    def _live_field(self, field: LiveField) -> FieldView:
        doc = _doc(self._texts[field.path])
        if field.varies is not None:
            place = comment(field.varies.place.short, 4)
            return FieldView((place,), field.name, "int | None", " = None", doc)
        places = tuple(dict.fromkeys(comment(place, 4) for place in self._places_of(field)))
        if field.is_tensor:
            return FieldView(places, field.name, "Tensor | None", " = None", doc)
        return FieldView(places, field.name, "int", " = 0", doc)

    def _places_of(self, field: LiveField) -> Iterator[str]:
        for slot in self._slots.get(field.path, ()):
            yield slot.place.short
        for carried in self.engine.spec.carried:
            if carried.source.path == field.path:
                yield carried.place.short
        for _, variable in self._variables.get(field.path, ()):
            if not field.is_tensor and _is_seen_in(variable, field):
                yield variable.place.short
                return
            if _is_debugged_in(variable, field):
                yield variable.place.short

    def _texts_of(self, field: LiveField) -> Iterator[str]:
        for slot in self._slots.get(field.path, ()):
            shape = ", ".join(spell(extent) for extent in slot.shape)
            yield f"[{shape}], {' or '.join(_dtypes(slot))}: {slot.doc or slot.name}"
        for carried in self.engine.spec.carried:
            if carried.source.path == field.path:
                yield f"passed on as it is: {carried.doc or carried.name}"
        for mode, variable in self._variables.get(field.path, ()):
            if not field.is_tensor and _is_seen_in(variable, field):
                yield variable.doc or variable.name
            if _is_debugged_in(variable, field):
                yield f"what debug mode takes for {variable.name} of {mode.name}"

    def _batch(self, runner: RunnerModel) -> BatchView:
        fields = [self._slot(runner, slot) for slot in runner.slots]
        for each in runner.carried:
            place = (comment(each.place.short, 4),)
            text = f"{each.doc or each.name}; as it was in the live batch"
            name = runner.field(each.name)
            fields.append(FieldView(place, name, "Tensor | None", " = None", _doc(text)))
        doc = docstring(
            (
                sentence(f"A batch as the {runner.title} has loaded it"),
                "Slots are views of static buffers, valid until the next load; one that the mode "
                "does not load, or whose source is absent, is None.",
            )
        )
        return BatchView(runner.classes.batch, doc, tuple(fields))

    def _slot(self, runner: RunnerModel, slot: PlannedSlot) -> FieldView:
        extents = (self.engine.by_axes(dimension.extent) for dimension in slot.dimensions)
        shape = ", ".join(map(spell, extents))
        where = " on the host" if slot.device == "host" else ""
        parts = [f"[{shape}], {slot.dtype}{where}: {slot.doc or slot.name}"]
        modes = {mode.name for mode, _ in runner.modes}
        if slot.tails.keys() != modes:
            parts.append(f"loaded in {', '.join(slot.tails)}")
        if slot.guard != TRUE:
            parts.append(f"only where {spell(slot.guard)}")
        if slot.carried_otherwise:
            parts.append("elsewhere as it was in the live batch")
        place = (comment(slot.place.short, 4),)
        name = runner.field(slot.name)
        return FieldView(place, name, "Tensor | None", " = None", _doc("; ".join(parts)))


def _is_seen_in(variable: LiveVariable, field: LiveField) -> bool:
    return any(source.path == field.path for source in variable.seen_in)


def _is_debugged_in(variable: LiveVariable, field: LiveField) -> bool:
    return variable.debug_in is not None and variable.debug_in.path == field.path


def _dtypes(slot: Slot) -> tuple[str, ...]:
    return tuple(dict.fromkeys((slot.dtype, slot.cpu_dtype, *slot.casts_from)))


def _mode(mode: Mode) -> ModeView:
    listed = tuple_of(map(literal, mode.families))
    doc = _doc(mode.doc or mode.name)
    place = comment(mode.place.short, 4)
    name, category = mode.name.upper(), literal(mode.category)
    return ModeView(place, name, literal(mode.name), doc, category, listed)


def _doc(text: str) -> str:
    return docstring((sentence(text),))
