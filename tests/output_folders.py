"""Output folders for tests: two versions, what each must hold, and how a refusal looks."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.emit.output import MANIFEST, Changes, write_output
from ullage.place import Place

PROVENANCE = {"spec": "5f2c", "compiler": "0.1.0", "formatter": "ruff 0.15.1", "language": "1"}
COMMON = {f"runners/runner_{index}.py": f"WIDTH = {index}\n" for index in range(4)}
OLD = {"__init__.py": "OLD = 1\n", "gone/config.py": "ROWS = 7\n", **COMMON}
NEW = {"__init__.py": "NEW = 2\n", "registry.py": "SLOTS = 3\n", **COMMON}
Contents = dict[str, bytes]


def write(
    files: Mapping[str, str], folder: Path, *, check: bool = False, wait_seconds: float = 30.0
) -> Changes:
    return write_output(
        files, folder, provenance=PROVENANCE, check=check, wait_seconds=wait_seconds
    )


def contents(folder: Path) -> Contents:
    """Every file below `folder` that is not bytecode."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def expected(files: Mapping[str, str], provenance: Mapping[str, str] = PROVENANCE) -> Contents:
    """What `folder` must hold: written out here, not by the code under test."""
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    manifest = {"files": digests, "provenance": provenance}
    text = json.dumps(manifest, indent=2, sort_keys=True) + "\n"
    return {MANIFEST: text.encode(), **{name: text.encode() for name, text in files.items()}}


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def siblings(folder: Path) -> set[str]:
    return {path.name for path in folder.parent.iterdir()} - {folder.name}


@contextmanager
def refused(code: str, folder: Path, match: str | None = None) -> Iterator[None]:
    """One diagnostic or more, all of `code`, at the folder, and no change on the disk."""
    before = contents(folder) if folder.is_dir() else None
    with pytest.raises(DiagnosticError, match=match) as caught:
        yield
    found = caught.value.diagnostics
    assert {(one.code, one.place) for one in found} == {(code, Place(str(folder), 1, 1))}
    assert (contents(folder) if folder.is_dir() else None) == before


def fails_with(code: int, filename: str | None = None) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), filename)

    return fail
