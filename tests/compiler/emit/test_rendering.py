"""Templates are compiled once for each version of Python, and a damaged file costs only time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ullage.emit import rendering

TEXT = "{% for each in names %}\n# {{ each }}\n{% endfor %}\n"


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with one template, which alone is rendered from."""
    (tmp_path / "one.py.j2").write_text(TEXT)
    monkeypatch.setattr(rendering, "_TEMPLATES", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    rendering._environment.cache_clear()
    yield tmp_path
    rendering._environment.cache_clear()


def rendered() -> str:
    rendering._environment.cache_clear()
    return rendering.render("one.py.j2", names=["oak", "elm"])


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*"))


def test_what_was_compiled_is_kept_and_used_again(
    templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = rendered()
    (path,) = kept(templates)
    before = path.stat()
    monkeypatch.setattr("jinja2.Environment._compile", None)  # nobody needs it any more
    assert rendered() == first == "# oak\n# elm\n"
    assert path.stat() == before


def test_a_template_that_changed_is_compiled_anew(templates: Path) -> None:
    rendered()
    (templates / "one.py.j2").write_text(TEXT.replace("#", "##"))
    assert rendered() == "## oak\n## elm\n"
    assert rendered() == "## oak\n## elm\n"


@pytest.mark.parametrize("damage", ["empty", "short", "other", "folder"])
def test_what_is_damaged_is_compiled_anew(templates: Path, damage: str) -> None:
    first = rendered()
    (path,) = kept(templates)
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes({"empty": b"", "short": data[:40], "other": b"x" * len(data)}[damage])
    assert rendered() == first
    assert [each.name for each in kept(templates)] == [path.name]


def test_nothing_is_kept_where_bytecode_is_not_wanted(
    templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered() == "# oak\n# elm\n"
    assert not kept(templates)


def test_a_folder_that_cannot_be_written_is_no_error(templates: Path) -> None:
    (templates / "__pycache__").write_text("no folder")
    assert rendered() == "# oak\n# elm\n"
