"""Results of earlier runs, by a key over everything that they depend on.

The cache is a convenience: whatever goes wrong with it, the result is computed anew. An entry is
a text behind a checksum over its key and itself, so one that was cut short, edited or put in the
place of another counts as absent. Entries are written aside and renamed, so two processes never
see half of one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from ullage import __version__

MAX_BYTES: Final = 64 * 2**20
MAX_ENTRIES: Final = 4000

_PACKAGE: Final = Path(__file__).parent
_SUFFIX: Final = ".entry"
_ASIDE: Final = ".partial"
# Whatever may change what a run gives: the solver, the printer and the formatter.
_DEPENDENCIES: Final = ("jinja2", "pyyaml", "ruff", "sympy", "z3_solver")


@dataclass(frozen=True, slots=True)
class Cache:
    """Texts by key in one folder, the least recently used ones dropped beyond the limits."""

    folder: Path
    max_bytes: int = MAX_BYTES
    max_entries: int = MAX_ENTRIES

    def has(self, key: str) -> bool:
        """Whether something is stored under `key`, be it damaged or not."""
        return os.path.isfile(self._path(key))  # a path that cannot be looked at holds nothing

    def load(self, key: str) -> str | None:
        """The text stored under `key`, or None if there is none or it is damaged."""
        path = self._path(key)
        try:
            checksum, _, data = path.read_bytes().partition(b"\n")
            if _checksum(key, data) != checksum:
                return None
            text = data.decode()
        except (OSError, ValueError):
            return None
        with suppress(OSError):
            os.utime(path)  # pruning goes by last use
        return text

    def store(self, key: str, text: str) -> None:
        """Keep `text` under `key`; a folder that cannot be written keeps nothing."""
        self.store_all({key: text})

    def store_all(self, texts: Mapping[str, str]) -> None:
        """Keep several texts, each under its key, and look only once for what is too much."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for key, text in texts.items():
                data = text.encode()
                self._replace(key, _checksum(key, data) + b"\n" + data)
            for last in [*texts][-1:]:
                self._prune(keep=self._path(last))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _replace(self, key: str, data: bytes) -> None:
        handle, aside = tempfile.mkstemp(suffix=_ASIDE, dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(aside, self._path(key))
        except BaseException:  # an interrupt must not leave the file aside either
            with suppress(OSError):
                os.unlink(aside)
            raise

    def _prune(self, keep: Path) -> None:
        total = 0
        for count, (size, path) in enumerate(self._latest_first(keep), start=1):
            total += size
            if count > self.max_entries or (total > self.max_bytes and path != keep):
                with suppress(OSError):
                    path.unlink()

    def _latest_first(self, keep: Path) -> Iterator[tuple[int, Path]]:
        found: list[tuple[bool, int, str, int, Path]] = []
        for path in self.folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):  # another process may have pruned it just now
                status = path.stat()
                found.append((path == keep, status.st_mtime_ns, path.name, status.st_size, path))
        for _, _, _, size, path in sorted(found, reverse=True):
            yield size, path


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + data).hexdigest().encode()


def cache_of(environment: Mapping[str, str]) -> Cache | None:
    """The cache that the environment asks for, or None if it is switched off or has no place.

    `ULLAGE_NO_CACHE` (anything but empty and 0) switches it off; `ULLAGE_CACHE_DIR` names the
    folder, which is otherwise the user's cache folder.
    """
    if environment.get("ULLAGE_NO_CACHE", "0") not in ("", "0"):
        return None
    named = environment.get("ULLAGE_CACHE_DIR")
    folder = Path(named) if named else _user_folder(environment)
    return None if folder is None else Cache(folder)


def _user_folder(environment: Mapping[str, str]) -> Path | None:
    named = environment.get("XDG_CACHE_HOME")
    if named and os.path.isabs(named):
        return Path(named) / "ullage"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ullage"


def key_of(spec_digest: str, *options: str) -> str | None:
    """The key of what this compiler makes of one spec, or None if it cannot be told.

    It covers the compiler's own files and the versions of all that its results depend on.
    """
    versions = installed(_DEPENDENCIES, sys.path)
    if versions is None:
        return None
    return digest_of(__version__, compiler_digest(), sys.version, *versions, spec_digest, *options)


def digest_of(*parts: str) -> str:
    """sha256, in hexadecimal, over texts one by one."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


@cache
def compiler_digest() -> str:
    """sha256, in hexadecimal, over the compiler's own files."""
    digest = hashlib.sha256()
    for path in sorted(_own_files(str(_PACKAGE))):
        with open(path, "rb") as file:
            data = file.read()
        digest.update(f"{os.path.relpath(path, _PACKAGE)} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _own_files(folder: str) -> Iterator[str]:
    for directory, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__" and name[0] != "."]
        yield from (os.path.join(directory, name) for name in files)


def installed(packages: Iterable[str], path: Iterable[str]) -> tuple[str, ...] | None:
    """Name and version of each package, or None if one is not found along `path`.

    Read off the names of the `.dist-info` folders: importlib.metadata would say the same, but
    importing it takes longer than a compilation that has nothing to do.
    """
    found: dict[str, str] = {}
    for directory in path:
        with suppress(OSError):
            for name in os.listdir(directory or "."):
                package, _, version = name.removesuffix(".dist-info").partition("-")
                if version and name.endswith(".dist-info"):
                    found.setdefault(package.lower(), f"{package}-{version}")
    wanted = [found.get(package) for package in packages]
    return None if None in wanted else tuple(name for name in wanted if name is not None)
