"""Examples of hypothesis are the same in every run, whatever else the process has done."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.skipif(
    not settings().derandomize, reason="the profile draws other examples in each run"
)
def test_examples_do_not_depend_on_what_was_imported_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[list[int], str]] = []

    @settings(max_examples=200, database=None)
    @given(st.lists(st.integers()), st.text())
    def draw(numbers: list[int], text: str) -> None:
        drawn.append((numbers, text))

    draw()
    first = tuple(drawn)
    drawn.clear()
    constants = "".join(f"NUMBER_{each} = {918273645 + each}\n" for each in range(500))
    (tmp_path / "module_with_constants.py").write_text(constants)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("module_with_constants")
    draw()
    assert tuple(drawn) == first
