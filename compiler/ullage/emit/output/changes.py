"""What a compilation changes in its output folder, and the unified diff of it."""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Changes:
    """Paths below the folder, sorted, the manifest among them; `diff` is filled by a check only."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    diff: str = ""

    @property
    def any(self) -> bool:
        """Whether the folder differs from what the compilation gives."""
        return bool(self.added or self.changed or self.removed)


def compare(
    present: Mapping[str, bytes], wanted: Mapping[str, bytes], label: str, *, with_diff: bool
) -> Changes:
    """How `present` has to change to become `wanted`; `label` is the folder's name in the diff."""
    both = sorted(present.keys() & wanted.keys())
    changed = tuple(name for name in both if present[name] != wanted[name])
    return Changes(
        added=tuple(sorted(wanted.keys() - present.keys())),
        changed=changed,
        removed=tuple(sorted(present.keys() - wanted.keys())),
        unchanged=len(both) - len(changed),
        diff="".join(_diff(present, wanted, label)) if with_diff else "",
    )


def _diff(present: Mapping[str, bytes], wanted: Mapping[str, bytes], label: str) -> Iterator[str]:
    for name in sorted(present.keys() | wanted.keys()):
        before, after = present.get(name), wanted.get(name)
        if before == after:
            continue
        old = "/dev/null" if before is None else f"a/{label}/{name}"
        new = "/dev/null" if after is None else f"b/{label}/{name}"
        lines = list(difflib.unified_diff(_lines(before), _lines(after), old, new))
        # An empty file that comes or goes has no lines to show, but it is a change.
        yield from map(_terminated, lines or [f"--- {old}\n", f"+++ {new}\n"])


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode(errors="backslashreplace")
    return list(io.StringIO(text, newline="\n"))  # form feeds do not end a line


def _terminated(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
