"""A part of a spec folder: some of its runners, with all that the others are not needed for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

import yaml

_WRAPPERS = re.compile(r"^wrappers:\n(?: .*\n|\n)*", re.MULTILINE)


def part_of(specs: Path, runners: Collection[str], into: Path) -> Path:
    """A copy of `specs` in `into`, under its own name, with no other runners than these.

    An audit that states a formula of another runner is left out, and so are groups that run at the
    same time as others, and wrappers, since they may be over slots of others.
    """
    folder = into / specs.name
    shutil.copytree(specs, folder)
    for path in folder.rglob("*.yaml"):
        text = path.read_text()
        if not _names(yaml.safe_load(text)) <= set(runners):
            path.unlink()
        else:
            path.write_text(_WRAPPERS.sub("", text))
    return folder


def _names(content: dict[str, object]) -> set[str]:
    """The runners that a file is about; none for modes and parts of the library."""
    if "runner" in content:
        return {str(content["runner"])}
    groups = content.get("concurrent")
    if isinstance(groups, list):  # in a file of their own
        return {str(name) for group in groups for name in group["runners"]}
    formulas = content.get("formulas")
    if "audit" in content and isinstance(formulas, list):
        return {str(each["runner"]) for each in formulas}
    return set()
