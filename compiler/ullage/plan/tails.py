"""Tails belong to readers: what stands in the padded rows follows from who reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from ullage.bound.domain import ForWorker
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.bound.targets import loaded_slots
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Boolean,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Not,
    conjunction,
    disjunction,
    free_names,
)
from ullage.place import Place
from ullage.plan.claims import Bounds, Claims
from ullage.plan.dtypes import dtypes_of, integers_of
from ullage.plan.model import Tail
from ullage.plan.reads import PaddedRead, Wish, spelled_range
from ullage.plan.told import Told
from ullage.plan.unloaded import ALL_ROWS, WITH_PADDED_ROWS, Reading, Unloaded
from ullage.plan.writes import Writes
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Dtype, Mode, Range, Read, Reader, Runner, Slot
from ullage.spec.steps import flattened, readers_named

READS_NOTHING = "U622"
WITHOUT_ROWS = "U624"


@dataclass(frozen=True)
class Tails:
    """Derives the tails of one runner of one worker."""

    resolved: ResolvedSpec
    runner: Runner
    problem: RunnerProblem
    rewrite: ForWorker
    claims: Claims
    told: Told

    def of_slots(self) -> Mapping[str, Mapping[str, Tail]]:
        """The tail of each slot in each mode that loads it; every contradiction is collected."""
        tails: dict[str, dict[str, Tail]] = {}
        self._check_readers()
        unloaded = Unloaded(self._reading, self._ever_loaded, self.claims, self.told)
        given = {
            slot.name: fold(self.rewrite(slot.when)) for slot in self.resolved.slots_of(self.runner)
        }
        for problem in self.problem.modes:
            mode = self.resolved.modes[problem.name]
            slots = loaded_slots(self.resolved, self.runner, mode)
            loaded = {slot.name for slot in slots}
            unloaded.check(mode, problem, loaded)
            self._check_places(mode, problem, loaded)
            wanted = self._wanted(mode, problem, loaded)
            for slot in slots:
                exists = given[slot.name]
                reads = wanted.get(slot.name, []) if exists != FALSE else []
                tail = self._tail(slot, problem, reads, exists)
                tails.setdefault(slot.name, {})[mode.name] = tail
        return tails

    def _wanted(
        self, mode: Mode, problem: ModeProblem, loaded: set[str]
    ) -> dict[str, list[PaddedRead]]:
        """The padded reads of a mode by slot."""
        wanted: dict[str, list[PaddedRead]] = {}
        for reader, _, condition in self._reading.readers(mode, WITH_PADDED_ROWS):
            if not self.claims.possible(condition, (problem.guard,)):
                continue
            for wish in self._wishes[reader.name]:
                read = wish.read
                if read.slot in loaded:
                    padded = PaddedRead(
                        reader, read, condition, wish.fill, wish.bounds, wish.claims
                    )
                    wanted.setdefault(read.slot, []).append(padded)
        return wanted

    def _check_places(self, mode: Mode, problem: ModeProblem, loaded: set[str]) -> None:
        """Whoever stores into the places that live rows name finds these from 0 on."""
        for reader, _, condition in self._reading.readers(mode, ALL_ROWS):
            for read in (each for each in reader.reads if each.slot in loaded):
                slot = self.resolved.slots[read.slot]
                self._writes.check_live(slot, problem, reader, read, condition)

    @cached_property
    def _ever_loaded(self) -> frozenset[str]:
        """The slots that some mode of the runner loads."""
        modes = (self.resolved.modes[problem.name] for problem in self.problem.modes)
        loaded = (loaded_slots(self.resolved, self.runner, mode) for mode in modes)
        return frozenset(slot.name for slots in loaded for slot in slots)

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self.resolved, self.runner, self.rewrite)

    @cached_property
    def _wishes(self) -> Mapping[str, tuple[Wish, ...]]:
        """The reads of padded rows by the readers of the runner's steps."""
        return {
            name: tuple(map(self._wish, _padded(self.resolved.readers[name])))
            for name in readers_named(self.runner)
        }

    def _wish(self, read: Read) -> Wish:
        fill = None if read.fill is None else self.rewrite(read.fill)
        bounds = None if read.range is None else self._bounds(read.range)
        limits = self._limits.get(read.slot, ())
        claims = [
            (self.claims.inside(fill, each), name) for each, name in limits if fill is not None
        ]
        return Wish(read, fill, bounds, tuple(claims))

    def _check_readers(self) -> None:
        """Every reader of a step reads at least one slot that the runner owns."""
        readers = self.resolved.readers
        for step in flattened(self.runner.steps):
            for name in step.readers:
                reads = readers[name].reads
                live = all(read.rows == "live" for read in reads)
                owned = any(read.slot in self.runner.slots for read in reads)
                if live and not owned and not readers[name].left:
                    message = (
                        f"reader '{name}' reads nothing that runner '{self.runner.name}' loads"
                    )
                    related = ((readers[name].place, "the reader"),)
                    hint = "name its slots under the runner's 'slots', or leave it out"
                    self._report(READS_NOTHING, message, step.place, hint, related)

    def _tail(self, slot: Slot, mode: ModeProblem, reads: list[PaddedRead], given: Expr) -> Tail:
        readers = tuple(dict.fromkeys(each.reader.name for each in reads))
        if slot.written_by is not None and slot.written_by.rows == "padded":
            self._writes.check(slot, mode, reads, given)  # as the readers say that the step does it
            return Tail(None, readers)
        if not reads:
            return Tail(self._fill_unmentioned(slot, mode, given), ())
        if not self._has_rows(slot):
            self._report_without_rows(slot, reads[0])
            return Tail(None, readers)
        fills = [each for each in reads if each.fill is not None]
        conflicts = self._conflicts(slot, mode, reads, given)
        if conflicts:
            return Tail(None, readers)
        self._writes.check(slot, mode, reads, given)
        if not fills:
            return Tail(self._value_in_ranges(slot, mode, reads, given), readers)
        for each in fills:
            self._check_values(slot, mode, each, given)
        return Tail(self._combined(slot, mode, reads, given), readers)

    @cached_property
    def _writes(self) -> Writes:
        return Writes(self.problem, self.rewrite, self.claims, self._report)

    def _fill_unmentioned(self, slot: Slot, mode: ModeProblem, given: Expr) -> Expr | None:
        """The fill of a slot that no reader of the runner's steps mentions.

        Nobody said that its padded rows do not matter, so they are as the first reader that is
        declared somewhere wants them, or else hold some value that the slot may have.
        """
        reads = self.resolved.reads.get(slot.name, ())
        only_live = reads and all(read.rows == "live" for read in reads)
        if only_live or slot.name in self._mentioned or not self._has_rows(slot):
            return None
        wishes = map(self._wish, reads)
        fitting = (
            each.fill
            for each in wishes
            if each.fill is not None and self._fits(each, mode, (given,))
        )
        return next(fitting, None) or self._value_in_ranges(slot, mode, [], given)

    @cached_property
    def _mentioned(self) -> frozenset[str]:
        """The slots that the readers of the runner's steps mention."""
        readers = (self.resolved.readers[name] for name in readers_named(self.runner))
        return frozenset(read.slot for reader in readers for read in reader.reads)

    def _fits(self, wish: Wish, mode: ModeProblem, given: tuple[Expr, ...]) -> bool:
        """Whether a fill is a value that the slot may hold."""
        return all(
            self.claims.failure_of_load(claim, self.problem, mode, given) is None
            for claim, _ in wish.claims
        )

    def _has_rows(self, slot: Slot) -> bool:
        kinds = self.resolved.kinds
        return any(
            name not in kinds and name != "worker"
            for extent in slot.shape
            for name in free_names(extent)
        )

    def _report_without_rows(self, slot: Slot, read: PaddedRead) -> None:
        message = (
            f"reader '{read.reader.name}' reads padded rows of '{slot.name}', "
            "whose shape is the same for every batch"
        )
        hint = "such a slot has no padded rows: write rows: live"
        self._report(WITHOUT_ROWS, message, read.read.place, hint, ((slot.place, "the slot"),))

    def _conflicts(
        self, slot: Slot, mode: ModeProblem, reads: list[PaddedRead], given: Expr
    ) -> bool:
        """Whether a fill differs from another one, or lies outside of what another read allows."""
        found = False
        for one, other in combinations(reads, 2):
            claim = self._agreement(one, other)
            conditions = (one.condition, other.condition, given)
            failure = self.claims.failure_of_load(claim, self.problem, mode, conditions)
            if failure is not None:
                found = True
                self._report_conflict(slot, mode, one, other, failure.example)
        return found

    def _agreement(self, one: PaddedRead, other: PaddedRead) -> Expr:
        """The claim that one content of the tail serves both readers."""
        if one.fill is not None and other.fill is not None:
            left, right = self.claims.number(one.fill), self.claims.number(other.fill)
            return fold(Comparison("==", left, right))
        if one.fill is not None and other.bounds is not None:
            return self.claims.inside(one.fill, other.bounds)
        if other.fill is not None and one.bounds is not None:
            return self.claims.inside(other.fill, one.bounds)
        return TRUE

    def _report_conflict(
        self,
        slot: Slot,
        mode: ModeProblem,
        one: PaddedRead,
        other: PaddedRead,
        example: str | None,
    ) -> None:
        message = (
            f"readers '{one.reader.name}' and '{other.reader.name}' want different contents in "
            f"the padded rows of '{slot.name}' in mode '{mode.name}': {one.wish}, and {other.wish}"
        )
        related = ((one.read.place, f"'{one.reader.name}' wants {one.wish}"),)
        self._report("U601", message, other.read.place, example, related)

    def _value_in_ranges(
        self, slot: Slot, mode: ModeProblem, reads: list[PaddedRead], given: Expr
    ) -> Expr | None:
        """Zero or the least value of a range, whichever first is in all of them."""
        ranges = [(each.condition, each.bounds) for each in reads if each.bounds is not None]
        if slot.range is not None:
            ranges.append((TRUE, self._bounds(slot.range)))
        for candidate in (Integer(0), *dict.fromkeys(bounds[0] for _, bounds in ranges)):
            if all(
                self._lies(candidate, bounds, mode, (condition, given))
                for condition, bounds in ranges
            ):
                return candidate
        if reads:
            self._report_no_value(slot, mode, reads)
        return None

    def _lies(
        self, value: Expr, bounds: Bounds, mode: ModeProblem, given: tuple[Expr, ...]
    ) -> bool:
        claim = self.claims.inside(value, bounds)
        return self.claims.failure_of_load(claim, self.problem, mode, given) is None

    def _report_no_value(self, slot: Slot, mode: ModeProblem, reads: list[PaddedRead]) -> None:
        wishes = ", ".join(f"'{each.reader.name}' wants {each.wish}" for each in reads)
        within = "" if slot.range is None else f" and the slot holds {spelled_range(slot.range)}"
        message = (
            f"no value for the padded rows of '{slot.name}' in mode '{mode.name}' "
            f"serves all readers: {wishes}{within}"
        )
        related = tuple((each.read.place, f"'{each.reader.name}'") for each in reads[:-1])
        hint = "state a fill, or ranges that meet"
        self._report("U601", message, reads[-1].read.place, hint, related)

    def _check_values(self, slot: Slot, mode: ModeProblem, read: PaddedRead, given: Expr) -> None:
        """A fill is a value that the slot may hold, and one of its dtypes."""
        for claim, name in read.claims:
            conditions = (read.condition, given)
            failure = self.claims.failure_of_load(claim, self.problem, mode, conditions)
            if failure is not None:
                message = (
                    f"reader '{read.reader.name}' fills padded rows of '{slot.name}' with "
                    f"{read.fill_as_written}, which can be outside of the slot's {name}"
                )
                related = ((slot.place, f"the slot has {name}"),)
                self._report("U607", message, read.read.place, failure.example, related)
                return

    @cached_property
    def _limits(self) -> Mapping[str, list[tuple[Bounds, str]]]:
        """What each slot may hold, and how that is called."""
        return {slot.name: self._limits_of(slot) for slot in self.resolved.slots_of(self.runner)}

    def _limits_of(self, slot: Slot) -> list[tuple[Bounds, str]]:
        limits = [(self._dtype_bounds(dtype), f"dtype {dtype}") for dtype in dtypes_of(slot)]
        if slot.range is not None:
            limits.insert(0, (self._bounds(slot.range), f"values {spelled_range(slot.range)}"))
        return limits

    def _bounds(self, values: Range) -> Bounds:
        return self.rewrite(values.low), self.rewrite(values.high)

    @staticmethod
    def _dtype_bounds(dtype: Dtype) -> Bounds:
        low, high = integers_of(dtype)
        return Integer(low), Integer(high)

    def _combined(
        self, slot: Slot, mode: ModeProblem, reads: list[PaddedRead], given: Expr
    ) -> Expr | None:
        """One fill for all readers; where they wish different ones, each under its condition."""
        fills = [(each.condition, each.fill) for each in reads if each.fill is not None]
        ranges = [each for each in reads if each.fill is None]
        *choices, (condition, last) = fills
        if all(other == last for _, other in choices) and self._serves(last, ranges, mode, given):
            return last
        always = disjunction(*(each for each, _ in fills))
        if not self.claims.solver.proves(always, (mode.guard, given)):
            rest = self._rest(slot, mode, ranges, conjunction(given, Not(always)))
            if rest is None:
                return None
            truth = self.claims.is_truth(last) and isinstance(rest, Integer)
            last = Conditional(condition, last, Boolean(rest != Integer(0)) if truth else rest)
        for condition, value in reversed(choices):
            last = Conditional(condition, value, last)
        return fold(last)

    def _serves(
        self, value: Expr, ranges: list[PaddedRead], mode: ModeProblem, given: Expr
    ) -> bool:
        """Whether a fill is in the ranges of all other readers, also where nobody asks for it."""
        number = self.claims.number(value)
        return all(
            self._lies(number, each.bounds, mode, (each.condition, given))
            for each in ranges
            if each.bounds is not None
        )

    def _rest(
        self, slot: Slot, mode: ModeProblem, ranges: list[PaddedRead], given: Expr
    ) -> Expr | None:
        """What stands in the tail for configurations in which nobody asks for a fill."""
        return self._value_in_ranges(slot, mode, ranges, given) if ranges else Integer(0)

    def _report(
        self,
        code: str,
        message: str,
        place: Place,
        hint: str | None,
        related: tuple[tuple[Place, str], ...],
    ) -> None:
        """Once for each pair of places."""
        same = (place, related[0][0] if related else place)
        self.told.add(same, code, message, hint=hint, related=related)


def _padded(reader: Reader) -> tuple[Read, ...]:
    return tuple(read for read in reader.reads if read.rows != "live")
