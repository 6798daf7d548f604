"""Which paths below an output folder may be written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.emit.output.manifest import MANIFEST
from ullage.place import Place

_NO_PART: Final = frozenset({"", ".", "..", "__pycache__"})


def check_folder(folder: Path, collector: Collector) -> None:
    """The folder needs a name of its own: its siblings are called after it."""
    if folder.name in ("", "..") or not str(folder).isprintable():
        message = f"{str(folder)!a} cannot be written: it does not name a folder"
        collector.error("U903", message, Place(ascii(str(folder))[1:-1], 1, 1))


def check_names(names: Iterable[str], collector: Collector, place: Place) -> None:
    """Each name stays below the folder, and no two take the same place."""
    seen = {MANIFEST.casefold(): MANIFEST}  # file systems without case hold one of `a` and `A`
    ordered = sorted(names)
    for name in ordered:
        if not _stays_below(name):
            message = f"{name!a} cannot be written: it is not a plain path below the folder"
            collector.error("U903", message, place)
        first = seen.setdefault(name.casefold(), name)
        if first is not name:
            message = f"two files have the path {name!a}"
            if first != name:
                message = f"{first!a} and {name!a} are one path where case does not count"
            collector.error("U910", message, place)
    for name in ordered:
        parent, separator, _ = name.rpartition("/")
        while separator:
            if parent.casefold() in seen:
                message = f"{parent!a} is a file, and also the folder of {name!a}"
                collector.error("U910", message, place)
            parent, separator, _ = parent.rpartition("/")


def _stays_below(name: str) -> bool:
    plain = name.isprintable() and "\\" not in name
    return plain and _NO_PART.isdisjoint(name.split("/"))
