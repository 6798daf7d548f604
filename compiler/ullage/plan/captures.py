"""Whether a mode that captures graphs lays batches out as those that replay them will be.

A graph is replayed with the addresses and shapes that it was captured with, so what replays loads
the same slots, fills their padded rows alike, and ends with extents that were captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ullage.bound.choices import conditions_of
from ullage.bound.domain import ForWorker
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.diagnostics.diagnostic import Related
from ullage.expr.conditions import with_choice_made
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Comparison,
    Expr,
    Name,
    conjunction,
    disjunction,
    free_names,
    negation,
    substitute,
)
from ullage.plan.claims import Claims, Failure
from ullage.plan.model import PlannedSlot, Tail
from ullage.plan.shapes import Shapes
from ullage.plan.told import Told
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Runner, Step
from ullage.spec.runner_parts import Capture
from ullage.spec.steps import circumstances

OTHER_LAYOUT = "U617"

MOST_CHOICES = 4
"""How many conditions the sides of an equation are told apart by."""


@dataclass(frozen=True)
class Captures:
    """Checks the capture modes of one runner of one worker."""

    resolved: ResolvedSpec
    runner: Runner
    problem: RunnerProblem
    rewrite: ForWorker
    claims: Claims
    told: Told

    @cached_property
    def shapes(self) -> Shapes:
        """What proves claims about the runner's batches, made when it is first asked."""
        return Shapes.of(self.problem, self.claims.solver)

    def check(self, slots: Sequence[PlannedSlot]) -> None:
        """Reports the first difference of each mode that replays what another one captures."""
        served = {mode.name: mode for mode in self.problem.modes}
        for each in self.runner.captures:
            for replay in self.resolved.modes_named((each.replay,)):
                if replay.name == each.mode or replay.name not in served:
                    continue
                if each.mode in served:
                    _Pair(self, each, served[each.mode], served[replay.name]).check(slots)
                else:
                    self._report_never(each, served[replay.name])

    def _report_never(self, capture: Capture, replay: ModeProblem) -> None:
        message = (
            f"mode '{replay.name}' replays what '{capture.mode}' captures, "
            f"which never occurs for runner '{self.problem.name}'"
        )
        related = ((replay.place, f"mode '{replay.name}'"),)
        same = (capture.place, replay.place)
        self.told.add(same, OTHER_LAYOUT, message, related=related)


