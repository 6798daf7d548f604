"""Loading slots, carried fields and the readers of slots."""

from __future__ import annotations

from typing import cast, get_args

from ullage.expr.parse import SourceRef
from ullage.expr.tree import TRUE, Expr, conjunction
from ullage.place import Place
from ullage.spec import former_keys, problems
from ullage.spec.elements import Elements
from ullage.spec.model import (
    Carried,
    DeviceRole,
    Dtype,
    Lifetime,
    Read,
    Reader,
    ReadLeft,
    Slot,
    Writer,
)
from ullage.spec.reading import Reading
from ullage.text.fields import Fields
from ullage.text.nodes import Mapping, Scalar, Sequence

DEVICE_ROLES: tuple[DeviceRole, ...] = ("compute", "host")
WRITERS = ("source", "value", "written_by")


def load_slots(reading: Reading, library: Fields) -> tuple[Slot, ...]:
    """The static input buffers that are in no group."""
    return tuple(
        load_slot(reading, name, fields)
        for name, fields in reading.entries(library.named("slots"), "slot")
    )


def load_slot(reading: Reading, name: Scalar, fields: Fields, where: Expr = TRUE) -> Slot:
    """One static input buffer; `where`: for which configurations there is its group."""
    dtype, cpu_dtype = _dtypes(reading, fields)
    lifetime, elements = _lifetime(reading, fields)
    slot = Slot(
        name=name.text,
        shape=_shape(reading, fields),
        dtype=dtype,
        cpu_dtype=cpu_dtype,
        device=cast(DeviceRole, fields.choice("device", DEVICE_ROLES, default="compute")),
        source=reading.source_field(fields, "source"),
        value=None if lifetime == "once" else reading.of(fields, "value"),
        range=reading.range(fields, "range"),
        casts_from=reading.dtypes(fields.scalars("casts_from"), f"'casts_from' of {fields.what}"),
        optional=fields.boolean("optional", default=False),
        modes=reading.names_or_all(fields, "modes", "mode or family"),
        when=conjunction(where, reading.when(fields)),
        refuse_on_overflow=fields.choice("on_overflow", ("refuse_config",)) is not None,
        doc=fields.text("doc", default=""),
        place=name.place,
        written_by=_writer(reading, fields),
        live_range=reading.range(fields, "live_range"),
        lifetime=lifetime,
        elements=elements,
        carried_otherwise=fields.choice("otherwise", ("carried",)) is not None,
    )
    _check_writers(reading, fields)
    _check_otherwise(reading, fields, slot)
    _check_live_range(reading, fields)
    fields.finish(former_keys.SLOT)
    return slot


def _lifetime(reading: Reading, fields: Fields) -> tuple[Lifetime, Elements | None]:
    """How long what the slot holds is left alone, and what that is if it is so for good."""
    lifetime = cast(Lifetime, fields.choice("lifetime", get_args(Lifetime), default="load"))
    position = fields.identifier("each", default="")
    if lifetime != "once":
        if "each" in fields:
            message = f"{fields.what} is loaded, so 'each' says nothing about it"
            hint = "say 'lifetime: once' if its elements are written at the start and then left"
            place = fields.key_place("each")
            reading.collector.error(problems.CONTRADICTING_KEYS, message, place, hint=hint)
        return lifetime, None
    value = reading.of(fields, "value")
    if value is not None:
        return lifetime, Elements(position, value, fields.key_place("value"))
    if "value" not in fields:
        message = f"{fields.what} is written once at the start: expected a 'value' for its elements"
        place = fields.key_place("lifetime")
        reading.collector.error(problems.MISSING_KEY, message, place)
    return lifetime, None


def _shape(reading: Reading, fields: Fields) -> tuple[Expr, ...]:
    items = fields.items("shape", required=True)
    return tuple(reading.expression(item, f"an extent of {fields.what}") for item in items)


def _dtypes(reading: Reading, fields: Fields) -> tuple[Dtype, Dtype]:
    """The element types on an accelerator and on a CPU."""
    node = fields.raw("dtype", required=True)
    if isinstance(node, Mapping):
        inner = Fields(node, reading.collector, f"'dtype' of {fields.what}")
        found = [inner.scalar(where, required=True) for where in ("accelerator", "cpu")]
        inner.finish(former_keys.DTYPE)
    else:
        found = [fields.scalar("dtype", required=True)] * 2
    dtypes = [scalar and reading.dtype(scalar, f"'dtype' of {fields.what}") for scalar in found]
    return dtypes[0] or "int64", dtypes[1] or "int64"


def _writer(reading: Reading, fields: Fields) -> Writer | None:
    """The steps that write the slot: their names, or a mapping with the rows that they write."""
    node = fields.raw("written_by")
    if node is None:
        return None
    if not isinstance(node, Mapping):
        return Writer(_steps(reading, fields, "written_by"), "padded", node.place)
    inner = Fields(node, reading.collector, f"'written_by' of {fields.what}")
    steps = _steps(reading, inner, "step")
    rows = inner.choice("rows", ("live", "padded"), default="padded")
    inner.finish()
    return Writer(steps, "live" if rows == "live" else "padded", node.place)


def _steps(reading: Reading, fields: Fields, key: str) -> tuple[str, ...]:
    """One step or several, of which each runner has one."""
    steps = tuple(scalar.text for scalar in fields.identifiers(key, required=True))
    node = fields.raw(key)
    if isinstance(node, Sequence) and not node.items:
        message = f"'{key}' of {fields.what} is an empty list"
        reading.collector.error(problems.WRONG_COUNT, message, node.place, hint="name a step")
    return steps


