"""From a specs folder to everything that is known about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ullage.analysis import Analysis, Derived
from ullage.memory import NOTHING, Memory
from ullage.read import read

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
    sources, resolved = read(folder, name)

    def derived() -> Derived:
        from ullage.derivation import derivation

        return derivation(sources, resolved, progress, memory, beside)

    return Analysis.of(sources, resolved, memory.answer(Derived, derived, *sources.identity))
