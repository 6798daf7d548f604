"""Rows that name a place to write to: it is one from 0 on, and padded rows name none of a live row.

A negative index is a place counted from the end, where something else lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ullage.bound.domain import ForWorker
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.diagnostics.diagnostic import Related
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, Comparison, Expr, Integer, disjunction
from ullage.place import Place
from ullage.plan.claims import Bounds, Claims
from ullage.plan.reads import PaddedRead, spelled_range
from ullage.spec.model import Range, Read, Reader, Slot

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
        """Reports each write whose padded rows can name no place, or one that a live row names."""
        for each in (read for read in reads if read.read.scatters):
            given = (each.condition, exists)
            least, _ = self._named(each) or (Integer(0), None)
            claim = fold(Comparison("<=", Integer(0), least))
            failure = self.claims.failure_of_load(claim, self.problem, mode, given)
            if failure is not None:
                self._report_below(slot, mode, each, failure.example)
                continue
            if slot.live_range is None:
                self._report_unstated(slot, each)
                continue
            claim = self._apart(each, slot.live_range)
            failure = self.claims.failure_of_load(claim, self.problem, mode, given)
            if failure is not None:
                self._report_collision(slot, slot.live_range, mode, each, failure.example)

    def check_live(
        self, slot: Slot, mode: ModeProblem, reader: Reader, read: Read, condition: Expr
    ) -> None:
        """Reports a write where what batches bring begins below 0."""
        brought = slot.live_range or slot.range
        if not read.scatters or brought is None:
            return
        claim = fold(Comparison("<=", Integer(0), self.rewrite(brought.low)))
        given = (condition, self.rewrite(slot.when), self.problem.guard, mode.guard)
        failure = self.claims.failure(claim, given)
        if failure is not None:
            message = (
                f"reader '{reader.name}' writes where rows of '{slot.name}' point, and live rows "
                f"can be below 0: they name {spelled_range(brought)}"
            )
            hint = failure.example or "begin with 0: an index below it counts from the end"
            related = ((read.place, f"'{reader.name}' writes there"),)
            self.report(COLLISION, message, brought.place, hint, related)

    def _apart(self, read: PaddedRead, live: Range) -> Expr:
        """The claim that nothing which the padded rows may hold is a live value."""
        low, high = self.rewrite(live.low), self.rewrite(live.high)
        named = self._named(read)
        if named is None:
            return FALSE
        least, most = named
        return fold(disjunction(Comparison("<", most, low), Comparison("<", high, least)))

    def _named(self, read: PaddedRead) -> Bounds | None:
        """The least and the most that the padded rows may hold, if that is said."""
        if read.fill is None:
            return read.bounds
        value = self.claims.number(read.fill)
        return value, value

    def _report_below(
        self, slot: Slot, mode: ModeProblem, read: PaddedRead, example: str | None
    ) -> None:
        message = (
            f"reader '{read.reader.name}' writes where padded rows of '{slot.name}' point in mode "
            f"'{mode.name}': {read.wish} can be below 0, which counts from the end"
        )
        hint = example or "fill with a place from 0 on, outside of the slot's 'live_range'"
        self.report(COLLISION, message, read.read.place, hint, ((slot.place, "the slot"),))

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
