"""Building libraries: once on a machine for all processes, kept by what they are made from.

A library's name holds a digest of everything that it follows from, so that nothing is ever stale.
Whoever builds holds a lock, writes aside and renames: others see a whole library or none, also
after a build that was killed. The lock is the compiler's too, which may outlive who called it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from ullage_runtime.native.targets import HostTarget, Target
from ullage_runtime.native.toolchain import HEADERS, BuildError, Compiler, Interface

__all__ = ["BuildError", "build_host_library", "built_host_library", "kept_folder", "library_of"]

HOST_SOURCE: Final = Path(__file__).with_name("host.cc")
"""What the library of a CPU is built from."""


def library_of(
    source: Path,
    target: Target,
    *,
    environment: Mapping[str, str] = os.environ,
    interface: Interface | None = None,
) -> Path:
    """The library of a source, built if this machine has none.

    Without a compiler, one that any compiler has built from the same sources is taken. BuildError
    if there is none.
    """
    interface = interface or Interface.installed()
    compiler = target.compiler(environment)
    try:
        folder = kept_folder(environment)
        stem = _stem(source, target, interface)
        if compiler is None:
            found = _built_before(folder, stem)
            if found is None:
                raise BuildError(target.missing)
            return found
        library = folder / f"{stem}-{_digest([compiler.version.encode()])}.so"
        if not library.is_file():
            _build(compiler, source, library, interface)
    except OSError as error:
        raise BuildError(f"{error.strerror or error}: {error.filename}") from error
    return library


def build_host_library(
    *, environment: Mapping[str, str] = os.environ, interface: Interface | None = None
) -> Path:
    """The library that all runners on a CPU load through, built if this machine has none.

    BuildError if it cannot be built.
    """
    return library_of(HOST_SOURCE, HostTarget(), environment=environment, interface=interface)


def built_host_library(
    *, environment: Mapping[str, str] = os.environ, interface: Interface | None = None
) -> Path | None:
    """The same if it has been built before; None if not."""
    target = HostTarget()
    folder = kept_folder(environment)
    # Without any, nothing is imported or read.
    if _built_before(folder, f"{HOST_SOURCE.stem}-{target.name}") is None:
        return None
    return _built_before(folder, _stem(HOST_SOURCE, target, interface or Interface.installed()))


def kept_folder(environment: Mapping[str, str]) -> Path:
    """The folder of built kernels, beside what the compiler remembers.

    `ULLAGE_CACHE_DIR` names the folder above, which is otherwise the user's cache folder. With
    `ULLAGE_NO_CACHE` (anything but empty and 0), a folder that ends with this process.
    """
    if environment.get("ULLAGE_NO_CACHE", "0") not in ("", "0"):
        return _fleeting_folder()
    named = environment.get("ULLAGE_CACHE_DIR")
    folder = Path(named) if named else _user_folder(environment)
    return folder / "kernels"


def _user_folder(environment: Mapping[str, str]) -> Path:
    named = environment.get("XDG_CACHE_HOME")
    if named and os.path.isabs(named):
        return Path(named) / "ullage"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise BuildError("nowhere to keep it: ULLAGE_CACHE_DIR can name a folder") from error
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ullage"


@cache
def _fleeting() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ullage-kernels-")


def _fleeting_folder() -> Path:
    return Path(_fleeting().name)


def _stem(source: Path, target: Target, interface: Interface) -> str:
    """What the names of a library begin with: all that it follows from but for the compiler."""
    return f"{source.stem}-{target.name}-{_digest(_content_of(source, interface))}"


def _content_of(source: Path, interface: Interface) -> Iterator[bytes]:
    yield interface.version.encode()
    for path in (source, *sorted(HEADERS.rglob("*.cuh"))):
        yield path.name.encode()
        yield path.read_bytes()


def _digest(parts: Iterable[bytes]) -> str:
    """Sixteen hexadecimal digits over byte strings one by one."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:16]


def _built_before(folder: Path, stem: str) -> Path | None:
    return min(folder.glob(f"{stem}-*.so"), default=None)


def _build(compiler: Compiler, source: Path, library: Path, interface: Interface) -> None:
    library.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(library.with_suffix(".lock")) as lock:
        if library.is_file():  # another process was faster
            return
        aside = library.with_suffix(".partial")  # of a build that was killed, if it is there
        done = subprocess.run(
            compiler.arguments(source, aside, interface),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            errors="replace",
            pass_fds=(lock,),
        )
        if done.returncode != 0:
            aside.unlink(missing_ok=True)
            raise BuildError(f"{compiler.executable.name} failed:\n{done.stderr or done.stdout}")
        os.replace(aside, library)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Be the only builder of a library; the lock ends with the last process that has it open."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)