def _check_writers(reading: Reading, fields: Fields) -> None:
    """Exactly one of a source, a computation and a step writes a slot."""
    given = [key for key in WRITERS if key in fields]
    if not given:
        message = f"nothing writes {fields.what}: expected a 'source', a 'value' or a 'written_by'"
        reading.collector.error(problems.MISSING_KEY, message, fields.node.place)
        return
    first, *others = given
    for other in others:
        message = f"{fields.what} has both '{first}' and '{other}', expected one of them"
        related = ((fields.key_place(first), f"'{first}'"),)
        place = fields.key_place(other)
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, related=related)
    if others or first == "source":
        return
    meaningless = (
        "casts_from",
        "optional",
        "otherwise",
        *(("live_range",) if first == "value" else ()),
    )
    for key in (each for each in meaningless if each in fields):
        message = f"{fields.what} has no source, so '{key}' says nothing about it"
        place, related = fields.key_place(key), ((fields.key_place(first), f"'{first}'"),)
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, related=related)


def _check_otherwise(reading: Reading, fields: Fields, slot: Slot) -> None:
    """A source can be carried only where there is no slot for it."""
    if slot.carried_otherwise and slot.when == TRUE:
        message = f"{fields.what} exists everywhere, so 'otherwise' says nothing about it"
        hint = "say by 'when' for which configurations there is a slot"
        place = fields.key_place("otherwise")
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, hint=hint)


def _check_live_range(reading: Reading, fields: Fields) -> None:
    """What live rows hold is part of what the slot may hold, as is what padded rows do."""
    if "live_range" in fields and "range" not in fields:
        message = f"{fields.what} has 'live_range' and no 'range', which it is a part of"
        hint = "state 'range' as well: it also holds what padded rows are filled with"
        place = fields.key_place("live_range")
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, hint=hint)


def load_carried(reading: Reading, library: Fields) -> tuple[Carried, ...]:
    """The batch fields that load passes through."""
    found = (
        _carried(reading, name, fields)
        for name, fields in reading.entries(library.named("carried"), "carried field")
    )
    return tuple(carried for carried in found if carried is not None)


def _carried(reading: Reading, name: Scalar, fields: Fields) -> Carried | None:
    source: SourceRef | None = reading.source_field(fields, "source", required=True)
    doc = fields.text("doc", default="")
    fields.finish()
    return None if source is None else Carried(name.text, source, doc, name.place)


def load_readers(reading: Reading, library: Fields, slots: tuple[Slot, ...]) -> tuple[Reader, ...]:
    """Who reads which rows of which slots."""
    declared = {slot.name: slot.place for slot in slots}
    return tuple(
        _reader(reading, name, fields, declared)
        for name, fields in reading.entries(library.named("readers"), "reader")
    )


def _reader(reading: Reading, name: Scalar, fields: Fields, declared: dict[str, Place]) -> Reader:
    reads = reading.entries(fields.named("reads", required=True), f"what '{name.text}' reads of")
    for slot, _ in reads:
        reading.refer("slot", slot)
    reader = Reader(
        name=name.text,
        when=reading.when(fields),
        modes=reading.names_or_all(fields, "modes", "mode or family"),
        reads=tuple(
            _read(reading, f"reader '{name.text}'", slot, inner, declared)
            for slot, inner in reads
            if "from" not in inner
        ),
        doc=fields.text("doc", default=""),
        place=name.place,
        left=tuple(_read_left(reading, slot, inner) for slot, inner in reads if "from" in inner),
    )
    fields.finish()
    return reader


def _read(
    reading: Reading, reader: str, slot: Scalar, fields: Fields, declared: dict[str, Place]
) -> Read:
    rows = fields.choice("rows", ("live", "padded"), required=True)
    fill = reading.of(fields, "fill")
    allowed = reading.range(fields, "range")
    scatters = fields.boolean("scatters", default=False)
    fields.finish(former_keys.READ)
    _check_tail(reading, fields, rows, f"'{slot.text}' by {reader}", declared.get(slot.text))
    return Read(
        slot.text, "padded" if rows == "padded" else "live", fill, allowed, slot.place, scatters
    )


def _read_left(reading: Reading, slot: Scalar, fields: Fields) -> ReadLeft:
    """A read of what a runner left, which has no padded rows for anybody else."""
    runner = reading.name(fields, "from", "runner") or ""
    fields.choice("rows", ("live",), required=True)
    fields.finish()
    return ReadLeft(slot.text, runner, slot.place)


def _check_tail(
    reading: Reading, fields: Fields, rows: str | None, read: str, slot: Place | None
) -> None:
    """A padded read says what it may find in the tail; a live read never sees one."""
    given = [key for key in ("fill", "range") if key in fields]
    if rows == "live" and given:
        message = f"the read of {read} is of live rows, so its '{given[0]}' is never seen"
        live = ((fields.place("rows"), "live rows only"),)
        place = fields.key_place(given[0])
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, related=live)
    elif rows == "padded" and not given:
        message = f"the read of {read} is of padded rows: expected a 'fill' or a 'range' for them"
        related = () if slot is None else ((slot, "the slot"),)
        place = fields.place("rows")
        reading.collector.error(problems.UNWRITTEN_TAIL, message, place, related=related)
    elif len(given) == 2:
        message = f"the read of {read} has both a 'fill' and a 'range', expected one of them"
        both = ((fields.key_place("fill"), "'fill'"),)
        place = fields.key_place("range")
        reading.collector.error(problems.CONTRADICTING_KEYS, message, place, related=both)
