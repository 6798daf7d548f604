"""A compilation from the beginning: everything that a known result can spare."""

from __future__ import annotations

from pathlib import Path

from ullage import __version__
from ullage.analyse import Progress, analyse
from ullage.commands.compiled import Compiled
from ullage.commands.proofs import unproven
from ullage.memory import Memory
from ullage.processes import at_once
from ullage.text.texts import TextSet


def build(specs: Path, name: str, progress: Progress, memory: Memory) -> tuple[Compiled, TextSet]:
    """The generated files of a specs folder, and what they were read from.

    `name` is what places call the folder, in diagnostics as in generated code.
    """
    analysis = analyse(specs, progress, name, memory, _import_emitters)
    from ullage.emit.formatting import formatter_version
    from ullage.emit.package import emit

    progress("generating code")
    compiled = Compiled(
        analysis.resolved.spec.engine,
        emit(analysis, at_once),
        {
            "compiler": f"ullage {__version__}",
            "formatter": formatter_version(),
            "spec": analysis.sources.digest,
        },
        analysis.warnings,
        unproven(analysis),
    )
    return compiled, analysis.sources


def _import_emitters() -> None:
    """Has them at hand by the time that there is something to emit: they take a while."""
    import ullage.emit.package  # noqa: F401  # it is used by its name above
