"""The formatter of generated code: ruff, once for all files of a package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.emit.text import WIDTH
from ullage.place import BUILT_IN

_SETTINGS: Final = (
    f"line-length = {WIDTH}",
    'target-version = "py311"',
)


@cache
def _executable() -> str:
    """The ruff beside this interpreter, or the one on the PATH."""
    name = "ruff.exe" if os.name == "nt" else "ruff"
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.is_file() else shutil.which("ruff")
    if found is None:
        raise _failed("ruff is not installed")
    return found


@cache
def formatter_version() -> str:
    """What stands in headers, such as `ruff 0.15.0`. Raises DiagnosticError (U911)."""
    return _run(["--version"], None).strip()


def formatted(files: Mapping[str, str]) -> dict[str, str]:
    """All files formatted, by path. Raises DiagnosticError (U911) if one is refused.

    The files lie in a folder of their own for as long as that takes: one process for all of them
    is much faster than one for each.
    """
    with tempfile.TemporaryDirectory(prefix="ullage-") as name:
        folder = Path(name)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode())
        options = [part for setting in _SETTINGS for part in ("--config", setting)]
        _run(["format", "--isolated", "--no-cache", "--quiet", *options, "."], folder)
        return {path: (folder / path).read_bytes().decode() for path in files}


def _run(arguments: list[str], folder: Path | None) -> str:
    try:
        done = subprocess.run(
            [_executable(), *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise _failed(f"ruff cannot be run: {error.strerror or error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise _failed(f"ruff refused generated code: {lines[0]}")
    return done.stdout


def _failed(message: str) -> DiagnosticError:
    return DiagnosticError([Diagnostic("U911", message, BUILT_IN)])
