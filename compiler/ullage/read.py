"""From a specs folder to its resolved spec."""

from __future__ import annotations

from pathlib import Path

from ullage.diagnostics.diagnostic import Collector
from ullage.spec.check import ResolvedSpec, resolve
from ullage.spec.load import load_spec
from ullage.text.sources import composed
from ullage.text.texts import TextSet, collect_texts


def read(folder: Path, name: str | None = None) -> tuple[TextSet, ResolvedSpec]:
    """The resolved spec of a folder; raises DiagnosticError with everything that is wrong.

    `name` is what places call the folder, as for `load_sources`.
    """
    collector = Collector()
    texts = collect_texts(folder, collector, name)
    return texts, understood(texts, collector)


def understood(texts: TextSet, collector: Collector) -> ResolvedSpec:
    """The resolved spec of some texts; `collector` has what was wrong with reading them."""
    return resolve(load_spec(composed(texts, collector)), texts.texts)
