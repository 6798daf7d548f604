"""Checking runners: conditions of steps, values that flow between them, and their modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.kinds import BOOLEAN, IntKind, Kind
from ullage.expr.tree import Expr
from ullage.spec import problems
from ullage.spec.check_eligibility import (
    check_exclusive,
    resolve_accepts,
    resolve_own_pipeline,
    resolve_promises,
)
from ullage.spec.check_modes import ResolvedMode, in_unit_of
from ullage.spec.definitions import Globals
from ullage.spec.flow import check_flow
from ullage.spec.model import Mode, Runner, Spec, Step
from ullage.spec.runner_parts import Capture, Within
from ullage.spec.scope import Expressions, Scope
from ullage.spec.steps import flattened, modes_named


def resolve_runner(
    runner: Runner,
    resolved_modes: Mapping[str, ResolvedMode],
    spec: Spec,
    known: Globals,
    expressions: Expressions,
) -> Runner:
    """The runner with resolved expressions, and with the names of all its modes and slots."""
    facts: dict[str, Kind] = {fact.name: BOOLEAN for fact in runner.facts}
    scope = replace(
        known.scope("the 'when' of a step"),
        sees="parameters, definitions, 'worker' and the runner's facts",
    ).with_names(facts)
    modes = modes_named(spec.modes, runner.modes)
    whole = modes_named(spec.modes, runner.accepts_all) if runner.accepts_all else ()
    served = tuple(resolved_modes[mode.name] for mode in modes)
    asked = tuple(each for each in served if each.mode not in whole)
    resolved = replace(
        runner,
        when=expressions.condition(
            runner.when, known.scope(f"the 'when' of runner '{runner.name}'")
        ),
        pipeline=resolve_own_pipeline(runner, spec, known, expressions),
        accepts=resolve_accepts(runner, asked, spec, known, expressions),
        accepts_all=tuple(mode.name for mode in whole if mode in modes),
        modes=tuple(mode.name for mode in modes),
        slots=runner.slots or tuple(slot.name for slot in spec.slots),
        steps=tuple(_step(step, scope, expressions) for step in runner.steps),
        limits=_limits(runner, spec, known, expressions),
        captures=_captures(runner, known, expressions),
        promises=resolve_promises(runner, served, spec, known, expressions),
    )
    _check_served(resolved, expressions.collector)
    _check_whole(resolved, whole, expressions.collector)
    _check_captures(resolved, spec, expressions.collector)
    _check_signatures(resolved, expressions.collector)
    _check_loads(resolved, expressions.collector)
    _check_slack(resolved, spec, expressions.collector)
    check_exclusive(resolved, expressions.collector)
    families = frozenset(family.name for family in spec.families)
    check_flow(resolved, modes, families, expressions.collector)
    return resolved


def _limits(
    runner: Runner, spec: Spec, known: Globals, expressions: Expressions
) -> tuple[tuple[str, Expr], ...]:
    units = {axis.name: axis.unit for axis in spec.axes}
    scope = known.scope(f"a limit of runner '{runner.name}'")
    return tuple(
        (axis, expressions.check(limit, scope, IntKind(units.get(axis)), in_unit_of(axis, spec)))
        for axis, limit in runner.limits
    )


def _captures(runner: Runner, known: Globals, expressions: Expressions) -> tuple[Capture, ...]:
    scope = known.scope(f"a free axis of what runner '{runner.name}' captures")
    resolved = {
        free: tuple((axis, expressions.condition(where, scope)) for axis, where in free)
        for free in dict.fromkeys(each.free for each in runner.captures)
    }
    return tuple(replace(each, free=resolved[each.free]) for each in runner.captures)


def _step(step: Step, scope: Scope, expressions: Expressions) -> Step:
    return replace(
        step,
        when=expressions.condition(step.when, scope.named(f"the 'when' of {_called(step)}")),
        within=tuple(_within(within, scope, expressions) for within in step.within),
        steps=tuple(_step(inner, scope, expressions) for inner in step.steps),
    )


def _called(step: Step) -> str:
    return "a group of steps" if step.action == "group" else f"step '{step.name}'"


def _within(within: Within, scope: Scope, expressions: Expressions) -> Within:
    scope = scope.named(f"the 'when' of context '{within.context}'")
    return replace(within, when=expressions.condition(within.when, scope))


def _check_served(runner: Runner, collector: Collector) -> None:
    """The warm-up runs a mode of the runner."""
    if runner.warm_up is None:
        return
    for mode in runner.warm_up.modes:
        if mode not in runner.modes:
            message = f"runner '{runner.name}' does not serve mode '{mode}' that it warms up with"
            collector.error(problems.UNKNOWN_REFERENCE, message, runner.warm_up.place)


def _check_whole(runner: Runner, whole: tuple[Mode, ...], collector: Collector) -> None:
    """What a runner takes all batches of, it serves."""
    for mode in whole:
        if mode.name not in runner.modes:
            message = (
                f"runner '{runner.name}' takes all batches of mode '{mode.name}', "
                "but does not serve it"
            )
            hint = "add it to the modes of the runner, or leave it out of 'accepts_all'"
            collector.error(problems.UNKNOWN_REFERENCE, message, runner.place, hint=hint)


def _check_captures(runner: Runner, spec: Spec, collector: Collector) -> None:
    """What captures and what replays are modes of the runner."""
    known = {name for mode in spec.modes for name in (mode.name, *mode.families)}
    served = set(runner.modes)
    for each in runner.captures:
        for name in (each.mode, each.replay):
            meant = {mode.name for mode in modes_named(spec.modes, (name,))}
            if name in known and not meant & served:
                message = f"runner '{runner.name}' does not serve '{name}', of which it has graphs"
                collector.error(problems.UNKNOWN_REFERENCE, message, each.place)


def _check_signatures(runner: Runner, collector: Collector) -> None:
    """A step that is called twice is one function of the engine, so it takes and gives the same."""
    first: dict[str, Step] = {}
    for step in flattened(runner.steps):
        if step.action != "call":
            continue
        earlier = first.setdefault(step.name, step)
        if (earlier.takes, earlier.gives) != (step.takes, step.gives):
            message = (
                f"step '{step.name}' {_signature(step)} here, "
                f"but {_signature(earlier)} where it stands first"
            )
            hint = "give one of them another name"
            related = ((earlier.place, "first here"),)
            code = problems.CONTRADICTING_KEYS
            collector.error(code, message, step.place, hint=hint, related=related)


def _signature(step: Step) -> str:
    return f"takes {', '.join(step.takes) or 'nothing'} and gives {step.gives or 'nothing'}"


def _check_loads(runner: Runner, collector: Collector) -> None:
    if not any(step.action == "load" for step in flattened(runner.steps)):
        message = f"runner '{runner.name}' never loads its slots"
        hint = "add the step {do: load}"
        collector.error(problems.MISSING_KEY, message, runner.place, hint=hint)


def _check_slack(runner: Runner, spec: Spec, collector: Collector) -> None:
    slots = {slot.name for slot in spec.slots} if runner.slack else set()
    for target, _ in runner.slack:
        if target in slots and target not in runner.slots:
            message = f"runner '{runner.name}' has no slot '{target}' that could have slack"
            collector.error(problems.UNKNOWN_REFERENCE, message, runner.place)
