"""One writer per output folder: an advisory lock beside it, which ends with its process."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

WAIT_SECONDS: Final = 10.0

_POLL_SECONDS: Final = 0.02


def lock_of(folder: Path) -> Path:
    """Where the lock of `folder` lies while somebody writes."""
    return folder.with_name(f".{folder.name}.lock")


@contextmanager
def locked(folder: Path, wait_seconds: float) -> Iterator[None]:
    """Be the only writer of `folder`. Raises BlockingIOError if another run stays too long."""
    path = lock_of(folder)
    handle = _acquire(path, time.monotonic() + wait_seconds)
    try:
        yield
    finally:
        with suppress(OSError):  # one that stays is taken by the next run
            if _is_at(handle, path):  # while it is held: those who wait see it go, and start over
                path.unlink()
        os.close(handle)


def _acquire(path: Path, deadline: float) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            if _try_lock(handle) and _is_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() > deadline:
            raise BlockingIOError("another ullage compile is writing")
        time.sleep(_POLL_SECONDS)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether the locked file is still the one that others would find."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False
