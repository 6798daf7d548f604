"""Readers of what another runner has left: its slot has to be kept until then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.spec import problems
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Reader, ReadLeft, Runner, Step
from ullage.spec.steps import flattened

LOST: Final = "U614"


def check_leavings(resolved: ResolvedSpec, collector: Collector) -> None:
    """Report reads of what other runners may have overwritten by then."""
    for runner in resolved.spec.runners:
        for step, reader, read in _reads(runner, resolved):
            _check(resolved, runner, step, reader, read, collector)


def _reads(runner: Runner, resolved: ResolvedSpec) -> Iterator[tuple[Step, Reader, ReadLeft]]:
    """What the readers of a runner read of others, each at its first step."""
    seen: set[str] = set()
    for step in flattened(runner.steps):
        for name in (each for each in step.readers if each not in seen):
            seen.add(name)
            reader = resolved.readers[name]
            yield from ((step, reader, read) for read in reader.left)


def _check(
    resolved: ResolvedSpec,
    runner: Runner,
    step: Step,
    reader: Reader,
    read: ReadLeft,
    collector: Collector,
) -> None:
    owner, slot = resolved.runners[read.runner], resolved.slots[read.slot]
    reads = f"reader '{reader.name}' reads what runner '{owner.name}' left in '{slot.name}'"
    related = ((slot.place, "the slot"), (step.place, f"'{reader.name}' reads here"))
    if read.slot not in owner.slots:
        message = f"{reads}, which is none of its slots"
        collector.error(problems.UNKNOWN_REFERENCE, message, read.place, related=related)
    elif owner is runner:
        message = f"{reads} in a step of that runner itself"
        hint = "leave out 'from'"
        collector.error(
            problems.CONTRADICTING_KEYS, message, read.place, hint=hint, related=related
        )
    elif slot.lifetime == "load":
        message = (
            f"{reads}, but the runners share storage: "
            f"a load of '{runner.name}' may overwrite it before"
        )
        hint = "say 'lifetime: runner' of the slot, which gives it storage of its own"
        collector.error(LOST, message, read.place, hint=hint, related=related)
