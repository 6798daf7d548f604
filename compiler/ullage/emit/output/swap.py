"""Putting one folder in the place of another, and tidying up after runs that were killed."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Final

from ullage.emit.output.lock import lock_of

_BACKUP: Final = ".old"
_AT_WORKING_FOLDER: Final = -100  # AT_FDCWD
_RENAME_EXCHANGE: Final = 2
# A kernel, a file system or a sandbox without the call.
_NO_EXCHANGE: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP})
_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.EOPNOTSUPP})


def new_aside(folder: Path) -> Path:
    """A name beside `folder` that nobody else uses."""
    return folder.with_name(f".{folder.name}.{os.getpid()}-{secrets.token_hex(8)}")


def swap(folder: Path, other: Path) -> None:
    """Exchange two siblings; a missing `folder` is simply put in place.

    Atomic where the system can. Elsewhere the folder is absent for a moment, and `recover` restores
    it if the process ends just then.
    """
    if not folder.exists():
        other.rename(folder)
    elif not exchange(folder, other):
        _swap_by_renames(folder, other)
    sync_folder(folder.parent)


def _swap_by_renames(folder: Path, other: Path) -> None:
    backup = other.with_name(other.name + _BACKUP)
    folder.rename(backup)
    try:
        other.rename(folder)
    except BaseException:
        backup.rename(folder)
        raise
    backup.rename(other)


def exchange(left: Path, right: Path) -> bool:
    """Exchange two paths in one step; False if this system has no such call."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    here = ctypes.c_int(_AT_WORKING_FOLDER)
    paths = ctypes.c_char_p(os.fsencode(left)), ctypes.c_char_p(os.fsencode(right))
    if library.renameat2(here, paths[0], here, paths[1], ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(left))


def leftovers(folder: Path) -> tuple[Path, ...]:
    """What runs left beside `folder`, or have there now: trees, backups and the lock."""
    mine = re.compile(rf"\.{re.escape(folder.name)}\.\d+-[0-9a-f]{{16}}(?:{re.escape(_BACKUP)})?")
    try:
        names = sorted(os.listdir(folder.parent))
    except FileNotFoundError:
        return ()
    trees = [folder.with_name(name) for name in names if mine.fullmatch(name)]
    lock = [lock_of(folder)] if lock_of(folder).name in names else []
    # A file or link of such a name is somebody else's: runs leave folders.
    return (*lock, *(tree for tree in trees if tree.is_dir() and not tree.is_symlink()))


def recover(folder: Path) -> None:
    """Finish what killed runs began: restore the folder, then drop what they left.

    Only for the holder of the lock: then whatever else lies there is of a run that has ended.
    """
    for left in leftovers(folder):
        if left.name.endswith(_BACKUP) and not folder.exists():
            left.rename(folder)
            sync_folder(folder.parent)
        elif left != lock_of(folder):
            discard(left)


def discard(tree: Path) -> None:
    """Remove a tree of Ullage's; a backup first ceases to be one, lest half of it be restored."""
    if tree.name.endswith(_BACKUP):
        tree = tree.rename(tree.with_name(tree.name.removesuffix(_BACKUP)))
    for folder, below, _ in os.walk(tree):
        for path in (os.path.join(folder, name) for name in below):
            if not os.path.islink(path):
                os.chmod(path, 0o700)  # a read-only folder would keep its files
    tree.chmod(0o700)
    shutil.rmtree(tree)


def sync_folder(folder: Path) -> None:
    """Have the names in `folder` survive a power failure, where folders can be synced."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)
