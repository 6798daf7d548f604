"""Loading a mode: how its live batch looks, and the padding it goes through."""

from __future__ import annotations

from dataclasses import replace

from ullage.expr.parse import SourceRef
from ullage.expr.tree import Expr
from ullage.spec import problems
from ullage.spec.model import LiveVariable, Mode, Range
from ullage.spec.reading import STAND_IN, Reading
from ullage.text.fields import Fields, as_fields
from ullage.text.nodes import Entry, Node, Scalar, Sequence

WHERE = "where"
ASSUMED = "assumed"


def load_mode(reading: Reading, name: Scalar, fields: Fields) -> Mode:
    """The mode that one file declares."""
    live, where = _live(reading, fields)
    nodes = fields.items("pipeline")
    entries = (reading.pipeline_entry(node, "an entry of 'pipeline'") for node in nodes)
    mode = Mode(
        name=name.text,
        when=reading.when(fields),
        families=reading.names(fields, "family", "family"),
        category=fields.identifier("category", default=name.text),
        live=live,
        where=where,
        axes=_axes(reading, fields),
        pipeline=tuple(entry for entry in entries if entry is not None),
        peers=reading.names(fields, "peers", "mode") if "peers" in fields else None,
        doc=fields.text("doc", default=""),
        place=name.place,
    )
    fields.finish()
    return mode


def _axes(reading: Reading, fields: Fields) -> tuple[tuple[str, Expr], ...]:
    fields.mapping("axes", required=True)
    return reading.named(fields, "axes", "axis")


def _live(reading: Reading, fields: Fields) -> tuple[tuple[LiveVariable, ...], tuple[Expr, ...]]:
    """The live variables, and the relations between them under the key `where`."""
    mapping = fields.mapping("live", required=True)
    entries = () if mapping is None else mapping.entries
    named = fields.named("live")
    variables = tuple(_variable(reading, entry) for entry in named if entry.key.text != WHERE)
    where = next((entry.value for entry in entries if entry.key.text == WHERE), None)
    return variables, _where(reading, where)


def _where(reading: Reading, node: Node | None) -> tuple[Expr, ...]:
    if node is None:
        return ()
    items = node.items if isinstance(node, Sequence) else (node,)
    return tuple(reading.expression(item, "a relation in 'where'") for item in items)


def _variable(reading: Reading, entry: Entry) -> LiveVariable:
    name = entry.key
    unknown = Range(STAND_IN, STAND_IN, name.place)
    fields = as_fields(entry.value, reading.collector, f"live variable '{name.text}'")
    if fields is None:
        return LiveVariable(name.text, unknown, (), None, "", name.place)
    variable = LiveVariable(
        name=name.text,
        range=reading.range(fields, "range", required=True) or unknown,
        seen_in=_seen_in(reading, fields),
        per=fields.identifier("per"),
        doc=fields.text("doc", default=""),
        place=name.place,
    )
    variable = replace(variable, debug_in=_debug_in(reading, fields, variable))
    fields.finish()
    return variable


def _debug_in(reading: Reading, fields: Fields, variable: LiveVariable) -> SourceRef | None:
    """The source in which debug mode looks for a value that load cannot see."""
    if variable.seen_in:
        if "debug_in" in fields:
            message = f"'debug_in' of {fields.what} is for what load cannot see, but it is seen"
            place = fields.key_place("debug_in")
            related = ((fields.place("seen_in"), "seen here"),)
            hint = "drop 'debug_in', or write seen_in: assumed"
            code = problems.CONTRADICTING_KEYS
            reading.collector.error(code, message, place, hint=hint, related=related)
        fields.raw("debug_in")
        return None
    if variable.per is not None:
        return reading.source_field(fields, "debug_in")
    scalar = fields.scalar("debug_in")
    return None if scalar is None else reading.source(scalar)


def _seen_in(reading: Reading, fields: Fields) -> tuple[SourceRef, ...]:
    """The sources in which load looks for the value; `assumed` means none."""
    scalars = fields.scalars("seen_in", required=True)
    if len(scalars) == 1 and scalars[0].text == ASSUMED:
        return ()
    if "seen_in" in fields and not scalars:
        message = f"'seen_in' of {fields.what} names no source"
        hint = "write seen_in: assumed for a value that load cannot see"
        reading.collector.error(problems.WRONG_COUNT, message, fields.place("seen_in"), hint=hint)
    found = (reading.source(scalar) for scalar in scalars)
    return tuple(source for source in found if source is not None)
