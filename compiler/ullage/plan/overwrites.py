"""Outputs that are written twice for one batch: what the first step wrote is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from ullage.bound.domain import ForWorker
from ullage.bound.problem import ModeProblem
from ullage.bound.targets import loaded_slots
from ullage.expr.simplify import fold
from ullage.expr.tree import conjunction, disjunction, negation
from ullage.plan.claims import Claims
from ullage.plan.facts import without_facts
from ullage.plan.told import Told
from ullage.spec.check import ResolvedSpec
from ullage.spec.flow import gap_of
from ullage.spec.model import Mode, Runner, Slot, Step
from ullage.spec.steps import Circumstances, circumstances

OVERWRITTEN = "U630"

Run = tuple[Step, Circumstances]


@dataclass(frozen=True, slots=True)
class Overwrites:
    """Checks the steps of one runner of one worker that write slots."""

    resolved: ResolvedSpec
    runner: Runner
    rewrite: ForWorker
    claims: Claims
    told: Told

    def check(self, problem: ModeProblem) -> None:
        """Reports each two runs of writers for one batch of a mode with no reader between them."""
        mode = self.resolved.modes[problem.name]
        runs = [
            each
            for each in circumstances(self.runner.steps, self.resolved.modes_of(self.runner))
            if mode.name in each[1].modes
        ]
        for slot in loaded_slots(self.resolved, self.runner, mode):
            if slot.written_by is None:
                continue
            writing = [
                position
                for position, (step, _) in enumerate(runs)
                if step.action == "call" and step.name in slot.written_by.steps
            ]
            for first, second in combinations(writing, 2):
                self._check(slot, mode, problem, runs[first : second + 1])

    def _check(self, slot: Slot, mode: Mode, problem: ModeProblem, runs: list[Run]) -> None:
        """The first and the last of some runs write the slot."""
        (first, one), (second, other) = runs[0], runs[-1]
        both = Circumstances(
            conjunction(slot.when, one.when, other.when),
            one.modes & other.modes,
            one.rows & other.rows,
        )
        reads = list(self._reads(slot, mode, runs[:-1]))
        gap = gap_of(mode, both, reads)
        if gap is not None and self._possible(both, reads, problem):
            self._report(slot, mode, first, second, gap)

    def _reads(self, slot: Slot, mode: Mode, runs: list[Run]) -> Iterator[Circumstances]:
        """When the slot is read in some runs of steps."""
        for step, when in runs:
            for reader in (self.resolved.readers[name] for name in step.readers):
                in_mode = not reader.modes or mode in self.resolved.modes_named(reader.modes)
                if in_mode and any(read.slot == slot.name for read in reader.reads):
                    yield replace(when, when=conjunction(when.when, reader.when))

    def _possible(
        self, both: Circumstances, reads: list[Circumstances], problem: ModeProblem
    ) -> bool:
        """Whether conditions that hold together, by what they say, let some batch have both."""
        facts = frozenset(fact.name for fact in self.runner.facts)
        for rows in both.rows:
            read = disjunction(*(each.when for each in reads if rows in each.rows))
            lost = self.rewrite(conjunction(both.when, negation(read)))
            if self.claims.possible(fold(without_facts(lost, facts)), (problem.guard,)):
                return True
        return False

    def _report(self, slot: Slot, mode: Mode, first: Step, second: Step, gap: str) -> None:
        message = (
            f"step '{second.name}' overwrites slot '{slot.name}', which step '{first.name}' has "
            f"written for the same batch of mode '{mode.name}', and nobody reads it between them"
            f"{gap}"
        )
        related = ((first.place, "written here before"), (slot.place, "the slot"))
        hint = "let their 'when', 'modes' or 'padded' exclude each other, or read it between them"
        same = (second.place, first.place)
        self.told.add(same, OVERWRITTEN, message, hint=hint, related=related)
