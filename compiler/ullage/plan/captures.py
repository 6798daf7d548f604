"""Whether a mode that captures graphs lays batches out as those that replay them will be.

A graph is replayed with the addresses and shapes that it was captured with, so what replays loads
the same slots, fills their padded rows alike, and ends with extents that were captured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.diagnostics.diagnostic import Related
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    TRUE,
    Comparison,
    Expr,
    Name,
    conjunction,
    free_names,
    substitute,
)
from ullage.place import Place
from ullage.plan.claims import Claims, Failure
from ullage.plan.model import PlannedSlot, Tail
from ullage.plan.shapes import Shapes
from ullage.plan.told import Told
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Runner
from ullage.spec.runner_parts import Capture

OTHER_LAYOUT = "U617"


@dataclass(frozen=True)
class Captures:
    """Checks the capture modes of one runner of one worker."""

    resolved: ResolvedSpec
    runner: Runner
    problem: RunnerProblem
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
                    _Pair(self, each.place, served[each.mode], served[replay.name]).check(slots)
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
    place: Place
    capture: ModeProblem
    replay: ModeProblem

    def check(self, slots: Sequence[PlannedSlot]) -> None:
        for message, related, hint in self._differences(slots):
            text = (
                f"mode '{self.replay.name}' replays what '{self.capture.name}' captures, {message}"
            )
            same = (self.place, self.replay.place)
            self.of.told.add(same, OTHER_LAYOUT, text, hint=hint, related=related)
            return

    def _differences(
        self, slots: Sequence[PlannedSlot]
    ) -> Iterator[tuple[str, Related, str | None]]:
        for slot in slots:
            yield from self._of_slot(slot)
        yield from self._of_extents()

    def _of_slot(self, slot: PlannedSlot) -> Iterator[tuple[str, Related, str | None]]:
        """A slot that one of the two does not load, or whose padded rows differ."""
        captured, replayed = (slot.tails.get(each.name) for each in (self.capture, self.replay))
        if (captured is None and replayed is None) or not self._replays_with(slot):
            return
        if captured is None or replayed is None:
            lacking = self.capture.name if captured is None else self.replay.name
            message = f"but '{lacking}' does not load slot '{slot.name}'"
            yield message, ((slot.place, "the slot"),), "name both under the slot's 'modes'"
        elif (failure := self._unlike(captured, replayed, slot)) is not None:
            ways = f"{_shown(captured)}, then {_shown(replayed)}"
            message = f"but the padded rows of '{slot.name}' differ: {ways}"
            hint = failure.example or "let the same readers read in both modes"
            yield message, ((slot.place, "the slot"),), hint

    def _replays_with(self, slot: PlannedSlot) -> bool:
        """Whether the slot exists where batches are replayed."""
        return self.of.claims.possible(slot.guard, (self.of.problem.guard, self.replay.guard))

    def _unlike(self, captured: Tail, replayed: Tail, slot: PlannedSlot) -> Failure | None:
        if captured.fill is None or replayed.fill is None:
            return None if captured.fill == replayed.fill else Failure(None)
        number = self.of.claims.number
        claim = fold(Comparison("==", number(captured.fill), number(replayed.fill)))
        return self.of.claims.failure_of_load(claim, self.of.problem, self.replay, (slot.guard,))

    def _of_extents(self) -> Iterator[tuple[str, Related, str | None]]:
        """A batch that replays with extents which no batch of the capture ends with."""
        related = ((self.replay.place, f"mode '{self.replay.name}'"),)
        batch = self._batch()
        for live in self.capture.live:
            if live.name not in batch:
                message = f"and nothing tells which '{live.label}' a graph for it has"
                hint = "let what the capture mode brings have the names of axes"
                yield message, ((live.place, "brought here"), *related), hint
                return
        for what, failure in self._failures(batch):
            yield what, related, failure.example
            return

    def _batch(self) -> dict[str, Expr]:
        """The batch that is captured for one that replays: its rows before the runner pads."""
        brought: dict[str, Expr] = {live.name: Name(live.name) for live in self.replay.live}
        return {**brought, **self._offered(self.replay)}

    def _failures(self, batch: dict[str, Expr]) -> Iterator[tuple[str, Failure]]:
        """What is wrong with the batch that would be captured for one that replays."""
        relations = (relation.claim for relation in relations_of(self.capture))
        claims = {
            f"but '{self.capture.name}' does not occur wherever it does": self.capture.guard,
            f"but '{self.capture.name}' has no batch of the rows of some of its": conjunction(
                *relations
            ),
        }
        for what, claim in claims.items():
            failure = self._failure(substitute(claim, batch))
            if failure is not None:
                yield what, failure
        yield from self._unequal(batch)

    def _unequal(self, batch: dict[str, Expr]) -> Iterator[tuple[str, Failure]]:
        """Extents that differ; where the runner is offered other axes, these are what is told.

        Of the same axes its own pipeline makes the same, as does what follows from axes alone.
        """
        offered = self._differing(self._offered(self.capture), self._offered(self.replay), batch)
        loaded = {
            target: extent
            for target, extent in self.capture.extents.items()
            if target in self.replay.extents and (offered or not self._follows_axes(target))
        }
        found = self._differing(loaded, self.replay.extents, batch)
        for target, failure in (offered or found).items() if found else ():
            yield f"but '{target}' of the two can differ", failure

    def _differing(
        self, captured: Mapping[str, Expr], replayed: Mapping[str, Expr], batch: dict[str, Expr]
    ) -> dict[str, Failure]:
        """The extents that are not shown to be the same."""
        found: dict[str, Failure] = {}
        for name, extent in captured.items():
            claim = Comparison("==", substitute(extent, batch), replayed[name])
            failure = self._failure(claim)
            if failure is not None:
                found[name] = failure
        return found

    def _offered(self, mode: ModeProblem) -> Mapping[str, Expr]:
        """The axes behind the pipeline of the mode, which the runner's own follows."""
        return mode.stages[len(self.of.resolved.modes[mode.name].pipeline)].extents

    def _follows_axes(self, target: str) -> bool:
        axes, kinds = self.of.resolved.axes, self.of.resolved.kinds
        if target in axes:
            return True
        name, _, position = target.partition(".")
        extent = self.of.resolved.slots[name].shape[int(position)]
        return free_names(extent) <= axes | kinds.keys()

    def _failure(self, claim: Expr) -> Failure | None:
        claim = fold(claim)
        if claim == TRUE or _same(claim):
            return None
        relations = (relation.claim for relation in relations_of(self.replay))
        accepted = (condition.claim for condition in self.replay.accepts)
        given = (self.of.problem.guard, self.replay.guard, *accepted, *relations)
        if self.of.shapes.prove(claim, given):
            return None
        return self.of.claims.failure(claim, given, self.replay.live)


def _same(claim: Expr) -> bool:
    """Whether both sides of an equation are the same expression."""
    return isinstance(claim, Comparison) and claim.operator == "==" and claim.left == claim.right


def _shown(tail: Tail) -> str:
    return "untouched" if tail.fill is None else f"a fill of {spell(tail.fill)}"
