"""A compilation from the beginning: everything that a known result can spare."""

from __future__ import annotations

from pathlib import Path

from ullage import __version__
from ullage.analyse import Progress, analyse
from ullage.commands.compiled import Compiled
from ullage.commands.proofs import unproven
from ullage.emit.formatting import formatter_version
from ullage.emit.package import emit
from ullage.memory import Memory
from ullage.processes import at_once
from ullage.text.sources import SourceSet


def build(specs: Path, name: str, progress: Progress, memory: Memory) -> tuple[Compiled, SourceSet]:
    """The generated files of a specs folder, and what they were read from.

    `name` is what places call the folder, in diagnostics as in generated code.
    """
    analysis = analyse(specs, progress, name, memory)
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
