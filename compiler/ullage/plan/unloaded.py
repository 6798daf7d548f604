"""Reads of a slot that is not loaded: the reader would see what an earlier batch left."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from ullage.bound.domain import ForWorker
from ullage.bound.problem import ModeProblem
from ullage.expr.simplify import fold
from ullage.expr.tree import Expr, conjunction, disjunction
from ullage.place import Place
from ullage.plan.claims import Claims
from ullage.plan.facts import without_facts
from ullage.plan.told import Told
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Read, Reader, Runner, Slot
from ullage.spec.steps import circumstances

NOT_LOADED = "U623"

ALL_ROWS = frozenset((True, False))
WITH_PADDED_ROWS = frozenset((True,))


@dataclass(frozen=True, slots=True)
class Reading:
    """Who reads in the steps of one runner of one worker."""

    resolved: ResolvedSpec
    runner: Runner
    rewrite: ForWorker

    def readers(self, mode: Mode, rows: Set[bool]) -> Iterator[tuple[Reader, Place, Expr]]:
        """Who may read in a mode, at which step first, for which configurations, if for any.

        `rows`: whether the batches in question have padded rows.
        """
        modes = self.resolved.modes_of(self.runner)
        runs: dict[str, list[tuple[Place, Expr]]] = {}
        for step, when in circumstances(self.runner.steps, modes):
            if mode.name in when.modes and not rows.isdisjoint(when.rows):
                for name in step.readers:
                    runs.setdefault(name, []).append((step.place, when.when))
        facts = frozenset(fact.name for fact in self.runner.facts)
        for name, steps in runs.items():
            reader = self.resolved.readers[name]
            if reader.modes and mode not in self.resolved.modes_named(reader.modes):
                continue
            ways = (self.rewrite(conjunction(when, reader.when)) for _, when in steps)
            condition = fold(disjunction(*(without_facts(way, facts) for way in ways)))
            yield reader, steps[0][0], condition


@dataclass(frozen=True, slots=True)
class Unloaded:
    """Checks that what the readers of one runner read is loaded in the modes in which they do.

    `ever`: the slots that some mode of the runner loads.
    """

    reading: Reading
    ever: Set[str]
    claims: Claims
    told: Told

    def check(self, mode: Mode, problem: ModeProblem, loaded: Set[str]) -> None:
        """Reports each read in the mode of a slot that is not among those `loaded`."""
        of = self.reading
        for rows, kind in ((WITH_PADDED_ROWS, "padded"), (ALL_ROWS, "live")):
            for reader, step, condition in of.readers(mode, rows):
                for read in reader.reads:
                    slot = of.resolved.slots[read.slot]
                    if read.rows != kind or slot.name in loaded or self._stays(slot, read):
                        continue
                    exists = conjunction(condition, fold(of.rewrite(slot.when)))
                    if self.claims.possible(exists, (problem.guard,)):
                        self._report(reader, read, slot, mode, step)

    def _stays(self, slot: Slot, read: Read) -> bool:
        """Whether live rows may be read without a load: of no slot of the runner, or a lasting one.

        A reader that the steps of several runners name may read slots that one of them lacks.
        """
        owned = slot.name in self.reading.runner.slots
        kept = slot.lifetime == "once" or (slot.lifetime == "runner" and slot.name in self.ever)
        return read.rows == "live" and (kept or not owned)

    def _report(self, reader: Reader, read: Read, slot: Slot, mode: Mode, step: Place) -> None:
        runner = self.reading.runner
        owned = slot.name in runner.slots
        owner = f"mode '{mode.name}' does" if owned else f"runner '{runner.name}' does"
        loads = (
            f"{owner} not load"
            if slot.name in self.ever or not owned
            else (f"no mode of runner '{runner.name}' loads")
        )
        message = f"reader '{reader.name}' reads {read.rows} rows of '{slot.name}', which {loads}"
        hint = (
            "name the mode under the slot's 'modes', or leave it out of the reader's"
            if owned
            else "name the slot under the runner's 'slots', or leave the reader out of its steps"
        )
        related = ((step, f"'{reader.name}' reads here"), (slot.place, "the slot"))
        self.told.add((read.place, step), NOT_LOADED, message, hint=hint, related=related)
