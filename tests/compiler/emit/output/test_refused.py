"""What Ullage did not write is not touched, and what cannot be written leaves no half."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from output_folders import (
    NEW,
    OLD,
    contents,
    expected,
    fails_with,
    refused,
    siblings,
    write,
)
from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.emit.output import MANIFEST, Changes


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    "name", ["notes.txt", "runners/mine.py", "__pycache__/notes.txt", ".hidden", "a.pyc"]
)
def test_a_foreign_file_is_named_and_stays(folder: Path, name: str, check: bool) -> None:
    write(OLD, folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("mine\n")
    with refused("U902", folder, name):
        write(NEW, folder, check=check)
    assert siblings(folder) == set()


def test_every_foreign_file_counts_and_ten_are_named(folder: Path) -> None:
    write(OLD, folder)
    for index in range(13):
        (folder / f"note_{index:02}.txt").write_text("mine\n")
    with refused("U902", folder, r"note_00\.txt, .*note_09\.txt and 3 more$"):
        write(OLD, folder)


@pytest.mark.parametrize("name", ["notes.txt", "__init__.py"])
def test_a_folder_without_a_manifest_must_be_empty(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    assert write(OLD, folder, check=True).added
    (folder / name).write_text("mine\n")
    with refused("U902", folder, name):
        write(OLD, folder)


def test_a_file_that_takes_the_place_of_a_new_one_is_foreign(folder: Path) -> None:
    write(OLD, folder)
    (folder / "registry.py").write_text("mine\n")
    with refused("U902", folder, r"registry\.py"):
        write(NEW, folder)


def test_links_and_pipes_are_foreign_even_where_a_file_was(folder: Path, tmp_path: Path) -> None:
    write(OLD, folder)
    (tmp_path / "elsewhere.py").write_text("OLD = 1\n")
    (folder / "__init__.py").unlink()
    (folder / "__init__.py").symlink_to(tmp_path / "elsewhere.py")
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    with refused("U902", folder, r": __init__\.py, away, pipe$"):
        write(OLD, folder)
    assert (tmp_path / "elsewhere.py").read_text() == "OLD = 1\n"


def test_a_name_that_cannot_be_printed_is_escaped(folder: Path) -> None:
    write(OLD, folder)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\n")).write_text("mine\n")
    with refused("U902", folder, r"'\\udcff\\n'"):
        write(NEW, folder)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"<<<<<<< ours",
        b"\xff\xfe{",
        b"[1]",
        b"{}",
        b'{"files": 3}',
        b'{"files": {"a.py": "12"}}',
        b'{"files": {"a.py": null}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_manifest_is_refused_with_a_remedy(folder: Path, damage: bytes) -> None:
    write(OLD, folder)
    (folder / MANIFEST).write_bytes(damage)
    with refused("U902", folder, "damaged"):
        write(NEW, folder)
    with pytest.raises(DiagnosticError) as caught:
        write(NEW, folder, check=True)
    assert caught.value.diagnostics[0].hint == (
        "restore ullage.json, or remove the folder and compile again"
    )


def test_a_manifest_that_is_a_link_is_refused(folder: Path) -> None:
    write(OLD, folder)
    (folder / MANIFEST).rename(folder.parent / "moved.json")
    (folder / MANIFEST).symlink_to(folder.parent / "moved.json")
    with refused("U902", folder, "not a regular file"):
        write(NEW, folder)


@pytest.mark.usefixtures("either_way")
def test_a_foreign_file_saved_during_the_run_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(OLD, folder)
    actual = os.link

    def link(old: Path, new: Path, *, follow_symlinks: bool) -> None:
        (folder / "late.txt").write_text("mine\n")
        actual(old, new, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(DiagnosticError, match=r"late\.txt"):
        write(NEW, folder)
    assert contents(folder) == {**expected(OLD), "late.txt": b"mine\n"}
    assert siblings(folder) == set()


# --- what cannot be written ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["../a.py", "/a.py", "a/../b.py", "./a.py", "a//b.py", "", "a/", "a\\b", "a\0", "\ud800"],
)
def test_a_path_that_leaves_the_folder_is_refused(folder: Path, name: str) -> None:
    with refused("U903", folder, "not a plain path"):
        write({**OLD, name: "X = 1\n"}, folder)
    assert not folder.parent.exists()


@pytest.mark.parametrize("names", [("a.py", "A.py"), (MANIFEST, "b"), ("c", "c/d"), ("E/f", "e")])
def test_two_files_of_one_path_are_refused(folder: Path, names: tuple[str, str]) -> None:
    with refused("U910", folder):
        write(dict.fromkeys(names, "X = 1\n"), folder)


@pytest.mark.parametrize("name", [".", "..", "/", "a/..", "a\0b", "a\nb"])
def test_a_folder_needs_a_name(name: str) -> None:
    assert codes_of(lambda: write(OLD, Path(name))) == ["U903"]


def codes_of(action: Callable[[], Changes]) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        action()
    return [found.code for found in caught.value.diagnostics]


@pytest.mark.parametrize("check", [True, False])
def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path, check: bool) -> None:
    write(OLD, folder)
    link = tmp_path / "link"
    link.symlink_to(folder)
    with refused("U903", link, "a link"):
        write(NEW, link, check=check)
    assert link.is_symlink()


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("below", ["", "toy", "deep/toy"])
def test_a_file_in_the_way_is_refused(tmp_path: Path, below: str, check: bool) -> None:
    (tmp_path / "file").write_text("mine\n")
    with refused("U903", tmp_path / "file" / below):
        write(OLD, tmp_path / "file" / below, check=check)
    assert (tmp_path / "file").read_text() == "mine\n"


def test_a_name_too_long_for_the_system_is_refused(folder: Path) -> None:
    with refused("U903", folder, "too long"):
        write({"a" * 300: "X = 1\n"}, folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_read_only_parent_is_refused(folder: Path) -> None:
    write(OLD, folder)
    folder.parent.chmod(0o500)
    try:
        with refused("U903", folder, "ermission"):
            write(NEW, folder)
        assert not write(OLD, folder).any
    finally:
        folder.parent.chmod(0o700)


@pytest.mark.parametrize("there", [OLD, None])
@pytest.mark.parametrize("call", ["open", "mkdir", "fsync", "rename", "scandir", "chmod", "unlink"])
@pytest.mark.usefixtures("either_way")
def test_an_error_at_any_step_leaves_the_folder_whole(
    tmp_path: Path, call: str, there: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(60):
        folder = tmp_path / str(step) / "toy"
        if there is not None:
            write(there, folder)
        with monkeypatch.context() as patch:
            reached = fail_at(step, call, patch)
            found = attempt(folder)
        assert {one.code for one in found} <= {"U903"}
        states = [expected(NEW), {} if there is None else expected(there)]
        assert contents(folder) in (states if found else states[:1])
        write(NEW, folder)
        assert contents(folder) == expected(NEW)
        assert siblings(folder) == set()
        if not reached():
            return
    pytest.fail("a run has more steps than are tried here")


def attempt(folder: Path) -> tuple[Diagnostic, ...]:
    try:
        write(NEW, folder)
    except DiagnosticError as error:
        return error.diagnostics
    return ()


def fail_at(step: int, call: str, patch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Have one call of `os` fail as a full disk does; the answer says whether it came to it."""
    actual, calls = getattr(os, call), [0]

    def counted(*arguments: object, **options: object) -> object:
        calls[0] += 1
        if calls[0] == step + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return actual(*arguments, **options)

    patch.setattr(os, call, counted)
    return lambda: calls[0] > step


def test_a_full_disk_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(OLD, folder)
    monkeypatch.setattr(os, "fsync", fails_with(errno.ENOSPC))
    with refused("U903", folder, "No space left"):
        write(NEW, folder)
    assert siblings(folder) == set()
