"""Composes a mode with its pipeline: extents over live variables and parameters only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ullage.bound.composer import Composer, ForWorker, serving_definitions
from ullage.bound.problem import ModeProblem, Stage
from ullage.bound.ranks import Axes
from ullage.expr.simplify import fold
from ullage.expr.tree import Expr, Name, Over, conjunction, free_names, substitute, walk
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner, Slot


def compose(
    resolved: ResolvedSpec, mode: Mode, runner: Runner, rewrite: ForWorker, exists: Expr
) -> ModeProblem:
    """`mode` as `runner` loads it on one worker; `exists` is where that worker does."""
    guard = fold(conjunction(rewrite(mode.when), exists))
    composer = Composer(resolved, rewrite)
    marked = _composed(composer, mode, runner, guard)
    if not composer.needs_own_peer and all(
        composer.follows_one_maximum(extent) for extent in marked.extents.values()
    ):
        return _unmarked(composer, marked)
    return _composed(Composer(resolved, rewrite, own_peer=True), mode, runner, guard)


def _unmarked(composer: Composer, mode: ModeProblem) -> ModeProblem:
    def unmark(axes: Mapping[str, Expr]) -> Axes:
        return {name: composer.unmarked(extent) for name, extent in axes.items()}

    stages = tuple(replace(stage, extents=unmark(stage.extents)) for stage in mode.stages)
    return replace(
        mode,
        extents=unmark(mode.extents),
        stages=stages,
        live_extents=unmark(mode.live_extents),
    )


def _composed(composer: Composer, mode: Mode, runner: Runner, guard: Expr) -> ModeProblem:
    resolved = composer.resolved
    axes, stages = composer.pipeline(mode)
    live_values = composer.live_of(mode)
    extents = dict(axes)
    for slot in loaded_slots(resolved, runner, mode):
        for position, dimension in enumerate(slot.shape):
            if not needs_own_capacity(resolved, dimension):
                continue
            value = substitute(composer.rewrite(dimension), {**live_values, **axes})
            extents[f"{slot.name}.{position}"] = fold(composer.totals_of(mode).sum_free(value))
    return ModeProblem(
        mode.name,
        guard,
        composer.all_live,
        composer.all_couplings,
        extents,
        tuple(stages),
        mode.place,
        _before_padding(resolved, stages),
    )


def _before_padding(resolved: ResolvedSpec, stages: list[Stage]) -> Axes:
    """The axes after the leading transforms whose result the sources hold."""
    in_batch = {each.name for each in resolved.spec.transforms if each.in_batch}
    axes = stages[0].extents
    for stage in stages[1:]:
        if stage.transform not in in_batch:
            break
        axes = stage.extents
    return dict(axes)


def loaded_slots(resolved: ResolvedSpec, runner: Runner, mode: Mode) -> list[Slot]:
    """The slots of the runner that a batch of this mode loads."""
    labels = {mode.name, *mode.families}
    return [
        slot
        for slot in resolved.spec.slots
        if slot.name in runner.slots and (not slot.modes or labels & set(slot.modes))
    ]


def needs_own_capacity(resolved: ResolvedSpec, dimension: Expr) -> bool:
    """Whether a dimension follows neither from parameters alone nor from a single axis."""
    axes = {axis.name for axis in resolved.spec.axes}
    known = axes | set(resolved.kinds) | {"worker"}
    names = free_names(substitute(dimension, serving_definitions(resolved)))
    if names & {each.name for each in resolved.spec.parameters if each.varies is not None}:
        return True
    if not names <= known or any(isinstance(part, Over) for part in walk(dimension)):
        return True
    return bool(names & axes) and not (isinstance(dimension, Name) and dimension.name in axes)
