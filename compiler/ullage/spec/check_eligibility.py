"""Checking which batches a runner takes: its conditions, its own pipeline, and exclusiveness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ullage.diagnostics.diagnostic import Collector, Diagnostic
from ullage.expr.kinds import BOOLEAN, Kind
from ullage.expr.tree import Expr, Name
from ullage.spec import problems
from ullage.spec.check_modes import SUMS, ResolvedMode, kinds_of_axes, resolve_entry
from ullage.spec.definitions import Globals
from ullage.spec.model import PipelineEntry, Runner, Spec, Transform
from ullage.spec.runner_parts import Promise
from ullage.spec.scope import Expressions, Scope, free
from ullage.spec.steps import modes_named


def resolve_accepts(
    runner: Runner,
    modes: tuple[ResolvedMode, ...],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> tuple[Expr, ...]:
    """The conditions, checked in each mode that they are about up to the first with an error."""
    accepts = runner.accepts
    for mode in modes if accepts else ():
        found = replace(expressions.apart(), collector=Collector())
        scope = _scope(runner, mode, spec, known)
        found.broken |= mode.broken
        accepts = tuple(found.condition(each, scope) for each in runner.accepts)
        found.collector.add(*_unseen(accepts, mode, scope))
        expressions.collector.add(*found.collector.diagnostics)
        if found.collector.has_errors:
            break
    return accepts


def resolve_promises(
    runner: Runner,
    served: tuple[ResolvedMode, ...],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> tuple[Promise, ...]:
    """Each promise, checked in each mode that it is about; these are modes that the runner serves.

    A family, and all modes together, stand for those of which the runner hands batches on.
    """
    if runner.promises and runner.fallback is None:
        message = f"runner '{runner.name}' has promises, but nobody takes what it refuses"
        hint = "name its fallback, or leave 'promises' out"
        expressions.collector.error(problems.CONTRADICTING_KEYS, message, runner.place, hint=hint)
    taken = modes_named(spec.modes, runner.accepts_all) if runner.accepts_all else ()
    whole = {mode.name for mode in taken}
    found: list[Promise] = []
    for promise in runner.promises:
        meant = {mode.name for mode in modes_named(spec.modes, promise.modes)}
        own = [mode for mode in served if mode.mode.name in meant]
        modes = [mode for mode in own if mode.mode.name not in whole] or own
        condition = promise.condition
        for mode in modes:
            what = f"what runner '{runner.name}' promises of mode '{mode.mode.name}'"
            scope = _scope(runner, mode, spec, known).named(what)
            inner = replace(expressions.apart(), collector=Collector())
            condition = inner.condition(promise.condition, scope)
            expressions.collector.add(*inner.collector.diagnostics)
            if inner.collector.has_errors:
                break
        if meant and not modes:
            named = ", ".join(f"'{name}'" for name in promise.modes)
            message = f"runner '{runner.name}' serves no mode of {named} that it promises to take"
            expressions.collector.error(problems.UNKNOWN_REFERENCE, message, condition.place)
        found.append(Promise(tuple(mode.mode.name for mode in modes), condition))
    return tuple(found)


def _scope(runner: Runner, mode: ResolvedMode, spec: Spec, known: Globals) -> Scope:
    """What is known of a batch when its runner is chosen; axes hide live variables of their name.

    An axis is what it is after the pipeline of the mode, `live_<axis>` what the sources bring.
    """
    facts: dict[str, Kind] = {fact.name: BOOLEAN for fact in runner.facts}
    axes = kinds_of_axes(spec.axes)
    brought = {f"live_{name}": kind for name, kind in axes.items()}
    counts = {name: kind for name, kind in mode.live.items() if name not in mode.per_request}
    scope = replace(
        known.scope(f"'accepts' of runner '{runner.name}' in mode '{mode.mode.name}'"),
        sees="parameters, definitions, 'worker', facts, axes, the live extent of each axis "
        "and the mode's live variables",
        aggregates=SUMS,
        per_request=mode.per_request - axes.keys(),
    )
    places = {name: place for name, place in mode.places.items() if name not in axes}
    scope = scope.with_names(facts).with_names(mode.live)
    return scope.with_names({**counts, **axes, **brought}, batch=True, places=places)


def _unseen(accepts: tuple[Expr, ...], mode: ResolvedMode, scope: Scope) -> Iterator[Diagnostic]:
    """Nobody can choose by a value that only the device knows."""
    assumed = {variable.name for variable in mode.mode.live if not variable.seen_in}
    axes = {name for name, _ in mode.mode.axes}
    for name in (name for each in accepts for name in free(each)):
        if name.name in assumed - axes:
            message = f"{scope.what}: nobody sees '{name.name}' before the device does"
            hint = "say where it is seen, or ask the engine with a fact"
            yield Diagnostic(problems.NOT_ALLOWED_HERE, message, name.place, hint)


def resolve_own_pipeline(
    runner: Runner, spec: Spec, known: Globals, expressions: Expressions
) -> tuple[PipelineEntry, ...]:
    """The runner's own transforms with resolved arguments."""
    transforms = {transform.name: transform for transform in spec.transforms}
    for entry in runner.pipeline:
        if entry.transform in transforms:
            _check_own(runner, entry, transforms[entry.transform], expressions.collector)
    served = {mode.name for mode in modes_named(spec.modes, runner.modes)}
    found: list[PipelineEntry] = []
    for entry in runner.pipeline:
        meant = tuple(mode.name for mode in modes_named(spec.modes, entry.modes))
        own = tuple(name for name in meant if name in served)
        if not own:
            message = (
                f"runner '{runner.name}' serves none of the modes that '{entry.transform}' is for"
            )
            expressions.collector.error(problems.UNKNOWN_REFERENCE, message, entry.place)
        if own:
            modes = own if entry.modes else ()
            found.append(replace(resolve_entry(entry, spec, known, expressions), modes=modes))
    return tuple(found)


