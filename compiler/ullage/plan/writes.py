"""Padded rows of an index write too: what they name must be no place that a live row names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ullage.bound.domain import ForWorker
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.diagnostics.diagnostic import Related
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, Comparison, Expr, disjunction
from ullage.place import Place
from ullage.plan.claims import Claims
from ullage.plan.reads import PaddedRead, spelled_range
from ullage.spec.model import Range, Slot

COLLISION = "U615"

Report = Callable[[str, str, Place, str | None, Related], None]


@dataclass(frozen=True, slots=True)
class Writes:
    """Checks the readers of one runner that store into the place that each row names."""

    problem: RunnerProblem
    rewrite: ForWorker
    claims: Claims
    report: Report

    def check(self, slot: Slot, mode: ModeProblem, reads: list[PaddedRead], exists: Expr) -> None:
        """Reports each write whose padded rows can name a place that a live row names."""
        for each in (read for read in reads if read.read.scatters):
            if slot.live_range is None:
                self._report_unstated(slot, each)
                continue
            claim = self._apart(each, slot.live_range)
            given = (each.condition, exists)
            failure = self.claims.failure_of_load(claim, self.problem, mode, given)
            if failure is not None:
                self._report_collision(slot, slot.live_range, mode, each, failure.example)

    def _apart(self, read: PaddedRead, live: Range) -> Expr:
        """The claim that nothing which the padded rows may hold is a live value."""
        low, high = self.rewrite(live.low), self.rewrite(live.high)
        if read.fill is not None:
            value = self.claims.number(read.fill)
            least, most = value, value
        elif read.bounds is not None:
            least, most = read.bounds
        else:
            return FALSE
        return fold(disjunction(Comparison("<", most, low), Comparison("<", high, least)))

    def _report_unstated(self, slot: Slot, read: PaddedRead) -> None:
        message = (
            f"reader '{read.reader.name}' writes where padded rows of '{slot.name}' point, "
            "and nothing says which places live rows never name"
        )
        hint = "state the slot's 'live_range', which leaves out the place for padding"
        related = ((slot.place, "the slot"),)
        self.report(COLLISION, message, read.read.place, hint, related)

    def _report_collision(
        self,
        slot: Slot,
        live: Range,
        mode: ModeProblem,
        read: PaddedRead,
        example: str | None,
    ) -> None:
        message = (
            f"reader '{read.reader.name}' writes where padded rows of '{slot.name}' point in mode "
            f"'{mode.name}': {read.wish} can name a place of a live row"
        )
        hint = example or "fill with a place outside of the slot's 'live_range'"
        related = ((live.place, f"live rows name {spelled_range(live)}"),)
        self.report(COLLISION, message, read.read.place, hint, related)
