"""Checking transforms, with the units that their arguments have in each pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ullage.diagnostics.diagnostic import Collector, Diagnostic
from ullage.expr.errors import ExpressionError
from ullage.expr.kinds import IntKind, Kind, infer
from ullage.expr.spell import spell
from ullage.expr.tree import Aggregate, Expr, Over, free_names, walk
from ullage.spec import problems
from ullage.spec.check_modes import in_unit_of
from ullage.spec.collectives import OPERATIONS
from ullage.spec.definitions import Globals
from ullage.spec.model import PipelineEntry, Spec, Transform
from ullage.spec.scope import ANY_INTEGER, Expressions, Scope

OVER_RANKS: Final[frozenset[Aggregate]] = frozenset(("sum_ranks", "max_ranks"))
NO_AGGREGATES: Final[frozenset[Aggregate]] = frozenset()

Arguments = tuple[tuple[str, Kind | None], ...]
"""The kind of each argument; None where it is not known."""


def resolve_transform(
    transform: Transform,
    entries: tuple[PipelineEntry, ...],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> Transform:
    """The transform with resolved expressions; `entries` are those of all pipelines, resolved."""
    uncalled: Arguments = tuple((name, None) for name in transform.arguments)
    resolved = _resolved(transform, uncalled, spec, known, expressions.apart())
    calls: dict[Arguments, list[PipelineEntry]] = {}
    for entry in entries:
        if entry.transform == transform.name:
            signature = _arguments(transform, entry, known, expressions)
            calls.setdefault(signature, []).append(entry)
    found: dict[Diagnostic, list[PipelineEntry]] = {}
    for signature, called in calls.items():
        quiet = replace(expressions.apart(), collector=Collector())
        resolved = _resolved(transform, signature, spec, known, quiet)
        for diagnostic in quiet.collector.diagnostics:
            found.setdefault(diagnostic, []).extend(called)
    _report_calls(transform, found, sum(map(len, calls.values())), expressions.collector)
    _check_ranks(transform, spec, expressions)
    return resolved


def _report_calls(
    transform: Transform,
    found: dict[Diagnostic, list[PipelineEntry]],
    count: int,
    collector: Collector,
) -> None:
    """Show what is wrong for some arguments at their calls; for all of several, once in here."""
    known = frozenset(collector.diagnostics)
    for diagnostic, called in found.items():
        if diagnostic in known:
            continue
        if len(called) == count > 1:
            related = ((called[0].place, "called here"), *diagnostic.related)
            collector.add(replace(diagnostic, related=related))
        else:
            collector.add(*(_at_call(diagnostic, entry, transform) for entry in called))


def _at_call(found: Diagnostic, call: PipelineEntry, transform: Transform) -> Diagnostic:
    """What is wrong with a transform for the arguments of one call, shown at that call."""
    given = ", ".join(f"{name}={spell(value)}" for name, value in call.arguments)
    message = f"with {given}, {found.message}" if given else found.message
    place = call.arguments[0][1].place if len(call.arguments) == 1 else call.place
    related = ((found.place, f"in transform '{transform.name}'"), *found.related)
    return replace(found, message=message, place=place, related=related)


def _arguments(
    transform: Transform, call: PipelineEntry, known: Globals, expressions: Expressions
) -> Arguments:
    given = dict(call.arguments)
    return tuple((name, _kind(given.get(name), known, expressions)) for name in transform.arguments)


def _kind(argument: Expr | None, known: Globals, expressions: Expressions) -> Kind | None:
    """The kind of an argument; what is wrong with it was reported where it is written."""
    if argument is None or free_names(argument) & expressions.broken:
        return None
    try:
        return infer(argument, known.kinds)
    except ExpressionError:
        return None


def _resolved(
    transform: Transform,
    arguments: Arguments,
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> Transform:
    """The transform for one signature; what uses an unknown argument is not checked."""
    expressions.broken.update(name for name, kind in arguments if kind is None)
    what = f"transform '{transform.name}'"
    axes: dict[str, Kind] = {axis.name: IntKind(axis.unit) for axis in spec.axes}
    scope = replace(
        known.scope(what),
        sees="parameters, definitions, 'worker', axes, its arguments and its 'let'",
        aggregates=NO_AGGREGATES if transform.collective is None else OVER_RANKS,
    ).with_names(axes | {name: kind for name, kind in arguments if kind is not None})
    let: list[tuple[str, Expr]] = []
    for name, value in transform.let:
        inner = scope.named(f"'{name}' of {what}")
        expr, kind = expressions.infer(value, inner)
        let.append((name, expr))
        scope = with_let(name, kind, scope, expressions)
    return replace(
        transform,
        when=expressions.condition(transform.when, known.scope(f"the 'when' of {what}")),
        let=tuple(let),
        assigns=_assigns(transform, axes, scope, spec, expressions),
    )


def with_let(name: str, kind: Kind | None, scope: Scope, expressions: Expressions) -> Scope:
    """The scope with one more local name; one with an error is not talked about again."""
    if kind is not None:
        return scope.with_names({name: kind})
    expressions.broken.add(name)
    return scope


def _assigns(
    transform: Transform, axes: dict[str, Kind], scope: Scope, spec: Spec, expressions: Expressions
) -> tuple[tuple[str, Expr], ...]:
    return tuple(
        (
            axis,
            expressions.check(
                value,
                scope.named(f"axis '{axis}' of transform '{transform.name}'"),
                axes.get(axis, ANY_INTEGER),
                in_unit_of(axis, spec),
            ),
        )
        for axis, value in transform.assigns
    )


def _check_ranks(transform: Transform, spec: Spec, expressions: Expressions) -> None:
    """What is taken over all ranks needs their number, and an operation that tells it."""
    values = (value for _, value in (*transform.let, *transform.assigns))
    for node in (node for value in values for node in walk(value)):
        if not isinstance(node, Over) or node.aggregate not in OVER_RANKS:
            continue
        _check_told(node, transform, expressions)
        if spec.rank_count is None:
            message = f"'{node.aggregate}' needs the number of ranks, which the spec does not say"
            hint = "write ranks: with the number of ranks at the top of a library file"
            code = problems.MISSING_KEY
            expressions.collector.error(code, message, node.place, hint=hint)


def _check_told(node: Over, transform: Transform, expressions: Expressions) -> None:
    """Whether the ranks know after the collective what is taken over them."""
    collective = transform.collective
    if collective is None or node.aggregate in OPERATIONS.get(collective.operation, OVER_RANKS):
        return
    message = f"after '{collective.operation}' no rank knows '{node.aggregate}'"
    telling = (name for name, told in OPERATIONS.items() if node.aggregate in told)
    hint = f"write op: {' or op: '.join(telling)}"
    related = ((collective.place, "the collective"),)
    code = problems.CONTRADICTING_KEYS
    expressions.collector.error(code, message, node.place, hint=hint, related=related)
