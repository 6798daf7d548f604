"""A specs folder: which files it has, what they are called, and what must not lie there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.text import listing
from ullage.text.sources import load_sources, shown_name, stable_name


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def errors_of(folder: Path) -> list[tuple[str, str]]:
    """Code and file of each error."""
    with pytest.raises(DiagnosticError) as caught:
        load_sources(folder)
    return [(found.code, found.place.file) for found in caught.value.diagnostics]


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write(
        tmp_path / "specs",
        {"engine.yaml": "engine: toy\n", "modes/decode.yaml": "mode: decode\n", "notes.md": "x"},
    )


# --- what is read ------------------------------------------------------------------------------


def test_yaml_files_are_read_in_the_order_of_their_names(specs: Path) -> None:
    write(specs, {"a.yaml": "a: b\n", ".hidden.yaml": "- bad", ".git/x.yaml": "- bad"})
    loaded = load_sources("specs")
    names = ["specs/a.yaml", "specs/engine.yaml", "specs/modes/decode.yaml"]
    assert [file.name for file in loaded.files] == names
    assert loaded.texts["specs/engine.yaml"] == "engine: toy\n"
    assert loaded.files[1].root.entries[0].value.place.file == "specs/engine.yaml"


def test_a_file_is_called_so_that_it_opens_from_the_working_folder(
    specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "here" / "below"
    below.mkdir(parents=True)
    for here in (tmp_path, specs, specs.parent, below):
        monkeypatch.chdir(here)
        for folder in (specs, Path(os.path.relpath(specs, here))):
            for name, text in load_sources(folder).texts.items():
                assert Path(name).read_text() == text


def test_a_path_below_the_working_folder_is_short(specs: Path, tmp_path: Path) -> None:
    assert shown_name(specs, tmp_path) == "specs"
    assert shown_name(Path("./specs/"), tmp_path) == "specs"
    assert shown_name(Path("a/../b/specs"), tmp_path) == "b/specs"
    assert shown_name(Path("../specs"), tmp_path) == "../specs"
    assert shown_name(tmp_path / "b" / "specs", tmp_path) == "b/specs"
    assert shown_name(specs, tmp_path / "here") == specs.as_posix()


def test_the_current_folder_has_no_name(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(specs)
    assert load_sources(".").files[0].name == "engine.yaml"


@pytest.mark.parametrize("marker", ["pyproject.toml", ".git"])
def test_the_stable_name_starts_at_the_project(
    marker: str, specs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stable_name(specs) == "specs"
    moved = specs.rename(tmp_path / "toy")
    (tmp_path / marker).mkdir()
    inner = tmp_path / "inner" / "deep"
    inner.mkdir(parents=True)
    (inner / "link").symlink_to(moved)
    for here in (tmp_path, moved, inner):
        monkeypatch.chdir(here)
        for folder in (moved, Path(os.path.relpath(moved, here)), inner / "link"):
            assert stable_name(folder) == "toy"
    monkeypatch.chdir(tmp_path)
    again = moved.rename(inner / "toy")
    assert stable_name(again) == "inner/deep/toy"


def test_places_have_the_name_that_is_asked_for(specs: Path) -> None:
    loaded = load_sources(specs, "project/specs")
    assert loaded.files[0].root.entries[0].value.place.file == "project/specs/engine.yaml"


def test_the_digest_follows_texts_and_paths_only(specs: Path, tmp_path: Path) -> None:
    digest = load_sources(specs).digest
    moved = write(tmp_path / "other", {"engine.yaml": "engine: toy\n"})
    write(moved, {"modes/decode.yaml": "mode: decode\n"})
    (moved / "engine.yaml").write_bytes(b"engine: toy\r\n")
    assert load_sources(moved).digest == digest
    write(moved, {"engine.yaml": "engine: top\n"})
    assert load_sources(moved).digest != digest
    write(moved, {"engine.yaml": "engine: toy\n"})
    (moved / "modes/decode.yaml").rename(moved / "modes/extend.yaml")
    assert load_sources(moved).digest != digest


def test_a_link_within_the_folder_is_read(specs: Path) -> None:
    (specs / "again.yaml").symlink_to("engine.yaml")
    assert load_sources(specs).files[0].text == "engine: toy\n"


# --- what is refused ---------------------------------------------------------------------------


def test_errors_of_all_files_come_in_one_run_with_their_texts(specs: Path) -> None:
    write(specs, {"bad.yaml": "a: !x b\n", "modes/worse.yaml": "- a\n", "old.yml": "a: b\n"})
    with pytest.raises(DiagnosticError) as caught:
        load_sources(specs)
    assert [(found.code, str(found.place)) for found in caught.value.diagnostics] == [
        ("U105", "specs/bad.yaml:1:4"),
        ("U112", "specs/modes/worse.yaml:1:1"),
        ("U907", "specs/old.yml:1:1"),
    ]
    assert caught.value.diagnostics[2].hint == "rename to old.yaml"
    assert caught.value.sources["specs/bad.yaml"] == "a: !x b\n"


def test_links_that_leave_the_folder_are_refused(specs: Path, tmp_path: Path) -> None:
    write(tmp_path, {"secret.yaml": "a: b\n", "far/x.yaml": "a: b\n", "specs2/y.yaml": "a: b\n"})
    (specs / "out.yaml").symlink_to(tmp_path / "secret.yaml")
    (specs / "sibling.yaml").symlink_to(tmp_path / "specs2" / "y.yaml")
    (specs / "far").symlink_to(tmp_path / "far")
    assert errors_of(specs) == [
        ("U906", "specs/far"),
        ("U906", "specs/out.yaml"),
        ("U906", "specs/sibling.yaml"),
    ]


def test_what_is_not_a_regular_file_is_refused(specs: Path) -> None:
    (specs / "dangling.yaml").symlink_to("nothing.yaml")
    (specs / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(specs / "pipe.yaml")
    names = ["specs/dangling.yaml", "specs/loop.yaml", "specs/pipe.yaml"]
    assert errors_of(specs) == [("U904", name) for name in names]


def test_file_names_stay_plain(specs: Path) -> None:
    write(specs, {"my mode.yaml": "a: b\n", "x\ny.yaml": "a: b\n"})
    assert [code for code, _ in errors_of(specs)] == ["U909", "U909"]


def test_a_folder_without_specs_is_an_error(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert errors_of(empty) == [("U905", empty.as_posix())]


@pytest.mark.parametrize("name", ["none", "file"])
def test_what_is_no_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a: b\n")
    assert errors_of(Path(name)) == [("U904", name)]


def test_a_folder_with_too_many_files_is_not_read(
    specs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_FILES", 2)
    assert errors_of(specs) == [("U908", "specs")]
