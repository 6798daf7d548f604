"""The audit of an analysis, made anew or remembered."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ullage.analysis import Analysis
from ullage.audit.model import AuditReport
from ullage.memory import NOTHING, Memory
from ullage.processes import at_once


def audited(
    analysis: Analysis,
    progress: Callable[[str], None] = lambda _: None,
    only: Collection[str] | None = None,
    memory: Memory = NOTHING,
) -> AuditReport:
    """The verdict on every stated formula, and the expectations that it does not meet.

    `only`: the names of the audits to decide, all if it is None. Of specs that have not changed
    since, it is remembered, and the solver is not imported.
    """

    def decided() -> AuditReport:
        from ullage.audit.decide import audit

        return audit(analysis, progress, only, at_once, memory)

    audits = (each.name for each in analysis.resolved.spec.audits)
    names = tuple(name for name in audits if only is None or name in only)
    return memory.answer(AuditReport, decided, *analysis.sources.identity, names)
