"""The folder holds what was compiled, and only changes are written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from output_folders import (
    COMMON,
    NEW,
    OLD,
    PROVENANCE,
    contents,
    expected,
    fails_with,
    siblings,
    times,
    write,
)
from ullage.emit.output import MANIFEST, Changes, write_output


@pytest.mark.usefixtures("either_way")
def test_the_folder_holds_exactly_the_files_and_their_manifest(folder: Path) -> None:
    first = write(OLD, folder)
    assert contents(folder) == expected(OLD)
    assert first == Changes(added=tuple(sorted([*OLD, MANIFEST])))
    second = write(NEW, folder)
    assert contents(folder) == expected(NEW)
    assert second == Changes(
        added=("registry.py",),
        changed=("__init__.py", MANIFEST),
        removed=("gone/config.py",),
        unchanged=len(COMMON),
    )
    assert not (folder / "gone").exists()
    assert siblings(folder) == set()


def test_the_manifest_is_the_same_whatever_the_order(tmp_path: Path) -> None:
    backwards = dict(reversed(PROVENANCE.items()))
    write(OLD, tmp_path / "one")
    write_output(dict(reversed(OLD.items())), tmp_path / "two", provenance=backwards)
    assert (tmp_path / "one" / MANIFEST).read_bytes() == (tmp_path / "two" / MANIFEST).read_bytes()


def test_a_change_of_provenance_alone_rewrites_the_manifest_alone(folder: Path) -> None:
    write(OLD, folder)
    before = times(folder)
    other = {**PROVENANCE, "compiler": "0.2.0"}
    assert write_output(OLD, folder, provenance=other).changed == (MANIFEST,)
    assert contents(folder) == expected(OLD, other)
    kept = str(folder / "__init__.py")
    assert times(folder)[kept] == before[kept]


@pytest.mark.usefixtures("either_way")
def test_nothing_is_touched_when_nothing_changes(folder: Path) -> None:
    write(OLD, folder)
    before = times(folder.parent)
    assert not write(OLD, folder).any
    assert times(folder.parent) == before


@pytest.mark.parametrize("linked", [True, False])
def test_unchanged_files_keep_their_times(
    folder: Path, linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(OLD, folder)
    for name in COMMON:
        os.utime(folder / name, ns=(10**18, 10**18 + 7))
    if not linked:
        monkeypatch.setattr(os, "link", fails_with(errno.EPERM))
    write(NEW, folder)
    assert {(folder / name).stat().st_mtime_ns for name in COMMON} == {10**18 + 7}
    assert {(folder / name).stat().st_nlink for name in NEW} == {1}
    assert contents(folder) == expected(NEW)


def test_files_get_the_permissions_that_the_user_asks_for(folder: Path) -> None:
    previous = os.umask(0o027)
    try:
        write(OLD, folder)
    finally:
        os.umask(previous)
    assert (folder.stat().st_mode & 0o777, (folder / MANIFEST).stat().st_mode & 0o777) == (
        0o750,
        0o640,
    )


def test_text_is_written_as_it_is(folder: Path) -> None:
    files = {"a.py": "x = 'é'\r\n\x0cy = 1", "empty.py": ""}
    write(files, folder)
    assert contents(folder) == expected(files)


@pytest.mark.parametrize("name", ["__init__.py", MANIFEST])
def test_a_deleted_file_is_written_again(folder: Path, name: str) -> None:
    write(OLD, folder)
    for path in [*folder.rglob("*.py")] if name == MANIFEST else []:
        path.unlink()
    (folder / name).unlink()
    assert name in write(OLD, folder).added
    assert contents(folder) == expected(OLD)


def test_a_local_edit_is_overwritten_and_counts_as_changed(folder: Path) -> None:
    write(OLD, folder)
    (folder / "__init__.py").write_text("OLD = 99\n")
    changes = write(OLD, folder)
    assert (changes.changed, changes.unchanged) == (("__init__.py",), len(OLD))
    assert contents(folder) == expected(OLD)


def test_bytecode_neither_stops_a_run_nor_outlives_a_change(folder: Path) -> None:
    write(OLD, folder)
    cached = folder / "runners" / "__pycache__" / "runner_1.cpython-311.pyc"
    cached.parent.mkdir()
    for path in (cached, cached.with_suffix(".pyc.140234")):
        path.write_bytes(b"\xf3bytecode")
    assert not write(OLD, folder).any
    assert cached.exists()
    write(NEW, folder)
    assert not cached.exists()


texts = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "c/d.py", "c/e/f.py", "g/h.py"]),
    st.text(st.characters(codec="utf-8"), max_size=12),
)


@pytest.mark.slow
@given(versions=st.lists(texts, min_size=1, max_size=4))
def test_whatever_was_there_the_folder_ends_as_asked(
    versions: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any") / "toy"
    for files in versions:
        previewed = write(files, folder, check=True)
        written = write(files, folder)
        assert previewed.any == bool(previewed.diff)
        assert contents(folder) == expected(files)
        names = ("added", "changed", "removed", "unchanged")
        assert [getattr(previewed, n) for n in names] == [getattr(written, n) for n in names]
        assert not write(files, folder, check=True).any


# --- check ----------------------------------------------------------------------------------------


def test_a_check_writes_nothing_and_shows_the_difference(folder: Path) -> None:
    write({"a.py": "one\ntwo", "b.py": "x = 1\n", "void.py": ""}, folder)
    before = times(folder.parent)
    changes = write({"a.py": "one\n2\n", "c.py": "y = 3\n"}, folder, check=True)
    assert (changes.added, changes.removed) == (("c.py",), ("b.py", "void.py"))
    assert times(folder.parent) == before
    shown, _, rest = changes.diff.partition("--- a/toy/ullage.json\n")
    assert shown == (
        "--- a/toy/a.py\n+++ b/toy/a.py\n@@ -1,2 +1,2 @@\n one\n"
        "-two\n\\ No newline at end of file\n+2\n"
        "--- a/toy/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
        "--- /dev/null\n+++ b/toy/c.py\n@@ -0,0 +1 @@\n+y = 3\n"
    )
    assert rest.endswith("--- a/toy/void.py\n+++ /dev/null\n")


def test_a_check_of_a_missing_folder_creates_none(folder: Path) -> None:
    assert write(OLD, folder, check=True).added == tuple(sorted([*OLD, MANIFEST]))
    assert not folder.parent.exists()


def test_a_check_finds_no_change_in_what_was_just_written(folder: Path) -> None:
    write(OLD, folder)
    assert write(OLD, folder, check=True) == Changes(unchanged=len(OLD) + 1)


def test_a_check_can_show_an_edit_that_is_not_text(folder: Path) -> None:
    write(OLD, folder)
    (folder / "__init__.py").write_bytes(b"\xff\xfe\n")
    assert "-\\xff\\xfe\n+OLD = 1\n" in write(OLD, folder, check=True).diff