def _check_own(
    runner: Runner, entry: PipelineEntry, transform: Transform, collector: Collector
) -> None:
    """Only padding by this rank alone comes after a runner was chosen."""
    related = ((transform.place, "the transform"),)
    if transform.collective is not None:
        message = (
            f"'{transform.name}' is a collective, and other ranks may have chosen another runner "
            f"than '{runner.name}'"
        )
        hint = "put it into the pipelines of the modes"
        code = problems.COLLECTIVE_ORDER
        collector.error(code, message, entry.place, hint=hint, related=related)
    elif transform.in_batch:
        message = (
            f"'{transform.name}' is in the batch before load, which is before a runner is chosen"
        )
        hint = "put it into the pipelines of the modes"
        code = problems.CONTRADICTING_KEYS
        collector.error(code, message, entry.place, hint=hint, related=related)


def check_exclusive(runner: Runner, collector: Collector) -> None:
    """An exclusive runner takes batches by configuration and extents alone, and has a fallback."""
    if not runner.exclusive:
        return
    if runner.fallback is None:
        message = f"runner '{runner.name}' is exclusive, but nobody takes what it refuses"
        hint = "name its fallback, or leave 'exclusive' out"
        collector.error(problems.CONTRADICTING_KEYS, message, runner.place, hint=hint)
    facts = {fact.name: fact.place for fact in runner.facts}
    for name in _names(runner.accepts):
        if name.name in facts:
            message = (
                f"runner '{runner.name}' cannot be exclusive: "
                f"by the fact '{name.name}' it may refuse any batch"
            )
            hint = "leave 'exclusive' out: then its fallback has room for every batch"
            related = ((facts[name.name], "the fact"),)
            code = problems.NOT_EXCLUSIVE
            collector.error(code, message, name.place, hint=hint, related=related)


def _names(accepts: tuple[Expr, ...]) -> Iterator[Name]:
    for each in accepts:
        yield from free(each)
