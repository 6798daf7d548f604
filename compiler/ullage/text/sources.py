"""All spec files of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ullage.diagnostics.diagnostic import Collector
from ullage.text import nodes
from ullage.text.listing import shown_name, stable_name
from ullage.text.texts import TextSet, collect_texts
from ullage.text.yaml_source import compose

__all__ = ["SourceFile", "SourceSet", "composed", "load_sources", "shown_name", "stable_name"]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file; `name` is what places call it, such as `specs/sglang/engine.yaml`."""

    name: str
    text: str
    root: nodes.Mapping


@dataclass(frozen=True, slots=True)
class SourceSet:
    """The files of a specs folder by name, and a digest of the texts and their paths in it.

    The digest does not depend on where the folder lies or how the lines of its files end.
    """

    files: tuple[SourceFile, ...]
    digest: str

    @property
    def texts(self) -> Mapping[str, str]:
        """What diagnostics point into, by file name."""
        return {file.name: file.text for file in self.files}


def load_sources(folder: Path | str, name: str | None = None) -> SourceSet:
    """Read every `*.yaml` below `folder`. Raises DiagnosticError with the errors of all files.

    `name` is what places call the folder: `stable_name` for generated code, and otherwise
    `shown_name`, which is what they call it if it is None.
    """
    collector = Collector()
    return composed(collect_texts(folder, collector, name), collector)


def composed(texts: TextSet, collector: Collector) -> SourceSet:
    """The texts as YAML. Raises DiagnosticError with all that `collector` has then."""
    loaded = [(file, compose(file.text, file.name, collector)) for file in texts.files]
    collector.raise_if_errors()
    files = [SourceFile(file.name, file.text, root) for file, root in loaded if root is not None]
    return SourceSet(tuple(files), texts.digest)
