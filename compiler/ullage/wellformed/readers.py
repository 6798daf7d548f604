"""What is declared and left alone: readers, slots and modes that nothing names."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Read, Reader, Runner
from ullage.spec.steps import readers_named

UNNAMED: Final = "U611"
UNREAD: Final = "U625"
UNSERVED: Final = "U626"


def check_readers(resolved: ResolvedSpec, collector: Collector) -> None:
    """Warn of a reader of padded rows that a runner may have forgotten."""
    for runner in resolved.spec.runners:
        named, owned = readers_named(runner), frozenset(runner.slots)
        for reader in resolved.spec.readers:
            read = next(_padded(reader, owned), None)
            if read is None or reader.name in named or not _meets(reader, runner, resolved):
                continue
            message = (
                f"no step of runner '{runner.name}' names reader '{reader.name}', "
                f"which reads padded rows of its slot '{read.slot}'"
            )
            hint = "name it under the 'readers' of the step in which it reads"
            related = ((read.place, f"'{reader.name}' reads here"),)
            collector.warn(UNNAMED, message, runner.place, hint=hint, related=related)


def _padded(reader: Reader, slots: Set[str]) -> Iterator[Read]:
    """What the reader reads of padded rows in some slots."""
    return (read for read in reader.reads if read.rows == "padded" and read.slot in slots)


def _meets(reader: Reader, runner: Runner, resolved: ResolvedSpec) -> bool:
    """Whether the reader is about some mode of the runner."""
    return any(mode.name in runner.modes for mode in resolved.modes_named(reader.modes))


def check_unread(resolved: ResolvedSpec, collector: Collector) -> None:
    """Warn of each slot that load fills and no reader mentions, if the spec has readers.

    What another runner is left is read by that runner's own load.
    """
    spec = resolved.spec
    left = (read.slot for reader in spec.readers for read in reader.left)
    read = {*left, *(read.slot for reader in spec.readers for read in reader.reads)}
    for slot in spec.slots:
        if spec.readers and not (slot.name in read or slot.written_by or slot.lifetime == "runner"):
            filled = "load fills" if slot.elements is None else "the start fills"
            message = f"{filled} slot '{slot.name}', which no reader reads"
            hint = "declare under 'readers' who reads it, or remove it"
            collector.warn(UNREAD, message, slot.place, hint=hint)


def check_unserved(resolved: ResolvedSpec, collector: Collector) -> None:
    """Warn of each mode that is in no list of a runner."""
    served = {name for runner in resolved.spec.runners for name in runner.modes}
    for mode in resolved.spec.modes:
        if mode.name not in served:
            message = f"no runner serves mode '{mode.name}'"
            hint = "name it, or its family, under the 'modes' of a runner"
            collector.warn(UNSERVED, message, mode.place, hint=hint)
