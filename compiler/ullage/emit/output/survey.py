"""What lies in an output folder, read without changing anything."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ullage.emit.output.manifest import MANIFEST, listed

_ATTEMPTS: Final = 5
# Besides the finished file: the one that an import is about to rename to it.
_BYTECODE: Final = re.compile(r"(?:.+/)?__pycache__/[^/]+\.pyc(?:\.\d+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Survey:
    """The files that Ullage wrote and those that it did not; `damage` is of the manifest."""

    files: dict[str, bytes] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()
    damage: str | None = None


def survey(folder: Path) -> Survey:
    """What `folder` holds; nothing if there is none. Raises NotADirectoryError for a link or file.

    Another run may swap the folder meanwhile: then the reading starts over, so that the answer is
    about one folder.
    """
    for _ in range(_ATTEMPTS):
        before = _identity(folder)
        if before is None:
            return Survey()
        try:
            found = _read(folder)
        except FileNotFoundError:
            continue
        if _identity(folder) == before:
            return found
    raise BlockingIOError(f"the folder changed {_ATTEMPTS} times while it was read")


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise NotADirectoryError("it is a link; name the folder that it leads to")
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError("it is not a folder")
    return status.st_dev, status.st_ino


def _read(folder: Path) -> Survey:
    entries = dict(_walk(folder, ""))
    regular = entries.pop(MANIFEST, None)
    if regular is None:
        return Survey(foreign=tuple(sorted(entries)))
    if not regular:
        return Survey(damage="it is not a regular file")
    manifest = (folder / MANIFEST).read_bytes()
    try:
        own = listed(manifest)
    except ValueError as error:
        return Survey(damage=str(error))
    foreign = {name for name, regular in entries.items() if not regular or name not in own}
    files = {name: (folder / name).read_bytes() for name in entries.keys() - foreign}
    return Survey({**files, MANIFEST: manifest}, tuple(sorted(foreign)))


def _walk(folder: Path, below: str) -> Iterator[tuple[str, bool]]:
    """Each path that is no folder, and whether it is a regular file; links are not followed."""
    with os.scandir(folder / below) as entries:
        for entry in entries:
            name = f"{below}{entry.name}"
            regular = entry.is_file(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder, f"{name}/")
            elif not (regular and _BYTECODE.fullmatch(name)):
                yield name, regular