@dataclass(frozen=True, slots=True)
class _Pair:
    """One mode that captures, and one that replays."""

    of: Captures
    declared: Capture
    capture: ModeProblem
    replay: ModeProblem

    def check(self, slots: Sequence[PlannedSlot]) -> None:
        for message, related, hint in self._differences(slots):
            text = (
                f"mode '{self.replay.name}' replays what '{self.capture.name}' captures, {message}"
            )
            same = (self.declared.place, self.replay.place)
            self.of.told.add(same, OTHER_LAYOUT, text, hint=hint, related=related)
            return

    def _differences(
        self, slots: Sequence[PlannedSlot]
    ) -> Iterator[tuple[str, Related, str | None]]:
        for slot in slots:
            yield from self._of_slot(slot)
        yield from self._of_extents(slots)

    def _of_slot(self, slot: PlannedSlot) -> Iterator[tuple[str, Related, str | None]]:
        """A slot that one of the two does not load, or whose padded rows differ."""
        captured, replayed = (slot.tails.get(each.name) for each in (self.capture, self.replay))
        if (captured is None and replayed is None) or not self._replays_with(slot):
            return
        if replayed is None and not self._is_recorded(slot):
            return
        if captured is None or replayed is None:
            lacking = self.capture.name if captured is None else self.replay.name
            message = f"but '{lacking}' does not load slot '{slot.name}'"
            yield message, ((slot.place, "the slot"),), "name both under the slot's 'modes'"
        elif (failure := self._filled_apart(captured, replayed, slot)) is not None:
            ways = f"{_shown(captured)}, then {_shown(replayed)}"
            message = f"but the padded rows of '{slot.name}' differ: {ways}"
            hint = failure.example or "let the same readers read in both modes"
            yield message, ((slot.place, "the slot"),), hint

    def _is_recorded(self, slot: PlannedSlot) -> bool:
        """Whether a graph may hold a read of the slot.

        A step that runs in the mode that captures alone is one whose launches a graph holds. Where
        there is one, what steps of both modes read they read anew before each replay.
        """
        modes = self.of.resolved.modes_of(self.of.runner)
        captured = [
            (step, self.replay.name in runs.modes)
            for step, runs in circumstances(self.of.runner.steps, modes)
            if self.capture.name in runs.modes
        ]
        reading = [again for step, again in captured if self._reads(step, slot)]
        is_told_apart = any(step.action == "call" and not again for step, again in captured)
        return not reading or not is_told_apart or not all(reading)

    def _reads(self, step: Step, slot: PlannedSlot) -> bool:
        """Whether a reader of the step reads the slot in the mode that captures."""
        resolved = self.of.resolved
        mode = resolved.modes[self.capture.name]
        readers = (resolved.readers[name] for name in step.readers)
        return any(
            read.slot == slot.name
            for reader in readers
            if not reader.modes or mode in resolved.modes_named(reader.modes)
            for read in reader.reads
        )

    def _replays_with(self, slot: PlannedSlot) -> bool:
        """Whether the slot exists where batches are replayed."""
        return self.of.claims.possible(slot.guard, (self.of.problem.guard, self.replay.guard))

    def _filled_apart(self, captured: Tail, replayed: Tail, slot: PlannedSlot) -> Failure | None:
        if captured.fill is None or replayed.fill is None:
            return None if captured.fill == replayed.fill else Failure(None)
        number = self.of.claims.number
        claim = fold(Comparison("==", number(captured.fill), number(replayed.fill)))
        return self.of.claims.failure_of_load(claim, self.of.problem, self.replay, (slot.guard,))

    def _of_extents(
        self, slots: Sequence[PlannedSlot]
    ) -> Iterator[tuple[str, Related, str | None]]:
        """A batch that replays with extents which no batch of the capture ends with."""
        if self._replays_buckets(slots):
            return
        related = ((self.replay.place, f"mode '{self.replay.name}'"),)
        batch = self._batch()
        for live in self.capture.live:
            if live.name not in batch:
                message = f"and nothing tells which '{live.label}' a graph for it has"
                hint = "let what the capture mode brings have the names of axes"
                yield message, ((live.place, "brought here"), *related), hint
                return
        for what, failure in (*self._lacking(batch), *self._unequal(batch, slots)):
            yield what, related, failure.example
            return

    def _replays_buckets(self, slots: Sequence[PlannedSlot]) -> bool:
        """Whether a graph is captured with the very rows that each batch is padded to."""
        bucket = {**self._brought(), **_ends(self.replay, self.of.resolved.axes)}
        named = all(live.name in bucket for live in self.capture.live)
        return (
            named
            and not any(self._lacking(bucket))
            and not any(self._unlike_extents(bucket, slots, padded=True))
        )

    def _batch(self) -> dict[str, Expr]:
        """The batch that is captured for one that replays: its rows before the runner pads."""
        return {**self._brought(), **self._offered(self.replay)}

    def _brought(self) -> dict[str, Expr]:
        return {live.name: Name(live.name) for live in self.replay.live}

    def _lacking(self, batch: Mapping[str, Expr]) -> Iterator[tuple[str, Failure]]:
        """Why the batch that would be captured for one that replays is none of the mode."""
        relations = (relation.claim for relation in relations_of(self.capture))
        claims = {
            f"but '{self.capture.name}' does not occur wherever it does": self.capture.guard,
            f"but '{self.capture.name}' has no batch of the rows of some of its": conjunction(
                *relations
            ),
        }
        for what, claim in claims.items():
            failure = self._failure(substitute(claim, dict(batch)))
            if failure is not None:
                yield what, failure

    def _unequal(
        self, batch: Mapping[str, Expr], slots: Sequence[PlannedSlot]
    ) -> Iterator[tuple[str, Failure]]:
        """Extents that differ; where the runner is offered other axes, these are what is told."""
        captured, replayed = self._offered(self.capture), self._offered(self.replay)
        everywhere = dict.fromkeys(captured, TRUE)
        offered = dict(self._unlike(captured, replayed, batch, everywhere))
        found = dict(self._unlike_extents(batch, slots, bool(offered)))
        for target, failure in (offered or found).items() if found else ():
            yield f"but '{target}' of the two can differ", failure

    def _unlike_extents(
        self, batch: Mapping[str, Expr], slots: Sequence[PlannedSlot], padded: bool
    ) -> Iterator[tuple[str, Failure]]:
        """Extents that differ behind all pipelines, of which one that follows axes alone is told
        by these: they are looked at only if the runner has `padded` different axes.
        """
        axes, known = self.of.resolved.axes, self.of.resolved.axes | self.of.resolved.kinds.keys()
        held = self._held(slots)
        used: dict[str, list[Expr]] = {}
        for target, where in held.items():
            for axis in self._axes_of(target) & axes if padded else ():
                used.setdefault(axis, []).append(where)
        ends = {axis: disjunction(*used[axis]) for axis in sorted(used)}
        captured, replayed = _ends(self.capture, ends), _ends(self.replay, ends)
        unlike = dict(self._unlike(captured, replayed, batch, ends))
        compared = {
            target: where
            for target, where in held.items()
            if not self._axes_of(target) <= known or not self._axes_of(target).isdisjoint(unlike)
        }
        yield from self._unlike(self.capture.extents, self.replay.extents, batch, compared)

    def _held(self, slots: Sequence[PlannedSlot]) -> Mapping[str, Expr]:
        """What extents of slots that both load follow, and where a graph may hold one of these."""
        taken: dict[str, list[Expr]] = {}
        for slot in slots:
            if not {self.capture.name, self.replay.name} <= slot.tails.keys():
                continue
            for dimension in slot.dimensions:
                target = dimension.target
                if target is not None and target in self.replay.extents:
                    taken.setdefault(target, []).append(slot.guard)
        return {
            target: conjunction(self._fixed(target), disjunction(*guards))
            for target, guards in taken.items()
        }

    def _unlike(
        self,
        captured: Mapping[str, Expr],
        replayed: Mapping[str, Expr],
        batch: Mapping[str, Expr],
        compared: Mapping[str, Expr],
    ) -> Iterator[tuple[str, Failure]]:
        """Those that are not shown to be the same where they are compared."""
        for name, where in compared.items():
            claim = Comparison("==", substitute(captured[name], dict(batch)), replayed[name])
            failure = self._failure(claim, where)
            if failure is not None:
                yield name, failure

    def _fixed(self, target: str) -> Expr:
        """Where graphs hold what lies along the axes of an axis or an extent."""
        names = self._axes_of(target)
        free = (where for axis, where in self.declared.free if axis in names)
        return negation(disjunction(*(self.of.rewrite(where) for where in free)))

    def _offered(self, mode: ModeProblem) -> Mapping[str, Expr]:
        """The axes behind the pipeline of the mode, which the runner's own follows."""
        return mode.stages[len(self.of.resolved.modes[mode.name].pipeline)].extents

    def _axes_of(self, target: str) -> frozenset[str]:
        """The names in an extent of a slot, or an axis itself."""
        name, _, position = target.partition(".")
        if not position:
            return frozenset((name,))
        return frozenset(free_names(self.of.resolved.slots[name].shape[int(position)]))

    def _failure(self, claim: Expr, where: Expr = TRUE) -> Failure | None:
        claim, where = fold(claim), fold(where)
        if where == FALSE or _is_plain(claim):
            return None
        relations = (relation.claim for relation in relations_of(self.replay))
        accepted = (condition.claim for condition in self.replay.accepts)
        given = (self.of.problem.guard, self.replay.guard, where, *accepted, *relations)
        if self.of.shapes.prove(claim, given):
            return None
        return self.of.claims.failure(claim, given, self.replay.live)


def _ends(mode: ModeProblem, axes: Iterable[str]) -> Mapping[str, Expr]:
    """What the axes come to behind all pipelines."""
    return {axis: mode.extents.get(axis, mode.stages[-1].extents[axis]) for axis in axes}


def _is_plain(claim: Expr, choices: int = MOST_CHOICES) -> bool:
    """Whether a claim holds by its form: both sides of an equation are the same expression.

    Of sides that only differ in where they choose, by one condition after the other, that holds
    whichever is chosen.
    """
    match claim:
        case Comparison("==", left, right) if left == right:
            return True
        case _ if claim == TRUE:
            return True
    condition = next(conditions_of(claim), None) if choices else None
    return condition is not None and all(
        _is_plain(fold(with_choice_made(claim, condition, holds)), choices - 1)
        for holds in (True, False)
    )


def _shown(tail: Tail) -> str:
    return "untouched" if tail.fill is None else f"a fill of {spell(tail.fill)}"
