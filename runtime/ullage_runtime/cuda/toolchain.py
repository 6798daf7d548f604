"""What kernels are built with: the CUDA compiler, and the headers and library of tvm-ffi."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Final

HEADERS: Final = Path(__file__).parent / "include"
"""The headers that generated kernels include."""

USUAL: Final = Path("/usr/local/cuda/bin/nvcc")
"""Where the compiler is if nothing says so."""


class BuildError(Exception):
    """A kernel cannot be had on this machine; the message says why."""


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
            raise BuildError(f"{error.name} is missing; the extra 'gpu' installs it") from error
        includes = dict.fromkeys((libinfo.find_include_path(), libinfo.find_dlpack_include_path()))
        library = Path(libinfo.find_libtvm_ffi())
        return cls(tuple(map(Path, includes)), library, ", ".join(versions))


@dataclass(frozen=True, slots=True)
class Compiler:
    """nvcc, or what takes its arguments. `version`: what it says of itself."""

    executable: Path
    version: str

    @classmethod
    def found(cls, environment: Mapping[str, str]) -> Compiler | None:
        """The one that `CUDA_HOME` or `CUDA_PATH` names, or that the PATH has."""
        homes = [environment[name] for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
        named = [Path(home, "bin", "nvcc") for home in homes]
        on_path = shutil.which("nvcc", path=environment.get("PATH", os.defpath))
        for each in (*named, *([Path(on_path)] if on_path else []), USUAL):
            if os.access(each, os.X_OK):
                return cls(each, _version_of(each))
        return None

    def arguments(
        self, source: Path, output: Path, architecture: str, interface: Interface
    ) -> list[str]:
        """The command line that makes a library of a kernel. `architecture`: such as 9.0."""
        number = architecture.replace(".", "")
        includes = [f"-I{folder}" for folder in (HEADERS, *interface.includes)]
        target = f"-gencode=arch=compute_{number},code=sm_{number}"
        return [
            *(str(self.executable), "-shared", "-std=c++17", "-O3", "-Xcompiler", "-fPIC", target),
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
