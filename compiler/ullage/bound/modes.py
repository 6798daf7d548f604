"""Composes a mode with its pipeline: extents over live variables and parameters only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ullage.bound.composer import Composer, ForWorker
from ullage.bound.eligibility import (
    chosen,
    couplings_of,
    hoisted,
    solved,
    solved_from_above,
    split,
    without_facts,
)
from ullage.bound.problem import ModeProblem, Round, Share, Stage, Taken
from ullage.bound.ranks import Axes
from ullage.bound.rounds import courses
from ullage.bound.targets import loaded_slots, needed_axes, own_target
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    Conditional,
    Expr,
    Integer,
    Logical,
    conjunction,
    disjunction,
    free_names,
    negation,
    substitute,
    walk,
)
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, PipelineEntry, Runner, Transform


def compose(
    resolved: ResolvedSpec,
    mode: Mode,
    runner: Runner,
    before: tuple[Runner, ...],
    rewrite: ForWorker,
    declared: OfRunner,
) -> ModeProblem:
    """`mode` as `runner` loads it on one worker.

    `before` are the exclusive runners that are asked earlier.
    """
    return _Composition(resolved, mode, runner, before, rewrite, declared).problem()


@dataclass(frozen=True, slots=True)
class OfRunner:
    """What is so of a runner of one worker in all of its modes.

    `exists` is where it does. `lows`: see `declared_lows`. `own`: see `own_dimensions`.
    `transforms`: see `read_transforms`.
    """

    exists: Expr
    lows: Mapping[str, Expr]
    own: Mapping[str, Mapping[str, Expr]]
    transforms: Mapping[str, Transform]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a composition comes to, over names that may be marks."""

    stages: tuple[Stage, ...]
    extents: Axes
    live_extents: Axes
    accepts: tuple[Expr, ...]
    taken: tuple[tuple[Runner, tuple[Expr, ...]], ...]

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """All that decides whether the runner gets a batch."""
        return (*self.accepts, *(each for _, conditions in self.taken for each in conditions))

    def mapped(self, change: Callable[[Expr], Expr]) -> _Parts:
        """The same where every expression is changed."""

        def each_of(axes: Mapping[str, Expr]) -> Axes:
            return {name: change(extent) for name, extent in axes.items()}

        return _Parts(
            tuple(replace(stage, extents=each_of(stage.extents)) for stage in self.stages),
            each_of(self.extents),
            each_of(self.live_extents),
            tuple(map(change, self.accepts)),
            tuple((runner, tuple(map(change, each))) for runner, each in self.taken),
        )


