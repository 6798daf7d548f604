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
from collections.abc import Collection, Iterator
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

AUDITED = (
    "review_dflash_verify",
    "review_dllm_block",
    "review_draft_expansion",
    "review_dynamic_chunking",
    "review_frozen_kv_topk",
    "review_mlp_sync",
    "seed_excerpt",
    "seed_merged",
    "sglang_0_5_23",
    "sglang_0_5_23_graphs",
)
"""The audits that tests decide: those of tables of backends would take as long as all other tests.

`ullage audit specs/sglang` decides these as well.
"""

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


def shared_cache() -> Path:
    """The folder of the cache that the session shares."""
    return Path(os.environ[_FOLDER], "cache")


def shared_memory() -> Memory:
    """What the session has derived so far."""
    return Memory(Cache(shared_cache()))


@functools.cache
def sglang() -> Analysis:
    """The analysis of SGLang's specs."""
    _ask("check")
    return analyse(SGLANG, memory=shared_memory())


def sglang_audit(only: Collection[str] | None = None) -> AuditReport:
    """The verdicts on what SGLang states in the audits of some names, else in all of `AUDITED`."""
    if only is None:
        _ask("audit", *(option for name in AUDITED for option in ("--only", name)))
    return audited(sglang(), only=AUDITED if only is None else only, memory=shared_memory())


def _ask(command: str, *options: str) -> None:
    """Have a command fill the cache, in the first process that asks; others wait for it.

    A process without the threads of a test runner, which it can share out to others.
    """
    done = Path(os.environ[_FOLDER], command)
    with _alone(done.with_suffix(".lock")):
        if not done.exists():
            environment = {**os.environ, "ULLAGE_CACHE_DIR": str(shared_cache())}
            environment.pop("ULLAGE_NO_CACHE", None)
            subprocess.run(
                [sys.executable, "-m", "ullage", command, str(SGLANG), "--json", *options],
                env=environment,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            done.touch()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process of the session at a time."""
    with lock.open("w") as file:  # closing it lets the next one in
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
