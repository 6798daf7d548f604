"""The texts of a specs folder and their digest, without parsing anything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ullage.diagnostics.diagnostic import Collector
from ullage.text.decoding import decode, read_bytes
from ullage.text.listing import Listing


@dataclass(frozen=True, slots=True)
class TextFile:
    """One decoded file; `path` is below the folder, `name` is what places call it."""

    path: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class TextSet:
    """The decoded files of a specs folder; `prefix` is what places call the folder."""

    prefix: str
    files: tuple[TextFile, ...]

    @property
    def digest(self) -> str:
        """Of the texts and their paths, wherever the folder lies and however its lines end."""
        return digest_of(self.files)

    @property
    def identity(self) -> tuple[str, tuple[str, ...]]:
        """All that is in it: what follows from equal ones is the same, places included."""
        return self.digest, tuple(file.name for file in self.files)

    @property
    def texts(self) -> Mapping[str, str]:
        """What diagnostics point into, by file name."""
        return {file.name: file.text for file in self.files}


def read_texts(folder: Path | str, name: str | None = None) -> TextSet:
    """Every `*.yaml` below `folder` as text; whether it is YAML is not looked at.

    The digest is the one that `load_sources` gives the same folder, and `name` means the same.
    Raises DiagnosticError with the errors of all files.
    """
    collector = Collector()
    texts = collect_texts(folder, collector, name)
    collector.raise_if_errors()
    return texts


def collect_texts(folder: Path | str, collector: Collector, name: str | None = None) -> TextSet:
    """The files that can be read; the collector has the errors of the others."""
    listing = Listing(Path(folder), collector, name)
    paths = sorted(listing.spec_paths())
    if not paths and not collector.has_errors:
        collector.error("U905", "the folder holds no *.yaml file", listing.place())
    read = [_read(listing.root / path, path, listing.name(path), collector) for path in paths]
    return TextSet(listing.prefix, tuple(file for file in read if file is not None))


def digest_of(files: Iterable[TextFile]) -> str:
    """sha256, in hexadecimal, over path and text of each file in turn."""
    digest = hashlib.sha256()
    for file in files:
        for part in (file.path.encode(), file.text.encode()):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _read(location: Path, path: str, name: str, collector: Collector) -> TextFile | None:
    data = read_bytes(location, name, collector)
    text = None if data is None else decode(data, name, collector)
    return None if text is None else TextFile(path, name, text)
