"""A part of a spec folder: some of its runners, with all that the others are not needed for."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

import yaml


def part_of(specs: Path, runners: Collection[str], into: Path) -> Path:
    """A copy of `specs` in `into`, under its own name, with no other runners than these.

    Modes that only others serve and files of slots that only others load are left out as well, and
    audits that state a formula of another runner.
    """
    folder = into / specs.name
    shutil.copytree(specs, folder)
    contents = {path: yaml.safe_load(path.read_text()) for path in folder.rglob("*.yaml")}
    kept = [each for each in contents.values() if each.get("runner") in runners]
    served = {mode for each in kept for mode in each["modes"]}  # modes or families
    slots = {slot for each in kept for slot in each["slots"]}
    lost = {
        content["mode"]
        for content in contents.values()
        if "mode" in content and not served & {content["mode"], *_listed(content["family"])}
    }
    for path, content in contents.items():
        others = content.keys() == {"slots"} and not slots & content["slots"].keys()
        if others or not _names(content) <= set(runners) or content.get("mode") in lost:
            path.unlink()
        elif "runner" not in content and "slots" in content:
            for slot in content["slots"].values():
                if isinstance(slot.get("modes"), list):  # a slot of lost modes only is not loaded
                    slot["modes"] = [each for each in slot["modes"] if each not in lost] or "all"
            path.write_text(yaml.safe_dump(content, sort_keys=False, width=1000))
    return folder


def _listed(one_or_more: str | list[str]) -> list[str]:
    return [one_or_more] if isinstance(one_or_more, str) else one_or_more


def _names(content: dict[str, object]) -> set[str]:
    """The runners that a file is about; none for modes and parts of the library."""
    if "runner" in content:
        return {str(content["runner"])}
    formulas = content.get("formulas")
    if "audit" in content and isinstance(formulas, list):
        return {str(each["runner"]) for each in formulas}
    return set()
