"""Which paths below an output folder may be written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
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
    taken = {MANIFEST.casefold(): MANIFEST}  # file systems without case hold one of `a` and `A`
    for name in sorted(names):
        if not _stays_below(name):
            message = f"{name!a} cannot be written: it is not a plain path below the folder"
            collector.error("U903", message, place)
        elif (first := taken.get(name.casefold())) is not None:
            collector.error("U910", f"{first!a} and {name!a} are one path", place)
        taken.setdefault(name.casefold(), name)
    for folded, name in taken.items():
        for parent in PurePosixPath(folded).parents:
            if (file := taken.get(str(parent))) is not None:
                collector.error("U910", f"{file!a} is a file, and the folder of {name!a}", place)


def _stays_below(name: str) -> bool:
    plain = name.isprintable() and "\\" not in name
    return plain and _NO_PART.isdisjoint(name.split("/"))
