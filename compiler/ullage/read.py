"""From a specs folder to its resolved spec."""

from __future__ import annotations

from pathlib import Path

from ullage.diagnostics.diagnostic import Collector
from ullage.spec.check import ResolvedSpec, resolve
from ullage.spec.load import load_spec
from ullage.text.sources import SourceSet, composed
from ullage.text.texts import TextSet, collect_texts


def read(folder: Path, name: str | None = None) -> tuple[SourceSet, ResolvedSpec]:
    """The resolved spec of a folder; raises DiagnosticError with everything that is wrong.

    `name` is what places call the folder, as for `load_sources`.
    """
    collector = Collector()
    return understood(collect_texts(folder, collector, name), collector)


def understood(texts: TextSet, collector: Collector) -> tuple[SourceSet, ResolvedSpec]:
    """The resolved spec of some texts; `collector` has what was wrong with reading them."""
    sources = composed(texts, collector)
    return sources, resolve(load_spec(sources), sources.texts)
