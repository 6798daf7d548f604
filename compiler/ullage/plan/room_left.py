"""Whether what a runner has left in a slot has room for all that somebody reads of it later.

A reader of another runner, or of the same one in a mode that does not have the slot, reads as many
rows as its own batch brings: these were never written where the slot has room for less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ullage.bound.composer import Composer
from ullage.bound.domain import for_worker
from ullage.bound.problem import ModeProblem, Problem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.bound.sums import NotSummableError
from ullage.bound.targets import loaded_slots
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    TRUE,
    Comparison,
    Expr,
    conjunction,
    disjunction,
    free_names,
    substitute,
)
from ullage.place import Place
from ullage.plan.claims import Claims, Failure
from ullage.plan.model import Dimension, PlannedRunner, PlannedSlot
from ullage.plan.shapes import Shapes
from ullage.plan.told import Told
from ullage.plan.unloaded import ALL_ROWS, Reading
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Reader, Slot

TOO_LITTLE_LEFT = "U631"


@dataclass(frozen=True, slots=True)
class Left:
    """A read of live rows that an earlier batch left in a slot of `owner`."""

    reader: Reader
    step: Place
    condition: Expr
    slot: Slot
    owner: str
    place: Place


def check_room(
    resolved: ResolvedSpec, problem: Problem, planned: Sequence[PlannedRunner], solver: Solver
) -> Told:
    """What readers read of what was left, and may be more than there is room for."""
    told = Told()
    for each in problem.runners:
        found = [(left, mode) for mode in each.modes for left in _left(resolved, each, mode)]
        if found:
            own = solver.apart()
            check = _Check(resolved, each, _owners(problem, planned), Claims(resolved, own), told)
            for left, mode in found:
                check.check(left, mode)
            own.forget()
    return told


def _left(resolved: ResolvedSpec, problem: RunnerProblem, of: ModeProblem) -> Iterator[Left]:
    """What the readers of a runner read in a mode of what earlier batches left."""
    runner, mode = resolved.runners[problem.runner], resolved.modes[of.name]
    loaded = {slot.name for slot in loaded_slots(resolved, runner, mode)}
    reading = Reading(resolved, runner, for_worker(resolved, problem.worker))
    for reader, step, condition in reading.readers(mode, ALL_ROWS):
        for read in reader.left:
            slot = resolved.slots[read.slot]
            yield Left(reader, step, condition, slot, read.runner, read.place)
        for own in reader.reads:
            slot = resolved.slots[own.slot]
            kept = slot.name in runner.slots and slot.lifetime == "runner"
            if kept and slot.name not in loaded and own.rows == "live":
                yield Left(reader, step, condition, slot, runner.name, own.place)


@dataclass(frozen=True, slots=True)
class _Owner:
    """A runner of one worker, which leaves what is in its slots."""

    problem: RunnerProblem
    planned: PlannedRunner

    def slot(self, name: str) -> PlannedSlot | None:
        """The slot, if the runner has it."""
        return next((each for each in self.planned.slots if each.name == name), None)

    def leaves(self, slot: PlannedSlot) -> Expr:
        """In which configurations a batch of the runner can be in a mode with the slot."""
        guards = (each.guard for each in self.problem.modes if each.name in slot.tails)
        return conjunction(self.problem.guard, disjunction(*guards))


def _owners(problem: Problem, planned: Sequence[PlannedRunner]) -> tuple[_Owner, ...]:
    return tuple(_Owner(*each) for each in zip(problem.runners, planned, strict=True))


@dataclass(frozen=True, slots=True)
class _Check:
    """The readers of one runner of one worker."""

    resolved: ResolvedSpec
    problem: RunnerProblem
    owners: Sequence[_Owner]
    claims: Claims
    told: Told

    def check(self, left: Left, problem: ModeProblem) -> None:
        """Reports a read in a mode of what nobody left, or of more than there is room for."""
        mode = self.resolved.modes[problem.name]
        found = [(owner, owner.slot(left.slot.name)) for owner in self._owners(left)]
        having = [(owner, slot) for owner, slot in found if slot is not None]
        if not having and left.owner == self.problem.runner:
            return  # it is an error already that no mode of the runner loads it
        if not self._check_left(left, problem, having):
            return
        for owner, slot in having:
            self._check(left, mode, problem, owner.planned, slot)

    def _owners(self, left: Left) -> list[_Owner]:
        """The runner as the same worker has it, or else as each of its workers does."""
        named = [each for each in self.owners if each.problem.runner == left.owner]
        return [each for each in named if each.problem.worker == self.problem.worker] or named

    def _check_left(
        self, left: Left, problem: ModeProblem, having: list[tuple[_Owner, PlannedSlot]]
    ) -> bool:
        """Whether some batch can have left the slot wherever it is read, or else reports it."""
        claim = fold(disjunction(*(owner.leaves(slot) for owner, slot in having)))
        exists = for_worker(self.resolved, self.problem.worker)(left.slot.when)
        given = (self.problem.guard, problem.guard, left.condition, exists)
        failure = self.claims.failure(claim, given)
        if failure is None:
            return True
        message = f"{self._reads(left)} in mode '{problem.name}', but nothing may have been left: "
        message += "there can be no batch with the slot before"
        self._tell(left, problem, message, failure.example)
        return False

    def _check(
        self,
        left: Left,
        mode: Mode,
        problem: ModeProblem,
        owner: PlannedRunner,
        slot: PlannedSlot,
    ) -> None:
        """Reports the first extent that is not known in the mode, or can pass its capacity."""
        known = {"worker", *self.resolved.axes, *self.resolved.kinds}
        for written, dimension in zip(left.slot.shape, slot.dimensions, strict=True):
            lacking = free_names(written) - known - {live.name for live in mode.live}
            if lacking:
                self._report(left, problem, written, dimension, min(lacking), None)
                return
            failure = self._failure(left, mode, problem, owner, slot, written, dimension)
            if failure is not None:
                self._report(left, problem, written, dimension, None, failure.example)
                return

    def _failure(
        self,
        left: Left,
        mode: Mode,
        problem: ModeProblem,
        owner: PlannedRunner,
        slot: PlannedSlot,
        written: Expr,
        dimension: Dimension,
    ) -> Failure | None:
        composer = Composer(
            self.resolved, for_worker(self.resolved, self.problem.worker), lows={}, transforms={}
        )
        named = {**composer.live_of(mode), **problem.live_extents}
        read = substitute(composer.rewrite(written), named)
        try:
            extent = composer.totals_of(mode).sum_free(read)
        except NotSummableError:
            return Failure(None)
        claim = fold(Comparison("<=", fold(extent), dimension.capacity))
        if claim == TRUE or extent == dimension.capacity:
            return None
        brought = _with_totals(problem, composer)
        given = (
            self.problem.guard,
            problem.guard,
            left.condition,
            owner.guard,
            slot.guard,
            *(each.claim for each in problem.accepts),
            *(each.claim for each in relations_of(brought)),
        )
        if Shapes.of(self.problem, self.claims.solver).prove(claim, given):
            return None
        return self.claims.failure(claim, given, brought.live)

    def _report(
        self,
        left: Left,
        problem: ModeProblem,
        written: Expr,
        dimension: Dimension,
        lacking: str | None,
        example: str | None,
    ) -> None:
        reads = self._reads(left)
        rows = f"its extent {spell(written)} in mode '{problem.name}'"
        message = (
            f"{reads}, and {rows} can be more than there is room for: {spell(dimension.capacity)}"
            if lacking is None
            else f"{reads}, and {rows} is not known: the mode brings no '{lacking}'"
        )
        self._tell(left, problem, message, example)

    def _reads(self, left: Left) -> str:
        whose = (
            "an earlier batch" if left.owner == self.problem.runner else f"runner '{left.owner}'"
        )
        return f"reader '{left.reader.name}' reads what {whose} left in '{left.slot.name}'"

    def _tell(self, left: Left, problem: ModeProblem, message: str, example: str | None) -> None:
        hint = example or "say by the reader's 'modes' and 'when' which batches it reads for"
        related = (
            (left.slot.place, "the slot"),
            (left.step, f"'{left.reader.name}' reads here"),
            (problem.place, f"mode '{problem.name}'"),
        )
        same = (left.place, left.step)
        self.told.add(same, TOO_LITTLE_LEFT, message, hint=hint, related=related)


def _with_totals(problem: ModeProblem, composer: Composer) -> ModeProblem:
    """The mode with the totals that extents of its own slots do not have."""
    known = {each.name for each in problem.live}
    further = tuple(each for each in composer.all_live if each.name not in known)
    if not further:
        return problem
    couplings = tuple(dict.fromkeys((*problem.couplings, *composer.all_couplings)))
    return replace(problem, live=(*problem.live, *further), couplings=couplings)
