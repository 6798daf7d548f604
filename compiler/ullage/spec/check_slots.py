"""Checking slots and the readers of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import BoolKind, IntKind, Kind
from ullage.expr.tree import Expr, Over, free_names, walk
from ullage.expr.units import NO_UNIT, Unit
from ullage.spec import problems
from ullage.spec.check_modes import SUMS, ResolvedMode
from ullage.spec.definitions import Globals, check_range
from ullage.spec.elements import Elements
from ullage.spec.model import Read, Reader, Slot, Spec
from ullage.spec.scope import ANY_INTEGER, Expressions, Scope, kind_name
from ullage.spec.steps import modes_named

_REQUESTS: Final = Unit.parse("requests")


def scope_of_load(spec: Spec, known: Globals, what: str) -> Scope:
    """What load knows of a batch: the live and the padded extent of each axis."""
    extents: dict[str, Kind] = {
        f"{prefix}_{axis.name}": IntKind(axis.unit)
        for axis in spec.axes
        for prefix in ("live", "padded")
    }
    names = ", ".join(extents)
    scope = known.scope(what).with_names(extents)
    return replace(scope, sees=f"parameters, definitions, 'worker', {names}")


def resolve_slot(
    slot: Slot,
    modes: Mapping[str, ResolvedMode],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> Slot:
    """The slot with resolved expressions; its shape is checked in every mode that loads it."""
    what = f"slot '{slot.name}'"
    scope = known.scope(what)
    value = slot.value
    if value is not None:
        value, kind = expressions.infer(value, scope_of_load(spec, known, what))
        _check_scalar(kind, value, f"'value' of {what}", expressions)
    return replace(
        slot,
        shape=_shape(slot, modes, spec, known, expressions),
        value=value,
        elements=slot.elements and _elements(slot.elements, what, spec, known, expressions),
        range=slot.range and check_range(slot.range, scope, ANY_INTEGER, expressions)[0],
        live_range=slot.live_range
        and check_range(slot.live_range, scope, ANY_INTEGER, expressions)[0],
        when=expressions.condition(slot.when, known.scope(f"the 'when' of {what}")),
    )


def _elements(
    elements: Elements, what: str, spec: Spec, known: Globals, expressions: Expressions
) -> Elements:
    """The elements with a resolved value; that it is the same for all batches is checked later."""
    scope = scope_of_load(spec, known, what)
    if elements.position:
        position: dict[str, Kind] = {elements.position: IntKind(NO_UNIT)}
        seen = f"{scope.sees}, '{elements.position}'"
        scope = replace(scope.with_names(position), sees=seen)
    value, kind = expressions.infer(elements.value, scope)
    _check_scalar(kind, value, f"'value' of {what}", expressions)
    return replace(elements, value=value)


def _check_scalar(kind: Kind | None, compute: Expr, what: str, expressions: Expressions) -> None:
    if kind is not None and not isinstance(kind, (IntKind, BoolKind)):
        message = f"{what}: expected an integer or a boolean, found {kind_name(kind)}"
        expressions.collector.error(problems.WRONG_KIND, message, compute.place)


def _shape(
    slot: Slot,
    modes: Mapping[str, ResolvedMode],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> tuple[Expr, ...]:
    """The extents, checked in each mode up to the first with an error."""
    shape = slot.shape
    for mode in _loading(slot, modes, spec, known):
        found = replace(expressions.apart(), collector=Collector())
        shape = _shape_in(slot, mode, spec, known, found)
        expressions.collector.add(*found.collector.diagnostics)
        if found.collector.has_errors:
            break
    return shape


def _loading(
    slot: Slot, modes: Mapping[str, ResolvedMode], spec: Spec, known: Globals
) -> tuple[ResolvedMode, ...]:
    """The modes that load the slot; of those that mean the same by its extents, the first."""
    names = frozenset[str]().union(*map(free_names, slot.shape))
    names -= {axis.name for axis in spec.axes}
    names = frozenset(name for name in names if name not in known.kinds)
    loading = modes_named(spec.modes, slot.modes)
    if not names:
        return tuple(modes[mode.name] for mode in loading[:1])
    found: dict[frozenset[tuple[str, Kind | None, bool]], ResolvedMode] = {}
    for mode in loading:
        found.setdefault(_meaning(names, modes[mode.name]), modes[mode.name])
    return tuple(found.values())


def _meaning(names: frozenset[str], mode: ResolvedMode) -> frozenset[tuple[str, Kind | None, bool]]:
    """What a mode knows of some names that are no parameters."""
    known = ((name, mode.live.get(name), name in mode.per_request) for name in names)
    return frozenset((*known, *((name, None, True) for name in names & mode.broken)))


def _shape_in(
    slot: Slot, mode: ResolvedMode, spec: Spec, known: Globals, expressions: Expressions
) -> tuple[Expr, ...]:
    """The extents in one mode, whose live variables they may use; axes hide those of their name."""
    expressions.broken |= mode.broken
    scope = _scope_of_shape(slot, mode, spec, known)
    return tuple(expressions.check(extent, scope, ANY_INTEGER) for extent in slot.shape)


def _scope_of_shape(slot: Slot, mode: ResolvedMode, spec: Spec, known: Globals) -> Scope:
    axes: dict[str, Kind] = {axis.name: IntKind(axis.unit) for axis in spec.axes}
    counts = {name: kind for name, kind in mode.live.items() if name not in mode.per_request}
    scope = replace(
        known.scope(f"the shape of slot '{slot.name}' in mode '{mode.mode.name}'"),
        sees="parameters, definitions, 'worker', axes and the mode's live variables",
        aggregates=SUMS,
        per_request=mode.per_request,
    )
    places = {name: place for name, place in mode.places.items() if name not in axes}
    scope = scope.with_names(mode.live)
    return scope.with_names({**counts, **axes}, batch=True, places=places)


def units_of_elements(
    slot: Slot,
    modes: Mapping[str, ResolvedMode],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> tuple[Unit, ...]:
    """The units that elements may be counted in: the product of the units of extents comes first.

    A sum over requests also is so many requests times what one of them has. Nothing if no extent
    has a unit of its own, or if modes do not agree; errors are reported where slots are checked.
    """
    units = {
        _units_in(slot, mode, spec, known, expressions)
        for mode in _loading(slot, modes, spec, known)
    }
    return units.pop() if len(units) == 1 else ()


def _units_in(
    slot: Slot, mode: ResolvedMode, spec: Spec, known: Globals, expressions: Expressions
) -> tuple[Unit, ...]:
    quiet = replace(expressions.apart(), collector=Collector())
    quiet.broken |= mode.broken
    scope = _scope_of_shape(slot, mode, spec, known)
    kinds = [quiet.infer(extent, scope)[1] for extent in slot.shape]
    units = [each.unit for each in kinds if isinstance(each, IntKind) and each.unit is not None]
    if not units or not all(isinstance(kind, IntKind) for kind in kinds):
        return ()
    whole = prod(units, start=NO_UNIT)
    sums = sum(any(isinstance(node, Over) for node in walk(extent)) for extent in slot.shape)
    return tuple(whole.times(_REQUESTS, power) for power in range(sums + 1))


def resolve_reader(reader: Reader, spec: Spec, known: Globals, expressions: Expressions) -> Reader:
    """The reader with resolved expressions."""
    what = f"reader '{reader.name}'"
    return replace(
        reader,
        when=expressions.condition(reader.when, known.scope(f"the 'when' of {what}")),
        reads=tuple(_read(read, what, spec, known, expressions) for read in reader.reads),
    )


def _read(read: Read, what: str, spec: Spec, known: Globals, expressions: Expressions) -> Read:
    scope = scope_of_load(spec, known, f"the fill of '{read.slot}' by {what}")
    fill = read.fill
    if fill is not None:
        fill, kind = expressions.infer(fill, scope)
        _check_scalar(kind, fill, scope.what, expressions)
    inner = known.scope(f"what {what} reads of '{read.slot}'")
    return replace(
        read,
        fill=fill,
        range=read.range and check_range(read.range, inner, ANY_INTEGER, expressions)[0],
    )
