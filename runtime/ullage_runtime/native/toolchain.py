"""What libraries are built with: a compiler, and the headers and library of tvm-ffi."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Final

HEADERS: Final = Path(__file__).parent / "include"
"""The headers that generated kernels include."""


class BuildError(Exception):
    """A library cannot be had on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Interface:
    """tvm-ffi, through which Python calls a kernel. `version`: its own and that of torch."""

    includes: tuple[Path, ...]
    library: Path
    version: str

    @classmethod
    def installed(cls) -> Interface:
        """What this interpreter has. BuildError if it has none."""
        try:
            libinfo = import_module("tvm_ffi.libinfo")
            versions = [f"{name} {metadata.version(name)}" for name in ("apache-tvm-ffi", "torch")]
        except ImportError as error:  # PackageNotFoundError too
            raise BuildError(f"{error.name} is missing; the extra 'native' installs it") from error
        includes = dict.fromkeys((libinfo.find_include_path(), libinfo.find_dlpack_include_path()))
        library = Path(libinfo.find_libtvm_ffi())
        return cls(tuple(map(Path, includes)), library, ", ".join(versions))


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler, and what it has to be told of its target. `version`: what it says of itself."""

    executable: Path
    options: tuple[str, ...]
    version: str

    @classmethod
    def at(cls, executable: Path, *options: str) -> Compiler:
        """The one of that file. BuildError if it does not run."""
        return cls(executable, options, _version_of(executable))

    def arguments(self, source: Path, output: Path, interface: Interface) -> list[str]:
        """The command line that makes a library of a source."""
        includes = [f"-I{folder}" for folder in (HEADERS, *interface.includes)]
        return [
            *(str(self.executable), "-shared", "-std=c++17", "-O3", *self.options),
            *(*includes, str(source), "-o", str(output)),
            *(f"-L{interface.library.parent}", "-ltvm_ffi"),
        ]


@cache
def _version_of(executable: Path) -> str:
    try:
        done = subprocess.run(
            [executable, "--version"], capture_output=True, text=True, check=True, errors="replace"
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{executable.name} does not run: {error}") from error
    return done.stdout.strip()
