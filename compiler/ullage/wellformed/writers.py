"""Slots that a step of the engine writes: in every mode that has them, and before anybody reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import conjunction
from ullage.spec.check import ResolvedSpec
from ullage.spec.flow import gap_of
from ullage.spec.model import Mode, Read, Reader, Runner, Slot, Step, Writer
from ullage.spec.steps import Circumstances, circumstances, writing_steps

UNWRITTEN: Final = "U612"
READ_TOO_EARLY: Final = "U613"


def check_writers(resolved: ResolvedSpec, collector: Collector) -> None:
    """Report slots that are not written where they are loaded, or read before they are written."""
    for runner in resolved.spec.runners:
        modes = resolved.modes_of(runner)
        for slot in resolved.slots_of(runner):
            if slot.written_by is not None:
                loading = tuple(m for m in modes if m in resolved.modes_named(slot.modes))
                _Check(resolved, runner, slot, slot.written_by, loading, collector).check()


@dataclass
class _Check:
    """One slot of one runner, whose `modes` have it."""

    resolved: ResolvedSpec
    runner: Runner
    slot: Slot
    writer: Writer
    modes: tuple[Mode, ...]
    collector: Collector
    written: list[Circumstances] = field(default_factory=list)
    reported: set[str] = field(default_factory=set)

    @property
    def _steps(self) -> str:
        """The steps of this runner that may write the slot, or all of which it has none."""
        steps = writing_steps(self.writer, self.runner) or self.writer.steps
        return "step " + " or ".join(f"'{step}'" for step in steps)

    def check(self) -> None:
        loaded = False
        for step, runs in circumstances(self.runner.steps, self.resolved.modes_of(self.runner)):
            if step.name in self.writer.steps and step.action == "call" and loaded:
                self.written.append(runs)
            loaded = loaded or step.action == "load"
            for reader, read in self._reads(step):
                self._check_read(reader, read, step, runs)
        self._check_written()

    def _check_written(self) -> None:
        missing = [m.name for m in self.modes if not any(m.name in w.modes for w in self.written)]
        if not missing:
            return
        where = f" in mode '{missing[0]}'" if self.written else ""
        message = (
            f"slot '{self.slot.name}' is written by {self._steps}, "
            f"which runner '{self.runner.name}' does not run after it loads{where}"
        )
        related = ((self.runner.place, "the runner"),)
        hint = "add the step, or narrow the 'slots' of the runner or the 'modes' of the slot"
        self.collector.error(UNWRITTEN, message, self.writer.place, hint=hint, related=related)

    def _reads(self, step: Step) -> Iterator[tuple[Reader, Read]]:
        for name in step.readers:
            reader = self.resolved.readers[name]
            yield from ((reader, read) for read in reader.reads if read.slot == self.slot.name)

    def _check_read(self, reader: Reader, read: Read, step: Step, runs: Circumstances) -> None:
        own = replace(runs, when=conjunction(runs.when, reader.when))
        reading = self.resolved.modes_named(reader.modes)
        for mode in (each for each in self.modes if each in reading and each.name in runs.modes):
            gap = gap_of(mode, own, self.written)
            if gap is not None and reader.name not in self.reported:
                self.reported.add(reader.name)
                self._report_early(reader, read, step, mode, gap)

    def _report_early(self, reader: Reader, read: Read, step: Step, mode: Mode, gap: str) -> None:
        message = (
            f"reader '{reader.name}' reads '{self.slot.name}' in step '{step.name}' of runner "
            f"'{self.runner.name}', before {self._steps} writes it "
            f"in mode '{mode.name}'{gap}"
        )
        related = (
            (self.writer.place, f"written by {self._steps.removeprefix('step ')}"),
            (read.place, f"'{reader.name}' reads it"),
        )
        hint = "move the reader behind the step that writes, or narrow its 'when' and 'modes'"
        self.collector.error(READ_TOO_EARLY, message, step.place, hint=hint, related=related)
