"""Which files of a specs folder are read, and what they are called."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ullage.diagnostics.diagnostic import Collector
from ullage.place import Place

MAX_FILES: Final = 2000

_PATH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


_PROJECT_MARKERS: Final = ("pyproject.toml", ".git")


def stable_name(folder: Path) -> str:
    """How generated code calls `folder`, wherever and however it is compiled from.

    The path below the nearest folder around it that holds a pyproject.toml or .git, or else just
    the folder's own name.
    """
    real = Path(os.path.realpath(folder))
    for parent in real.parents:
        if any(os.path.lexists(parent / marker) for marker in _PROJECT_MARKERS):
            return real.relative_to(parent).as_posix()
    return real.name or "specs"


def shown_name(folder: Path, here: Path) -> str:
    """How messages call `folder`, so that it can be opened from the working folder `here`.

    A relative path stays as it is; an absolute one is shortened if it lies below `here`.
    """
    given = os.path.normpath(folder)
    if os.path.isabs(given):
        real, base = Path(os.path.realpath(folder)), Path(os.path.realpath(here))
        if real.is_relative_to(base):
            given = str(real.relative_to(base))
    return given.replace(os.sep, "/")


def name_below(folder: str, path: str) -> str:
    """The name of a posix path below a folder that goes by the name `folder`."""
    return path if folder == "." else f"{folder.rstrip('/')}/{path}"


class Listing:
    """What lies below a folder; everything that must not lie there is recorded as an error.

    `name` is what places call the folder, `shown_name` if it is None.
    """

    def __init__(self, root: Path, collector: Collector, name: str | None = None) -> None:
        self.root = root
        self._real = os.path.realpath(root)
        self.prefix = shown_name(root, Path.cwd()) if name is None else name
        self._collector = collector

    def name(self, path: str) -> str:
        """What places call a posix path below the folder."""
        return name_below(self.prefix, path)

    def place(self) -> Place:
        """The folder itself, for errors that no file has."""
        return Place(self.prefix, 1, 1)

    def spec_paths(self) -> list[str]:
        """The posix paths, below the folder, of the files to read."""
        if not self.prefix.isprintable():
            self._collector.error("U909", "the folder's name is not printable", self.place())
            return []
        found: list[str] = []
        for count, path in enumerate(self._paths()):
            if count >= MAX_FILES:
                message = f"the folder holds more than {MAX_FILES} files"
                self._collector.error("U908", message, self.place())
                return []
            if self._is_spec(path):
                found.append(path)
        return found

    def _paths(self) -> Iterator[str]:
        """Every file below the folder except hidden ones; links to folders are not followed."""
        for directory, folders, files in os.walk(self.root, onerror=self._refuse_folder):
            below = Path(directory).relative_to(self.root)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in folders:
                if (Path(directory) / name).is_symlink():
                    self._error("U906", "this is a link to a folder", (below / name).as_posix())
            yield from ((below / name).as_posix() for name in files if not name.startswith("."))

    def _is_spec(self, path: str) -> bool:
        suffix = os.path.splitext(path)[1]
        if suffix.lower() not in (".yaml", ".yml"):
            return False
        if _PATH.fullmatch(path) is None:
            self._error("U909", "a path of a spec file has letters, digits and . _ - only", path)
        elif suffix != ".yaml":
            stem = os.path.splitext(os.path.basename(path))[0]
            self._error(
                "U907", f"only *.yaml is read, not *{suffix}", path, f"rename to {stem}.yaml"
            )
        elif not self._lies_inside(path):
            self._error("U906", "this links to a file outside of the specs folder", path)
        elif not self._is_regular(path):
            self._error("U904", "this is not a regular file, or it links to nothing", path)
        else:
            return True
        return False

    def _lies_inside(self, path: str) -> bool:
        real = os.path.realpath(self.root / path)
        return os.path.commonpath([real, self._real]) == self._real

    def _is_regular(self, path: str) -> bool:
        try:
            return stat.S_ISREG((self.root / path).stat().st_mode)
        except OSError:
            return False

    def _refuse_folder(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        shown = os.path.relpath(error.filename or self.root, self.root).replace(os.sep, "/")
        place = self.place() if shown == "." else Place(self.name(shown), 1, 1)
        self._collector.error("U904", f"the folder cannot be read: {reason}", place)

    def _error(self, code: str, message: str, path: str, hint: str | None = None) -> None:
        self._collector.error(code, message, Place(self.name(path), 1, 1), hint=hint)
