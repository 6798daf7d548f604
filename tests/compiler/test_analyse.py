"""A spec that another process has read is the same spec, and so is what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.shared import SGLANG
from ullage import analyse, processes
from ullage.diagnostics.diagnostic import Collector, DiagnosticError
from ullage.read import read
from ullage.records import to_text
from ullage.text.texts import collect_texts


@pytest.fixture
def _two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_processors", lambda: 2)
    monkeypatch.setattr(processes, "_can_fork", lambda: True)


@pytest.mark.slow
@pytest.mark.usefixtures("_two_processes")
def test_a_spec_is_the_same_from_another_process() -> None:
    meanwhile: list[str] = []
    collector = Collector()
    texts = collect_texts(SGLANG, collector)
    found = analyse._read(texts, collector, lambda: meanwhile.append("here"))
    assert (texts, found) == read(SGLANG)
    assert to_text(found.spec) == to_text(read(SGLANG)[1].spec)  # the places too
    assert meanwhile == ["here"]


@pytest.mark.usefixtures("_two_processes")
def test_errors_are_the_same_from_another_process(tmp_path: Path) -> None:
    (tmp_path / "engine.yaml").write_text("engine: [\n")
    (tmp_path / "slots.yaml").write_bytes(b"\xff")
    with pytest.raises(DiagnosticError) as expected:
        read(tmp_path)
    collector = Collector()
    texts = collect_texts(tmp_path, collector)
    with pytest.raises(DiagnosticError) as found:
        analyse._read(texts, collector, lambda: None)
    assert found.value.diagnostics == expected.value.diagnostics
    assert len(found.value.diagnostics) == 2
    assert found.value.sources == expected.value.sources
    assert str(found.value) == str(expected.value)
