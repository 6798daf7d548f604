"""A small spec in the working folder, and a function that runs one command on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import Ran, Run
from support.tank import write_tank
from ullage.cli import main


@pytest.fixture(autouse=True)
def plain_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder and a cache of the test's own; nothing of the caller's terminal."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR", "ULLAGE_NO_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ULLAGE_CACHE_DIR", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture
def tank() -> Path:
    """The spec `tank` in the working folder."""
    return write_tank(Path())


@pytest.fixture
def ullage(capsys: pytest.CaptureFixture[str]) -> Run:
    """`ullage("check", "tank")` runs that command in this process."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return run
