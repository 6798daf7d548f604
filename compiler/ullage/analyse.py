"""From a specs folder to everything that is known about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ullage.analysis import Analysis, Derived
from ullage.diagnostics.diagnostic import Collector
from ullage.memory import NOTHING, Memory
from ullage.processes import at_once
from ullage.spec.check import ResolvedSpec
from ullage.text.texts import TextSet, collect_texts

Progress = Callable[[str], None]


def analyse(
    folder: Path,
    progress: Progress = lambda _: None,
    name: str | None = None,
    memory: Memory = NOTHING,
    beside: Callable[[], None] = lambda: None,
) -> Analysis:
    """Everything about a specs folder; raises DiagnosticError with all errors of a stage.

    `name` is what places call the folder, as for `load_sources`. Of specs that have not changed
    since, all is remembered, and neither the solver nor the printer of formulas is imported.
    Otherwise `beside` is called while other processes are at work.
    """
    progress("reading specs")
    collector = Collector()
    texts = collect_texts(folder, collector, name)
    is_new = not memory.has(Derived, *texts.identity)
    resolved = _read(texts, collector, _import_derivation if is_new else None)

    def derived() -> Derived:
        from ullage.derivation import derivation

        return derivation(texts, resolved, progress, memory, beside)

    return Analysis.of(texts, resolved, memory.answer(Derived, derived, *texts.identity))


def _read(
    texts: TextSet, collector: Collector, meanwhile: Callable[[], None] | None
) -> ResolvedSpec:
    """The spec, read by another process if there is something to do `meanwhile`."""

    def understood(each: TextSet) -> ResolvedSpec:
        from ullage import read  # with all that reads YAML, which the other process imports

        return read.understood(each, collector)

    (resolved,) = at_once(understood, [texts], meanwhile)
    return resolved


def _import_derivation() -> None:
    """Has the solver at hand by the time that there is a spec: it takes as long as reading."""
    import ullage.derivation  # noqa: F401  # it is used by its name above
