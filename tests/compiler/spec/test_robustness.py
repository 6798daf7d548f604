"""Whatever the files hold, loading and resolving answer with a spec or with diagnostics."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.specs import MINI, Files, problems_of

WORDS = ("tokens", "requests", "worker", "all", "else", "none", "1", "-", "[", "}", ":", "length")


@st.composite
def damaged(draw: st.DrawFn) -> Files:
    """The small spec after a few lines were dropped, repeated or changed in one word."""
    files = dict(MINI)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(files)))
        lines = files[path].splitlines()
        index = draw(st.integers(0, len(lines) - 1))
        lines[index : index + 1] = draw(st.sampled_from(_changes(lines[index])))
        files[path] = "\n".join(lines) + "\n"
    return files


def _changes(line: str) -> list[list[str]]:
    words = line.split(" ")
    changed = [
        [" ".join((*words[:index], word, *words[index + 1 :]))]
        for index in range(len(words))
        for word in WORDS
    ]
    return [[], [line, line], *changed]


@given(damaged())
@pytest.mark.slow
def test_a_damaged_spec_gets_diagnostics_or_is_still_sound(files: Files) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert "Traceback" not in problems_of(Path(folder), files)
