"""Packages that tests generate and import, once per process."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from ullage.analysis import Analysis, analyse
from ullage.emit.package import emit

_FOLDER = tempfile.TemporaryDirectory(prefix="ullage-tests-")


def write_specs(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """Writes a spec to `folder`/specs/`name`, which is what generated code then calls it."""
    root = folder / "specs" / name
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root


def analysed(folder: Path, name: str, files: Mapping[str, str]) -> Analysis:
    """The analysis of a spec, as if it were run in `folder`."""
    write_specs(folder, name, files)
    before = Path.cwd()
    os.chdir(folder)
    try:
        return analyse(Path("specs") / name)
    finally:
        os.chdir(before)


def write_package(folder: Path, files: Mapping[str, str]) -> Path:
    """Writes generated files into `folder`."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


@cache
def generated_barrel() -> tuple[Analysis, Mapping[str, str]]:
    """The small second engine: its analysis, and the files generated for it."""
    from support.barrel import BARREL

    analysis = analysed(Path(_FOLDER.name), "barrel", BARREL)
    return analysis, emit(analysis)


@cache
def barrel(module: str = "") -> ModuleType:
    """The package generated for the small second engine, or one of its modules."""
    folder = Path(_FOLDER.name) / "packages"
    write_package(folder / "generated_barrel", generated_barrel()[1])
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(f"generated_barrel.{module}" if module else "generated_barrel")
