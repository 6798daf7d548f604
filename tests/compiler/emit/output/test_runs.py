"""The folder stays whole through runs that are killed, and runs at the same time."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from output_folders import (
    NEW,
    OLD,
    PROVENANCE,
    Contents,
    contents,
    expected,
    fails_with,
    refused,
    siblings,
    times,
    write,
)
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.emit.output import MANIFEST, manifest, survey


def test_what_dead_runs_left_is_removed_and_nothing_else(folder: Path) -> None:
    write(OLD, folder)
    mine = [".toy.notes", ".toy.12-ab", ".toy2.12-00112233445566aa", "toy.12-00112233445566aa"]
    dead = [".toy.12-00112233445566aa", ".toy.13-00112233445566ab.old"]
    for name in [*mine, *dead]:
        (folder.parent / name / "part").mkdir(parents=True)
        (folder.parent / name / "part" / "a.py").write_text("half")
    (folder.parent / dead[0] / "part").chmod(0o500)
    (folder.parent / ".toy.lock").touch()
    mine.append(".toy.14-00112233445566aa")
    (folder.parent / mine[-1]).write_text("a run leaves folders only")
    before = times(folder)
    assert not write(OLD, folder).any
    assert siblings(folder) == set(mine)
    assert times(folder) == before


def test_a_run_killed_between_two_renames_is_recovered(folder: Path) -> None:
    write(OLD, folder)
    aside = folder.parent / ".toy.12-00112233445566aa"
    write(NEW, aside)
    (aside / MANIFEST).unlink()
    folder.rename(folder.parent / ".toy.12-00112233445566aa.old")
    assert not write(OLD, folder).any
    assert contents(folder) == expected(OLD)
    assert siblings(folder) == set()


def test_a_leftover_that_cannot_be_removed_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(OLD, folder)
    left = folder.parent / ".toy.12-00112233445566aa"
    left.mkdir()
    monkeypatch.setattr(os, "rmdir", fails_with(errno.EBUSY, str(left)))
    with refused("U903", folder, rf": {re.escape(left.name)}$"):
        write(NEW, folder)


@contextmanager
def another_run(folder: Path) -> Iterator[Path]:
    """A run elsewhere that holds the lock, and has a tree aside."""
    aside = folder.parent / ".toy.12-00112233445566aa"
    aside.mkdir(parents=True)
    with open(folder.parent / ".toy.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield aside


def test_a_live_run_is_waited_for_and_keeps_its_files(folder: Path) -> None:
    write(OLD, folder)
    with another_run(folder) as aside:
        with refused("U903", folder, "another ullage compile is writing"):
            write(NEW, folder, wait_seconds=0)
        assert aside.is_dir()
    write(NEW, folder)
    assert siblings(folder) == set()


def test_a_check_does_not_wait(folder: Path) -> None:
    write(OLD, folder)
    with another_run(folder):
        assert write(NEW, folder, check=True, wait_seconds=0).any


def test_a_waiting_run_writes_once_the_other_has_ended(folder: Path) -> None:
    write(OLD, folder)
    with another_run(folder):
        waiting = threading.Thread(target=write, args=(NEW, folder))
        waiting.start()
        assert contents(folder) == expected(OLD)
    waiting.join()
    assert contents(folder) == expected(NEW)
    assert siblings(folder) == set()


def test_the_lock_is_no_door_to_another_file(folder: Path, tmp_path: Path) -> None:
    folder.parent.mkdir()
    (folder.parent / ".toy.lock").symlink_to(tmp_path / "victim")
    with refused("U903", folder, r"\.toy\.lock$"):
        write(OLD, folder)
    assert not (tmp_path / "victim").exists()


@pytest.mark.slow
def test_runs_at_the_same_time_end_as_one_of_them(folder: Path) -> None:
    write(OLD, folder)
    failures: list[str] = []

    def repeatedly(*versions: dict[str, str], check: bool) -> None:
        try:
            for files in versions * 15:
                write(files, folder, check=check)
        except DiagnosticError as error:
            failures.append(str(error))

    writers = [
        threading.Thread(target=repeatedly, args=versions, kwargs={"check": check})
        for versions, check in [((OLD, NEW), False), ((NEW, OLD), False), ((OLD, NEW), True)]
    ]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert failures == []
    assert contents(folder) in (expected(OLD), expected(NEW))
    assert siblings(folder) == set()


def test_a_lock_that_was_removed_meanwhile_is_worth_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(OLD, folder)
    path, actual = folder.parent / ".toy.lock", fcntl.flock

    with open(folder.parent / "new.lock", "w") as held:
        actual(held, fcntl.LOCK_EX)

        def flock(handle: int, operation: int) -> None:
            if (folder.parent / "new.lock").exists():  # opened, and not yet locked
                (folder.parent / "new.lock").replace(path)
            actual(handle, operation)

        monkeypatch.setattr(fcntl, "flock", flock)
        with refused("U903", folder, "another ullage compile is writing"):
            write(NEW, folder, wait_seconds=0)


def test_a_folder_swapped_while_it_is_read_is_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = dict.fromkeys(OLD, "ROWS = 5\n"), dict.fromkeys(OLD, "ROWS = 6\n")
    write(before, folder)
    actual = manifest.listed

    def listed(data: bytes) -> frozenset[str]:
        monkeypatch.setattr(survey, "listed", actual)
        write(after, folder)
        return actual(data)

    monkeypatch.setattr(survey, "listed", listed)
    assert not write(after, folder, check=True).any


def test_a_backup_that_is_half_removed_is_never_restored(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(OLD, folder)
    write(NEW, folder.parent / ".toy.12-00112233445566aa.old")

    def stop_half_way(tree: Path) -> None:
        (tree / MANIFEST).unlink()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stop_half_way)
        with refused("U903", folder):
            write(OLD, folder)
    shutil.rmtree(folder)
    assert write(OLD, folder).added == tuple(sorted([*OLD, MANIFEST]))
    assert siblings(folder) == set()


ENDLESS = """
import itertools, json, sys
from pathlib import Path
from ullage.emit.output import swap, write_output

folder, way, provenance, *versions = sys.argv[1:]
if way == "renames":
    swap.exchange = lambda left, right: False
print("ready", flush=True)
for files in itertools.cycle(map(json.loads, versions)):
    write_output(files, Path(folder), provenance=json.loads(provenance), wait_seconds=60)
"""


@pytest.mark.slow
def test_a_killed_run_leaves_one_whole_version(folder: Path, either_way: str) -> None:
    chance = random.Random(20)
    seen: set[frozenset[str]] = set()
    both = {frozenset(expected(OLD)), frozenset(expected(NEW))}
    for attempt in range(120):
        if attempt >= 30 and both <= seen:  # a busy machine may need longer to write at all
            break
        kill_after(chance.uniform(0, 0.03 * (1 + attempt / 10)), folder, either_way)
        state = contents(folder) or backup_of(folder, either_way)
        assert state in ({}, expected(OLD), expected(NEW))
        seen.add(frozenset(state))
    assert both <= seen
    write(OLD, folder)
    assert contents(folder) == expected(OLD)
    assert siblings(folder) == set()


def kill_after(seconds: float, folder: Path, way: str) -> None:
    texts = [json.dumps(value) for value in (PROVENANCE, OLD, NEW)]
    command = [sys.executable, "-c", ENDLESS, str(folder), way, *texts]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        run.kill()


def backup_of(folder: Path, way: str) -> Contents:
    """What the next run restores: with two renames the folder is absent for a moment."""
    if way == "exchange":
        return {}
    return next(map(contents, folder.parent.glob(".toy.*.old")), {})
