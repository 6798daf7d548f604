"""Slots that load writes: whoever reads them runs after the load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import TRUE, conjunction
from ullage.place import Place
from ullage.spec.check import ResolvedSpec
from ullage.spec.flow import gap_of
from ullage.spec.model import Mode, Read, Reader, Runner, Step
from ullage.spec.steps import Circumstances, circumstances
from ullage.wellformed.writers import READ_TOO_EARLY


def check_loads(resolved: ResolvedSpec, collector: Collector) -> None:
    """Report reads of what load writes in steps that it does not run before."""
    for runner in resolved.spec.runners:
        _Check(resolved, runner, collector).check()


@dataclass
class _Check:
    """One runner; of each reader the first read that is too early is told."""

    resolved: ResolvedSpec
    runner: Runner
    collector: Collector
    reported: set[str] = field(default_factory=set)

    def check(self) -> None:
        modes = self.resolved.modes_of(self.runner)
        runs = list(circumstances(_unconditional(self.runner.steps), modes))
        loads = [(step.place, when) for step, when in runs if step.action == "load"]
        for position, (step, when) in enumerate(runs):
            before = [when for step, when in runs[:position] if step.action == "load"]
            for reader, read in self._reads(step):
                for mode in self._modes(reader, read, when):
                    self._check(reader, read, step, when, mode, before, loads)

    def _reads(self, step: Step) -> Iterator[tuple[Reader, Read]]:
        for reader in (self.resolved.readers[name] for name in step.readers):
            for read in reader.reads:
                slot = self.resolved.slots[read.slot]
                loaded = slot.written_by is None and slot.lifetime != "once"
                if loaded and slot.name in self.runner.slots:
                    yield reader, read

    def _modes(self, reader: Reader, read: Read, when: Circumstances) -> Iterator[Mode]:
        """The modes that load what is read."""
        wanted = [each for each in (self.resolved.slots[read.slot].modes, reader.modes) if each]
        for mode in self.resolved.modes_of(self.runner):
            labels = {mode.name, *mode.families}
            if mode.name in when.modes and not any(labels.isdisjoint(each) for each in wanted):
                yield mode

    def _check(
        self,
        reader: Reader,
        read: Read,
        step: Step,
        when: Circumstances,
        mode: Mode,
        before: list[Circumstances],
        loads: list[tuple[Place, Circumstances]],
    ) -> None:
        """Reports a read before the load; in a mode that runs none, steps get what it brings."""
        if any(_is_always(load, mode, when) for load in before):
            return
        later = [place for place, load in loads if mode.name in load.modes]
        own = replace(when, when=conjunction(when.when, reader.when))
        gap = gap_of(mode, own, before)
        if not later or gap is None or reader.name in self.reported:
            return
        self.reported.add(reader.name)
        message = (
            f"reader '{reader.name}' reads '{read.slot}' in step '{step.name}' of runner "
            f"'{self.runner.name}', before load writes it in mode '{mode.name}'{gap}"
        )
        related = ((later[-1], "the load"), (read.place, f"'{reader.name}' reads it"))
        hint = "move the load before the step, and out of groups with a condition"
        self.collector.error(READ_TOO_EARLY, message, step.place, hint=hint, related=related)


def _is_always(load: Circumstances, mode: Mode, when: Circumstances) -> bool:
    """Whether a load runs for every batch of the mode that there is `when` something else runs."""
    return load.when == TRUE and mode.name in load.modes and when.rows <= load.rows


def _unconditional(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with loads that always run: without its own 'when' one hands on what is brought."""
    return tuple(
        replace(step, when=TRUE, padded=None)
        if step.action == "load"
        else replace(step, steps=_unconditional(step.steps))
        for step in steps
    )
