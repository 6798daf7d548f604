"""Slots whose sources are carried where there is no slot: there, nothing may pad their rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ullage.bound.domain import for_worker
from ullage.bound.problem import ModeProblem, Problem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.bound.targets import loaded_slots
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Comparison, Expr, free_names, negation
from ullage.place import Place
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Slot

CARRIED_AND_PADDED: Final = "U629"


def check_carried(
    resolved: ResolvedSpec, problem: Problem, solver: Solver, collector: Collector
) -> None:
    """Report slots of runners that pad their rows, or capture, where their sources are carried."""
    for runner in problem.runners:
        for slot in resolved.slots_of(resolved.runners[runner.runner]):
            if slot.carried_otherwise:
                _Carried(resolved, runner, slot, solver).check(collector)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a slot is needed for, and where that is."""

    said: str
    hint: str
    place: Place
    label: str


@dataclass(frozen=True, slots=True)
class _Carried:
    """One slot of one runner, where it does not exist."""

    resolved: ResolvedSpec
    runner: RunnerProblem
    slot: Slot
    solver: Solver

    def check(self, collector: Collector) -> None:
        found = self._captured or self._padded
        if found is not None:
            message = (
                f"'{self.slot.name}' is carried where not ({spell(self.slot.when)}), {found.said}"
            )
            hint, related = found.hint, ((found.place, found.label),)
            collector.error(
                CARRIED_AND_PADDED, message, self.slot.place, hint=hint, related=related
            )

    @property
    def _captured(self) -> _Found | None:
        captures = self.resolved.runners[self.runner.runner].captures
        if not captures:
            return None
        said = f"but {self.runner.name} replays graphs, which read one address"
        hint = "let the slot exist in every configuration"
        return _Found(said, hint, captures[0].place, "the runner captures")

    @property
    def _padded(self) -> _Found | None:
        mode, axis = next(self._not_live, (None, ""))
        if mode is None:
            return None
        said = f"but {self.runner.name} may pad {axis} of mode '{mode.name}' there"
        hint = "let the slot exist, by its 'when', wherever something pads its rows"
        return _Found(said, hint, mode.place, f"mode '{mode.name}'")

    @property
    def _not_live(self) -> Iterator[tuple[ModeProblem, str]]:
        """The modes with an axis that is not proved to have live rows alone."""
        shape = frozenset[str]().union(*map(free_names, self.slot.shape))
        declared = self.resolved.runners[self.runner.runner]
        for mode in self.runner.modes:
            if self.slot in loaded_slots(self.resolved, declared, self.resolved.modes[mode.name]):
                for axis in sorted(shape & self.resolved.axes):
                    if not self._is_live(mode, axis):
                        yield mode, axis

    def _is_live(self, mode: ModeProblem, axis: str) -> bool:
        claim = fold(Comparison("<=", mode.extents[axis], mode.live_extents[axis]))
        if claim == TRUE:
            return True
        missing = negation(for_worker(self.resolved, self.runner.worker)(self.slot.when))
        relations = (each.claim for each in relations_of(mode))
        accepted: tuple[Expr, ...] = tuple(each.condition for each in mode.accepts)
        given = (self.runner.guard, mode.guard, missing, *relations, *accepted)
        return self.solver.proves(claim, given)
