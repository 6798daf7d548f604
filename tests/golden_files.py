"""Comparing what a test produced with the file that says what it should be."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest


def compare_with_golden(path: Path, text: str, *, update: bool) -> None:
    """Fails the test with a unified diff where `text` differs; rewrites the file on `update`."""
    __tracebackhide__ = True
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return
    if not path.is_file():
        pytest.fail(f"no golden file {path}; write it with pytest --update-goldens", pytrace=False)
    expected = path.read_bytes().decode()
    if text != expected:
        pytest.fail(golden_difference(path.name, expected, text), pytrace=False)


def golden_difference(name: str, expected: str, text: str) -> str:
    lines = difflib.unified_diff(
        expected.splitlines(), text.splitlines(), f"goldens/{name}", "produced now", lineterm=""
    )
    shown = "\n".join(lines) or "(they differ in line ends only)"
    return f"{shown}\nIf the change is meant: pytest --update-goldens"
