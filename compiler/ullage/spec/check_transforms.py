"""Checking transforms, with the units that their arguments have in each pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ullage.expr.errors import ExpressionError
from ullage.expr.kinds import IntKind, Kind, infer
from ullage.expr.tree import Aggregate, Expr, Over, free_names, walk
from ullage.spec import problems
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
    calls = [entry for entry in entries if entry.transform == transform.name]
    uncalled: Arguments = tuple((name, None) for name in transform.arguments)
    signatures = dict.fromkeys(_arguments(transform, call, known, expressions) for call in calls)
    resolved = [
        _resolved(transform, each, spec, known, expressions.apart())
        for each in signatures or (uncalled,)
    ]
    _check_ranks(transform, spec, expressions)
    return resolved[0]


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
        assigns=_assigns(transform, axes, scope, expressions),
    )


def with_let(name: str, kind: Kind | None, scope: Scope, expressions: Expressions) -> Scope:
    """The scope with one more local name; one with an error is not talked about again."""
    if kind is not None:
        return scope.with_names({name: kind})
    expressions.broken.add(name)
    return scope


def _assigns(
    transform: Transform, axes: dict[str, Kind], scope: Scope, expressions: Expressions
) -> tuple[tuple[str, Expr], ...]:
    return tuple(
        (
            axis,
            expressions.check(
                value,
                scope.named(f"axis '{axis}' of transform '{transform.name}'"),
                axes.get(axis, ANY_INTEGER),
            ),
        )
        for axis, value in transform.assigns
    )


def _check_ranks(transform: Transform, spec: Spec, expressions: Expressions) -> None:
    """What is taken over all ranks needs their number."""
    if spec.rank_count is not None:
        return
    values = (value for _, value in (*transform.let, *transform.assigns))
    for node in (node for value in values for node in walk(value)):
        if isinstance(node, Over) and node.aggregate in OVER_RANKS:
            message = f"'{node.aggregate}' needs the number of ranks, which the spec does not say"
            hint = "write ranks: with the number of ranks at the top of a library file"
            code = problems.MISSING_KEY
            expressions.collector.error(code, message, node.place, hint=hint)
