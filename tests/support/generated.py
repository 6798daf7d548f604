"""Packages that tests generate and import, once per process, and derive once per session."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from support.barrel import BARREL
from support.canal import CANAL
from support.cask import CASK
from support.dipper import DIPPER
from support.flume import FLUME
from support.ladle import LADLE
from support.names import NAMES
from support.press import PRESS
from support.shared import shared_memory
from support.sluice import SLUICE, WEIR
from support.tank import TANK
from ullage.analyse import analyse
from ullage.analysis import Analysis
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
        return analyse(Path("specs") / name, memory=shared_memory())
    finally:
        os.chdir(before)


def write_package(folder: Path, files: Mapping[str, str]) -> Path:
    """Writes generated files into `folder`."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


ENGINES: Mapping[str, Mapping[str, str]] = {
    "barrel": BARREL,
    "canal": CANAL,
    "cask": CASK,
    "dipper": DIPPER,
    "flume": FLUME,
    "ladle": LADLE,
    "names": NAMES,
    "press": PRESS,
    "sluice": SLUICE,
    "tank": TANK,
    "weir": WEIR,
}
"""Small engines that have little in common with each other, and nothing with SGLang."""


@cache
def generated(engine: str) -> tuple[Analysis, Mapping[str, str]]:
    """The analysis of a small engine, and the files generated for it."""
    analysis = analysed(Path(_FOLDER.name), engine, ENGINES[engine])
    return analysis, emit(analysis)


@cache
def package(engine: str, module: str = "") -> ModuleType:
    """The package generated for a small engine, or one of its modules."""
    folder = Path(_FOLDER.name) / "packages"
    write_package(folder / f"generated_{engine}", generated(engine)[1])
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(".".join((f"generated_{engine}", *filter(None, (module,)))))


def generated_barrel() -> tuple[Analysis, Mapping[str, str]]:
    """The engine with one axis and buckets."""
    return generated("barrel")


def barrel(module: str = "") -> ModuleType:
    """The package generated for it."""
    return package("barrel", module)
