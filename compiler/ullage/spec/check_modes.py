"""Checking modes: live variables, axes, pipelines and peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ullage.diagnostics.diagnostic import Related
from ullage.expr.kinds import IntKind, Kind
from ullage.expr.tree import Aggregate, Expr
from ullage.expr.units import NO_UNIT, Unit
from ullage.place import Place
from ullage.spec import problems
from ullage.spec.definitions import Globals, check_range
from ullage.spec.model import Axis, LiveVariable, Mode, PipelineEntry, Spec, Transform
from ullage.spec.peers import listed
from ullage.spec.scope import ANY_INTEGER, Expressions, Scope, unit_name

SUMS: Final[frozenset[Aggregate]] = frozenset(("sum_requests",))


def in_unit_of(axis: str, spec: Spec) -> Related:
    """The place that says in which unit an axis counts."""
    return tuple(
        (each.place, f"axis '{axis}' counts in {unit_name(each.unit)}")
        for each in spec.axes
        if each.name == axis
    )


def kinds_of_axes(axes: tuple[Axis, ...]) -> dict[str, Kind]:
    """Each axis in its unit."""
    return {axis.name: IntKind(axis.unit) for axis in axes}


@dataclass(frozen=True, slots=True)
class ResolvedMode:
    """A mode with resolved expressions, and the kinds of its live variables; `broken` have none."""

    mode: Mode
    live: Mapping[str, Kind]
    broken: frozenset[str]

    @property
    def places(self) -> Mapping[str, Place]:
        """Where the live variables are declared."""
        return {each.name: each.place for each in self.mode.live}

    @property
    def per_request(self) -> frozenset[str]:
        """The live variables that have a value for each request."""
        return frozenset(each.name for each in self.mode.live if each.per is not None)


def resolve_mode(mode: Mode, spec: Spec, known: Globals, expressions: Expressions) -> ResolvedMode:
    """The mode with every expression resolved."""
    expressions = expressions.apart()
    what = f"mode '{mode.name}'"
    live, scope = _live(mode, spec, known, expressions)
    scope = scope.named(what)
    axes = _axes(mode, spec, scope, expressions)
    resolved = replace(
        mode,
        when=expressions.condition(mode.when, known.scope(f"the 'when' of {what}")),
        live=live,
        where=tuple(expressions.condition(each, scope) for each in mode.where),
        axes=axes,
        pipeline=tuple(resolve_entry(each, spec, known, expressions) for each in mode.pipeline),
    )
    names = frozenset(variable.name for variable in live)
    broken = names & expressions.broken
    return ResolvedMode(resolved, {name: scope.kinds[name] for name in names - broken}, broken)


def _live(
    mode: Mode, spec: Spec, known: Globals, expressions: Expressions
) -> tuple[tuple[LiveVariable, ...], Scope]:
    """The live variables over earlier ones, and the scope that sees all of them."""
    sees = "parameters, definitions, 'worker' and live variables that stand before"
    scope = replace(known.scope(""), sees=sees, aggregates=SUMS)
    axes = {axis.name: axis.unit for axis in spec.axes}
    found: list[LiveVariable] = []
    for variable in mode.live:
        inner = replace(
            scope, what=f"the range of '{variable.name}'", aggregates=frozenset[Aggregate]()
        )
        resolved, kind = _variable(variable, axes.get(variable.name), inner, expressions)
        _check_per(variable, mode, expressions)
        found.append(resolved)
        place = {variable.name: variable.place}
        if kind is None:
            expressions.broken.add(variable.name)
        elif variable.per is None:
            scope = scope.with_names({variable.name: kind}, batch=True, places=place)
        else:
            per_request = scope.per_request | {variable.name}
            scope = scope.with_names({variable.name: kind}, places=place)
            scope = replace(scope, per_request=per_request)
    sees = "parameters, definitions, 'worker' and its live variables"
    return tuple(found), replace(scope, sees=sees)


def _variable(
    variable: LiveVariable, axis: Unit | None, scope: Scope, expressions: Expressions
) -> tuple[LiveVariable, IntKind | None]:
    """The variable and its kind: the unit of its ends, else that of the axis of its name."""
    bounds, kind = check_range(variable.range, scope, ANY_INTEGER, expressions)
    if kind is not None:
        kind = IntKind(kind.unit or axis or NO_UNIT)
    return replace(variable, range=bounds), kind


def _check_per(variable: LiveVariable, mode: Mode, expressions: Expressions) -> None:
    """What counts the instances is a live variable of the whole batch that stands before."""
    if variable.per is None:
        return
    before = mode.live[: mode.live.index(variable)]
    counts = tuple(each.name for each in before if each.per is None)
    if variable.per not in counts:
        message = (
            f"'{variable.name}' has a value for each of '{variable.per}', "
            "which is no live variable of the batch that stands before it"
        )
        hint = f"such live variables: {', '.join(counts)}" if counts else None
        code = problems.UNKNOWN_REFERENCE
        expressions.collector.error(code, message, variable.place, hint=hint)


def _axes(
    mode: Mode, spec: Spec, scope: Scope, expressions: Expressions
) -> tuple[tuple[str, Expr], ...]:
    units = {axis.name: axis.unit for axis in spec.axes}
    given = {name for name, _ in mode.axes}
    for name in (axis.name for axis in spec.axes if axis.is_brought):
        if name not in given:
            message = f"mode '{mode.name}' does not say how large its '{name}' is"
            hint = f"write axes: {{{name}: …}}"
            expressions.collector.error(problems.MISSING_KEY, message, mode.place, hint=hint)
    return tuple(
        (
            name,
            expressions.check(
                value,
                scope.named(f"axis '{name}' of mode '{mode.name}'"),
                IntKind(units.get(name)),
                in_unit_of(name, spec),
            ),
        )
        for name, value in mode.axes
    )


def resolve_entry(
    entry: PipelineEntry, spec: Spec, known: Globals, expressions: Expressions
) -> PipelineEntry:
    """The entry with resolved arguments, of which none is missing and none is unknown."""
    transform = next((each for each in spec.transforms if each.name == entry.transform), None)
    scope = known.scope(f"an argument of '{entry.transform}'")
    arguments = tuple(
        (name, expressions.check(value, scope, ANY_INTEGER)) for name, value in entry.arguments
    )
    if transform is not None:
        _check_arguments(entry, transform, expressions)
    return replace(entry, arguments=arguments)


def _check_arguments(entry: PipelineEntry, transform: Transform, expressions: Expressions) -> None:
    given = [name for name, _ in entry.arguments]
    related = ((transform.place, "the transform"),)
    takes = ", ".join(transform.arguments)
    hint = f"it takes: {takes}" if takes else "it takes no arguments"
    for name in transform.arguments:
        if name not in given:
            message = f"transform '{transform.name}' needs the argument '{name}'"
            code = problems.WRONG_ARGUMENTS
            expressions.collector.error(code, message, entry.place, hint=hint, related=related)
    for name in given:
        if name not in transform.arguments:
            message = f"transform '{transform.name}' has no argument '{name}'"
            code = problems.WRONG_ARGUMENTS
            expressions.collector.error(code, message, entry.place, hint=hint, related=related)


def check_order(spec: Spec, expressions: Expressions) -> None:
    """What the sources already hold comes before anything that load pads."""
    in_batch = {transform.name: transform.in_batch for transform in spec.transforms}
    for mode in spec.modes:
        pads: PipelineEntry | None = None
        for entry in mode.pipeline:
            if not in_batch.get(entry.transform, True):
                pads = pads or entry
            elif pads is not None and entry.transform in in_batch:
                expressions.collector.error(
                    problems.CONTRADICTING_KEYS,
                    f"'{entry.transform}' is in the batch before load, but the pipeline has it "
                    f"after '{pads.transform}', which pads in load",
                    entry.place,
                    hint=f"put '{entry.transform}' first, or drop its 'in_batch'",
                    related=((pads.place, f"'{pads.transform}' pads here"),),
                )


def check_peers(spec: Spec, expressions: Expressions) -> None:
    """Modes that run in one round take part in the same collectives, in the same order."""
    modes = {mode.name: mode for mode in spec.modes}
    for mode in spec.modes:
        for name in mode.peers or ():
            if name in modes:
                _check_peer(mode, modes[name], spec, expressions)


def _check_peer(mode: Mode, peer: Mode, spec: Spec, expressions: Expressions) -> None:
    mine, theirs = _collectives(mode, spec), _collectives(peer, spec)
    if mine is None or theirs is None or mine == theirs:
        return
    message = (
        f"mode '{mode.name}' and its peer '{peer.name}' would wait for each other: "
        f"'{mode.name}' takes part in {listed(mine)}, '{peer.name}' in {listed(theirs)}"
    )
    hint = "give both pipelines the same transforms with collectives, in the same order"
    related = ((peer.place, f"mode '{peer.name}'"),)
    code = problems.COLLECTIVE_ORDER
    expressions.collector.error(code, message, mode.place, hint=hint, related=related)


def _collectives(mode: Mode, spec: Spec) -> tuple[tuple[str, str], ...] | None:
    """What the pipeline takes part in, in order; None if a transform of it is unknown.

    Ranks exchange what one transform takes over them, under its one condition: another transform
    of the same group would exchange something else, or nothing.
    """
    transforms = {transform.name: transform for transform in spec.transforms}
    if any(entry.transform not in transforms for entry in mode.pipeline):
        return None
    found = (transforms[entry.transform] for entry in mode.pipeline)
    return tuple((each.name, each.collective.group) for each in found if each.collective)