@dataclass(frozen=True, slots=True)
class _Composition:
    """One mode of one runner and worker."""

    resolved: ResolvedSpec
    mode: Mode
    runner: Runner
    before: tuple[Runner, ...]
    rewrite: ForWorker
    declared: OfRunner

    def problem(self) -> ModeProblem:
        """The mode; other ranks have variables of their own where one rank may not be all."""
        runners = (self.runner, *self.before)
        alone = True
        for own_peer, may_be_absent in itertools.product((False, True), repeat=2):
            if not own_peer and not alone:
                continue  # nor is one rank enough where others may be absent
            composer = Composer(
                self.resolved,
                self.rewrite,
                self.declared.lows,
                self.declared.transforms,
                runners,
                own_peer=own_peer,
                may_be_absent=may_be_absent,
            )
            parts = self._parts(composer)
            alone = not composer.needs_own_peer and _one_maximum(composer, self._together(parts))
            if (own_peer or alone) and (may_be_absent or composer.only_rise(_nodes(parts))):
                break
        rounds = tuple(self._rounds(composer))
        return self._problem(composer, parts.mapped(composer.written_out), rounds)

    @property
    def _own(self) -> tuple[PipelineEntry, ...]:
        return self.runner.pipeline_in(self.mode.name)

    def _rounds(self, composer: Composer) -> Iterator[Round]:
        """The rounds in which an extent may be attained; none where ranks agree on nothing."""
        if not any(composer.transforms[entry.transform].collective for entry in self.mode.pipeline):
            return
        others = composer.others_of(self.mode)
        for course in courses(composer, self.mode, self._own, others):
            parts = self._parts_of(composer, list(course.stages))
            left = (negation(self._asked_takes(*each)) for each in parts.taken)
            takes = fold(conjunction(*parts.accepts, *left))
            yield Round(course.others, course.guard, parts.extents, takes)

    def _asked_takes(self, runner: Runner, conditions: tuple[Expr, ...]) -> Expr:
        return conjunction(self.rewrite(runner.when), *conditions)

    def _together(self, parts: _Parts) -> tuple[tuple[Expr, ...], ...]:
        """What is needed at once: an extent, or all of a slot; with what chooses the batches."""
        slots = (
            tuple(
                parts.extents.get(own_target(slot, position), substitute(each, parts.extents))
                for position, each in enumerate(slot.shape)
            )
            for slot in loaded_slots(self.resolved, self.runner, self.mode)
        )
        alone = ((extent,) for extent in parts.extents.values())
        return tuple((*each, *parts.conditions) for each in dict.fromkeys((*alone, *slots)))

    def _parts(self, composer: Composer) -> _Parts:
        _, stages = composer.pipeline(self.mode, own=self._own)
        return self._parts_of(composer, stages)

    def _parts_of(self, composer: Composer, stages: list[Stage]) -> _Parts:
        axes = dict(stages[-1].extents)
        offered = dict(stages[len(self.mode.pipeline)].extents)
        brought = before_padding(self.resolved, stages)
        known = {f"live_{name}": extent for name, extent in brought.items()} | offered

        def of_batch(expression: Expr, axes: Axes) -> Expr:
            values = {**composer.live_of(self.mode), **axes}
            value = substitute(composer.rewrite(expression), values)
            return fold(composer.totals_of(self.mode).sum_free(value))

        needed = needed_axes(self.resolved, self.runner)
        extents = {name: extent for name, extent in axes.items() if name in needed}
        for slot in loaded_slots(self.resolved, self.runner, self.mode):
            for target, dimension in self.declared.own[slot.name].items():
                extents[target] = of_batch(dimension, axes)
        accepts = tuple(
            of_batch(each, known) for each in without_facts(self.runner, self.mode.name)
        )
        taken = tuple(
            (runner, tuple(of_batch(each, known) for each in runner.accepts_in(self.mode.name)))
            for runner in self.before
        )
        return _Parts(tuple(stages), extents, brought, accepts, taken)

    def _problem(self, composer: Composer, parts: _Parts, rounds: tuple[Round, ...]) -> ModeProblem:
        live = frozenset(each.name for each in composer.all_live)
        fixed, varying = _apart(parts.accepts, live)
        accepts = tuple(solved(each, live) for each in varying)
        guard = fold(conjunction(self.rewrite(self.mode.when), self.declared.exists, *fixed))
        taken = tuple(self._taken(*each, live) for each in parts.taken)
        return ModeProblem(
            self.mode.name,
            guard,
            composer.all_live,
            (
                *composer.all_couplings,
                *couplings_of(accepts, live),
                *(coupling for each in taken for coupling in couplings_of((each.left,), live)),
            ),
            self._extents(parts, live),
            parts.stages,
            self.mode.place,
            parts.live_extents,
            accepts,
            taken,
            guard,
            tuple(_shares(composer)),
            rounds,
        )

    def _extents(self, parts: _Parts, live: frozenset[str]) -> Axes:
        """The extents; where batches are refused, choices by configuration stand outermost."""
        if not parts.accepts:
            return parts.extents
        offered = parts.stages[len(self.mode.pipeline)].extents.values()
        found = (each.condition for each in offered if isinstance(each, Conditional))
        fixed = tuple(dict.fromkeys(each for each in found if not free_names(each) & live))
        return {name: hoisted(extent, fixed) for name, extent in parts.extents.items()}

    def _taken(self, runner: Runner, conditions: tuple[Expr, ...], live: frozenset[str]) -> Taken:
        fixed, varying = _apart(conditions, live)
        exists = fold(conjunction(self.rewrite(runner.when), *fixed))
        left = fold(disjunction(negation(exists), negation(conjunction(*varying))))
        accepts = tuple(split(each, live) for each in varying)
        return Taken(runner.name, exists, accepts, solved_from_above(left, live))


def _apart(
    conditions: tuple[Expr, ...], live: frozenset[str]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """What is so of the configuration, and what of each batch."""
    every = conjunction(*conditions)
    parts = every.operands if isinstance(every, Logical) and every.junction == "and" else (every,)
    fixed = tuple(each for each in parts if not free_names(each) & live)
    return fixed, tuple(each for each in parts if each not in fixed)


def _nodes(parts: _Parts) -> tuple[Expr, ...]:
    """All that a maximum over ranks may enter; a condition as a choice, which never rises."""
    held = (Conditional(each, Integer(1), Integer(0)) for each in parts.conditions)
    stages = (extent for stage in parts.stages for extent in stage.extents.values())
    return (*parts.extents.values(), *stages, *held)


def _one_maximum(composer: Composer, together: tuple[tuple[Expr, ...], ...]) -> bool:
    """Whether the own rank can stand for all in its mode.

    Each extent, together with what decides whether the runner gets the batch, depends on the own
    rank through one maximum over ranks only.
    """
    return all(_follow_one(composer, nodes) for nodes in together)


def _follow_one(composer: Composer, nodes: tuple[Expr, ...]) -> bool:
    ways = composer.dependences(frozenset[str]().union(*map(free_names, nodes)))
    if all(len(way) == 1 or not way & composer.marks.keys() for way in ways):
        return True
    condition = next(_choices(composer, nodes), None)
    if condition is None:
        return False
    return all(
        _follow_one(composer, tuple(chosen(node, condition, holds) for node in nodes))
        for holds in (True, False)
    )


def _choices(composer: Composer, nodes: tuple[Expr, ...]) -> Iterator[Expr]:
    """The conditions of choices that do not depend on the own rank."""
    for node in (part for each in nodes for part in walk(each)):
        if isinstance(node, Conditional) and not any(
            composer.dependences(free_names(node.condition))
        ):
            yield node.condition


def _shares(composer: Composer) -> Iterator[Share]:
    """What ranks bring to sums and maxima, each once."""
    seen: set[Expr] = set()
    for share in composer.shares:
        brought = composer.written_out(share.brought)
        if brought not in seen:
            seen.add(brought)
            yield Share(brought, share.place)


def before_padding(resolved: ResolvedSpec, stages: list[Stage]) -> Axes:
    """The axes after the leading transforms whose result the sources hold."""
    axes = stages[0].extents
    for stage in stages[1:]:
        if stage.transform is None or not resolved.transforms[stage.transform].in_batch:
            break
        axes = stage.extents
    return dict(axes)
