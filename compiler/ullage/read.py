"""From a specs folder to its resolved spec."""

from __future__ import annotations

from pathlib import Path

from ullage.spec.check import ResolvedSpec, resolve
from ullage.spec.load import load_spec
from ullage.text.sources import SourceSet, load_sources


def read(folder: Path, name: str | None = None) -> tuple[SourceSet, ResolvedSpec]:
    """The resolved spec of a folder; raises DiagnosticError with everything that is wrong.

    `name` is what places call the folder, as for `load_sources`.
    """
    sources = load_sources(folder, name)
    return sources, resolve(load_spec(sources), sources.texts)
