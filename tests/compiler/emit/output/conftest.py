"""A folder to write to, and the two ways to swap."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.emit.output import swap


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "generated" / "toy"


@pytest.fixture(params=["exchange", "renames"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the system's exchange of two paths, and without."""
    way = str(request.param)
    if way == "renames":
        monkeypatch.setattr(swap, "exchange", lambda left, right: False)
    return way
