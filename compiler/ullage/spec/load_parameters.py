"""Loading the sections about the engine: axes, workers, parameters and what follows from them."""

from __future__ import annotations

from typing import get_args

from ullage.expr.tree import TRUE, Enumerant, Expr, Name
from ullage.expr.units import NO_UNIT, Unit
from ullage.spec import former_keys, problems
from ullage.spec.model import (
    Axis,
    Constraint,
    Definition,
    Parameter,
    ParameterType,
    Worker,
)
from ullage.spec.reading import Reading
from ullage.text.fields import Fields
from ullage.text.nodes import Entry, Mapping, Scalar

PARAMETER_TYPES: tuple[ParameterType, ...] = get_args(ParameterType)

_KEYS_OF_TYPE: dict[str, tuple[str, ...]] = {
    "int": ("range", "unit", "varies"),
    "list": ("range", "unit"),
    "enum": ("choices",),
    "bool": (),
}


def load_axes(reading: Reading, library: Fields) -> tuple[Axis, ...]:
    """The dimensions that batches vary in."""
    return tuple(
        _axis(reading, name, fields)
        for name, fields in reading.entries(library.named("axes", required=True), "axis")
    )


def _axis(reading: Reading, name: Scalar, fields: Fields) -> Axis:
    unit = reading.unit(fields) or NO_UNIT
    begins = reading.of(fields, "begins_as")
    axis = Axis(name.text, unit, fields.text("doc", default=""), name.place, begins)
    fields.finish()
    return axis


def load_workers(reading: Reading, library: Fields) -> tuple[Worker, ...]:
    """The process roles, in the order they are declared."""
    return tuple(
        _worker(reading, name, fields)
        for name, fields in reading.entries(library.named("workers", required=True), "worker")
    )


def _worker(reading: Reading, name: Scalar, fields: Fields) -> Worker:
    when = reading.when(fields)
    worker = Worker(name.text, when, fields.text("doc", default=""), name.place)
    fields.finish()
    return worker


def load_parameters(reading: Reading, library: Fields) -> tuple[Parameter, ...]:
    """The engine's arguments, in the order they are declared."""
    return tuple(
        _parameter(reading, name, fields)
        for name, fields in reading.entries(library.named("parameters"), "parameter")
    )


def _parameter(reading: Reading, name: Scalar, fields: Fields) -> Parameter:
    kind = _type(fields)
    _check_keys_of_type(reading, kind, fields)
    choices = fields.identifiers("choices", required=kind == "enum")
    names = tuple(choice.text for choice in choices)
    parameter = Parameter(
        name=name.text,
        type=kind,
        unit=reading.unit(fields) or NO_UNIT,
        range=reading.range(fields, "range", required=kind in ("int", "list")),
        choices=names,
        when=reading.when(fields),
        default=_default(reading, name, names, fields),
        per_worker=fields.choice("per", ("worker",)) is not None,
        varies=reading.name(fields, "varies", "list parameter"),
        doc=fields.text("doc", default=""),
        place=name.place,
    )
    fields.finish(former_keys.PARAMETER)
    return parameter


def _type(fields: Fields) -> ParameterType:
    word = fields.choice("type", PARAMETER_TYPES, required=True)
    return next((known for known in PARAMETER_TYPES if known == word), "bool")


def _check_keys_of_type(reading: Reading, kind: ParameterType, fields: Fields) -> None:
    if fields.text("type") not in PARAMETER_TYPES:
        return
    for key in ("range", "unit", "choices", "varies"):
        if key in fields and key not in _KEYS_OF_TYPE[kind]:
            message = f"{fields.what} is of type {kind}, which takes no '{key}'"
            place, related = fields.key_place(key), ((fields.place("type"), "the type"),)
            reading.collector.error(problems.CONTRADICTING_KEYS, message, place, related=related)


def _default(
    reading: Reading, name: Scalar, values: tuple[str, ...], fields: Fields
) -> Expr | None:
    """The default; a bare value of the parameter's own enum is that value."""
    default = reading.of(fields, "default")
    if isinstance(default, Name) and default.name in values:
        code = values.index(default.name)
        return Enumerant(name.text, default.name, code, place=default.place)
    return default


def load_constraints(reading: Reading, library: Fields) -> tuple[Constraint, ...]:
    """The relations that legal configurations satisfy."""
    items = library.items("constraints")
    found = (reading.fields(item, "a constraint") for item in items)
    return tuple(_constraint(reading, fields) for fields in found if fields is not None)


def _constraint(reading: Reading, fields: Fields) -> Constraint:
    constraint = Constraint(
        that=reading.required(fields, "that"),
        when=reading.when(fields),
        reason=fields.text("else", required=True) or "",
        place=fields.place("that"),
    )
    fields.finish()
    return constraint


def load_definitions(reading: Reading, library: Fields) -> tuple[Definition, ...]:
    """The named expressions over parameters, in the order they are written."""
    return tuple(_definition(reading, entry) for entry in library.named("definitions"))


def _definition(reading: Reading, entry: Entry) -> Definition:
    name = entry.key
    what = f"definition '{name.text}'"
    if not isinstance(entry.value, Mapping):
        value = reading.expression(entry.value, what)
        return Definition(name.text, value, None, TRUE, "", name.place)
    fields = Fields(entry.value, reading.collector, what)
    value = reading.required(fields, "value")
    unit: Unit | None = reading.unit(fields)
    when = reading.when(fields)
    definition = Definition(
        name.text, value, unit, when, fields.text("doc", default=""), name.place
    )
    fields.finish()
    return definition
