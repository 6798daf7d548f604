"""What tests of several files and processes need, derived once in a session.

The cache is made fresh for each session: everything in it was derived and proved by the compiler
that is tested. Tests about proving and remembering have caches of their own.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.audit.model import AuditReport
from ullage.audit.report import audited
from ullage.cache import Cache
from ullage.memory import Memory

SGLANG = Path(__file__).parents[2] / "specs" / "sglang"

_FOLDER = "ULLAGE_TESTS_SHARED"


def make_shared_folder(config: pytest.Config) -> None:
    """A folder for this session, which its other processes inherit.

    It also stands in for the user's cache, wherever a test does not name another one.
    """
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="ullage-session-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ[_FOLDER] = folder
        os.environ["ULLAGE_CACHE_DIR"] = str(Path(folder, "commands"))


def shared_folder() -> Path:
    """The folder that the processes of the session share."""
    return Path(os.environ[_FOLDER])


def shared_cache() -> Path:
    """The folder of the cache that the session shares."""
    return shared_folder() / "cache"


def shared_memory() -> Memory:
    """What the session has derived so far."""
    return Memory(Cache(shared_cache()))


@functools.cache
def sglang() -> Analysis:
    """The analysis of SGLang's specs."""
    _ask("check")
    return analyse(SGLANG, memory=shared_memory())


def sglang_audit() -> AuditReport:
    """The verdicts on all that SGLang states."""
    _ask("audit")
    return audited(sglang(), memory=shared_memory())


def _ask(command: str) -> None:
    """Have a command fill the cache, in the first process that asks; others wait for it.

    What it finds wrong is for the tests to say: verdicts that are not expected make it exit with 1.
    It is a process without the threads of a test runner, which it can share out to others.
    """
    done = shared_folder() / command
    with _alone(done.with_suffix(".lock")):
        if not done.exists():
            environment = {**os.environ, "ULLAGE_CACHE_DIR": str(shared_cache())}
            environment.pop("ULLAGE_NO_CACHE", None)
            done_by = subprocess.run(
                [sys.executable, "-m", "ullage", command, str(SGLANG), "--json"],
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done_by.returncode in (0, 1), done_by.stderr
            done.touch()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process of the session at a time."""
    with lock.open("w") as file:  # closing it lets the next one in
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
