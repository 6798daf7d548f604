"""Checking that what load computes rests on what load sees, and what the fields of a batch are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ullage.expr.parse import SourceRef
from ullage.expr.tree import Expr
from ullage.place import Place
from ullage.spec import problems
from ullage.spec.model import LiveVariable, Mode, Spec
from ullage.spec.scope import Expressions, free
from ullage.spec.steps import modes_named

Path = tuple[str, ...]
HINT = "say with 'seen_in' where load sees it, or use what load does see"


def check_seen(spec: Spec, expressions: Expressions) -> None:
    """Rows of a batch, and extents of slots without a source, need no value that is assumed."""
    for mode in spec.modes:
        for axis, value in mode.axes:
            _check(f"axis '{axis}' of mode '{mode.name}'", (value,), mode, expressions)
    axes = {axis.name for axis in spec.axes}
    for slot in spec.slots:
        if slot.source is None:
            for mode in modes_named(spec.modes, slot.modes):
                shape = f"the shape of slot '{slot.name}', which has no source,"
                what = f"{shape} in mode '{mode.name}'"
                _check(what, slot.shape, mode, expressions, hidden=axes)


def _check(
    what: str,
    values: Iterable[Expr],
    mode: Mode,
    expressions: Expressions,
    hidden: Iterable[str] = (),
) -> None:
    assumed = {each.name: each for each in mode.live if not each.seen_in}
    for axis in hidden:
        assumed.pop(axis, None)
    for name in (name for value in values for name in free(value)):
        if (variable := assumed.get(name.name)) is not None:
            message = f"{what}: load does not see '{name.name}', which is assumed"
            related = ((variable.place, "assumed here"),)
            code = problems.NOT_ALLOWED_HERE
            expressions.collector.error(code, message, name.place, hint=HINT, related=related)


def check_sources(spec: Spec, expressions: Expressions) -> None:
    """A field of the batch is a number or a tensor, whoever names it."""
    tensors = dict(reversed(tuple(_tensors(spec))))
    numbers: dict[Path, LiveVariable] = {}
    for variable in (each for mode in spec.modes for each in mode.live):
        for source in variable.seen_in:
            if _is_tensor(source, variable):
                continue
            numbers.setdefault(source.path, variable)
            if source.path in tensors:
                _report(variable, "seen_in", source, *tensors[source.path], expressions)
    for variable in (each for mode in spec.modes for each in mode.live):
        read = variable.debug_in
        if read is not None and _is_tensor(read, variable) and read.path not in tensors:
            seen = numbers.get(read.path)
            if seen is not None:
                _report_debug(variable, read, seen, expressions)


def _tensors(spec: Spec) -> Iterator[tuple[Path, tuple[str, Place]]]:
    """The fields that are tensors, each with who says so."""
    for slot in spec.slots:
        if slot.source is not None:
            yield slot.source.path, (f"slot '{slot.name}' copies it", slot.place)
    for carried in spec.carried:
        yield carried.source.path, (f"'{carried.name}' is carried", carried.place)
    for variable in (each for mode in spec.modes for each in mode.live):
        for source in variable.seen_in:
            if _is_tensor(source, variable):
                yield source.path, (f"'{variable.name}' is an extent or several", variable.place)


def _is_tensor(source: SourceRef, variable: LiveVariable) -> bool:
    return source.dimension is not None or variable.per is not None


def _report(
    variable: LiveVariable,
    key: str,
    source: SourceRef,
    why: str,
    place: Place,
    expressions: Expressions,
) -> None:
    message = f"'{key}' of '{variable.name}' is a number, but '{source}' is a tensor"
    hint = f"write {source}[0] for its first extent"
    code, related = problems.CONTRADICTING_KEYS, ((place, why),)
    expressions.collector.error(code, message, variable.place, hint=hint, related=related)


def _report_debug(
    variable: LiveVariable, read: SourceRef, seen: LiveVariable, expressions: Expressions
) -> None:
    field = ".".join(read.path)
    message = f"'debug_in' of '{variable.name}' is a tensor, but '{field}' is a number"
    related = ((seen.place, f"'{seen.name}' is seen in it"),)
    code = problems.CONTRADICTING_KEYS
    expressions.collector.error(code, message, variable.place, related=related)
