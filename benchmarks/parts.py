"""A part of a spec folder: some of its runners, with all that the others are not needed for."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

import yaml


def part_of(specs: Path, runners: Collection[str], into: Path) -> Path:
    """A copy of `specs` in `into`, under its own name, with no other runners than these.

    An audit that states a formula of another runner is left out.
    """
    folder = into / specs.name
    shutil.copytree(specs, folder)
    for path in folder.rglob("*.yaml"):
        content = yaml.safe_load(path.read_text())
        if not _names(content) <= set(runners):
            path.unlink()
    return folder


def _names(content: dict[str, object]) -> set[str]:
    """The runners that a file is about; none for modes and parts of the library."""
    if "runner" in content:
        return {str(content["runner"])}
    formulas = content.get("formulas")
    if "audit" in content and isinstance(formulas, list):
        return {str(each["runner"]) for each in formulas}
    return set()
