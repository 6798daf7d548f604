"""Whether a mode that captures graphs lays batches out as those that replay them will be.

A graph is replayed with the addresses and shapes that it was captured with, so what replays loads
the same slots, fills their padded rows alike, and ends with extents that were captured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ullage.bound.problem import Live, ModeProblem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.diagnostics.diagnostic import Collector, Related
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import FALSE, TRUE, Comparison, Expr, Name, conjunction, substitute
from ullage.place import Place
from ullage.plan.claims import Claims, Failure
from ullage.plan.model import PlannedSlot, Tail
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Runner

OTHER_LAYOUT = "U614"


@dataclass(frozen=True, slots=True)
class Captures:
    """Checks the capture modes of one runner of one worker."""

    resolved: ResolvedSpec
    runner: Runner
    problem: RunnerProblem
    claims: Claims
    collector: Collector

    def check(self, slots: Sequence[PlannedSlot]) -> None:
        """Reports the first difference of each mode that replays what another one captures."""
        served = {mode.name: mode for mode in self.problem.modes}
        for each in self.runner.captures:
            for replay in self.resolved.modes_named((each.replay,)):
                if replay.name != each.mode and {each.mode, replay.name} <= served.keys():
                    _Pair(self, each.place, served[each.mode], served[replay.name]).check(slots)


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
            self.of.collector.error(OTHER_LAYOUT, text, self.place, hint=hint, related=related)
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
        if slot.guard == FALSE or (captured is None and replayed is None):
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
        for what, claim in self._claims(batch):
            failure = self._failure(claim)
            if failure is not None:
                yield what, related, failure.example

    def _batch(self) -> dict[str, Expr]:
        """The batch that is captured for one that replays: its rows before the runner pads."""
        mode = self.of.resolved.modes[self.replay.name]
        offered = self.replay.stages[len(mode.pipeline)].extents
        brought: dict[str, Expr] = {live.name: Name(live.name) for live in self.replay.live}
        return {**brought, **offered}

    def _claims(self, batch: dict[str, Expr]) -> Iterator[tuple[str, Expr]]:
        occurs = substitute(self.capture.guard, batch)
        yield f"but '{self.capture.name}' does not occur wherever it does", occurs
        relations = (relation.claim for relation in relations_of(self.capture))
        legal = substitute(conjunction(*relations), batch)
        yield f"but '{self.capture.name}' has no batch of the rows of some of its", legal
        for target in (each for each in self.replay.extents if each in self.capture.extents):
            captured = substitute(self.capture.extents[target], batch)
            claim = Comparison("==", captured, self.replay.extents[target])
            yield f"but '{target}' of the two can differ", claim

    def _failure(self, claim: Expr) -> Failure | None:
        claim = fold(claim)
        if claim == TRUE or _same(claim):
            return None
        relations = (relation.claim for relation in relations_of(self.replay))
        given = (self.of.problem.guard, self.replay.guard, *relations)
        live: tuple[Live, ...] = self.replay.live
        return self.of.claims.failure(claim, given, live)


def _same(claim: Expr) -> bool:
    """Whether both sides of an equation are the same expression."""
    return isinstance(claim, Comparison) and claim.operator == "==" and claim.left == claim.right


def _shown(tail: Tail) -> str:
    return "untouched" if tail.fill is None else f"a fill of {spell(tail.fill)}"
