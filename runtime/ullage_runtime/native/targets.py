"""What libraries are built for: an architecture of CUDA, or the processor of this machine."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol

from ullage_runtime.native.toolchain import BuildError, Compiler

USUAL: Final = Path("/usr/local/cuda/bin/nvcc")
"""Where nvcc is if nothing says so."""

_ARCHITECTURE: Final = re.compile(r"\d+\.\d[a-z]?")


class Target(Protocol):
    """What a library runs on, and who builds for that."""

    @property
    def name(self) -> str:
        """Stands in the names of its libraries."""
        ...

    @property
    def missing(self) -> str:
        """Says that there is no compiler."""
        ...

    def compiler(self, environment: Mapping[str, str]) -> Compiler | None:
        """The one that this machine has. BuildError if it does not run."""
        ...


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """`name`: the compute capability of devices, such as 9.0. BuildError for what is none."""

    name: str
    missing: ClassVar[str] = "there is no nvcc to build its kernel, and none is built ahead"

    def __post_init__(self) -> None:
        if not _ARCHITECTURE.fullmatch(self.name):
            raise BuildError(f"{self.name!r} is no compute capability, such as 9.0")

    def compiler(self, environment: Mapping[str, str]) -> Compiler | None:
        """nvcc: the one that `CUDA_HOME` or `CUDA_PATH` names, or that the PATH has."""
        homes = [environment[name] for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
        named = [Path(home, "bin", "nvcc") for home in homes]
        number = self.name.replace(".", "")
        architecture = f"-gencode=arch=compute_{number},code=sm_{number}"
        for each in (*named, *_on_path(environment, "nvcc"), USUAL):
            if os.access(each, os.X_OK):
                return Compiler.at(each, "-Xcompiler", "-fPIC", architecture)
        return None


@dataclass(frozen=True, slots=True)
class HostTarget:
    """The processor of this machine, and others of its kind."""

    missing: ClassVar[str] = "there is no C++ compiler: CXX can name one"

    @property
    def name(self) -> str:
        return platform.machine().lower()

    def compiler(self, environment: Mapping[str, str]) -> Compiler | None:
        """The C++ compiler that `CXX` names, or else the PATH has."""
        # Python's own symbols are there when the library is loaded.
        late = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
        named = environment.get("CXX")
        for each in _on_path(environment, *([named] if named else ["c++", "g++", "clang++"])):
            return Compiler.at(each, "-fPIC", *late)
        return None


def _on_path(environment: Mapping[str, str], *names: str) -> Iterator[Path]:
    for name in names:
        found = shutil.which(name, path=environment.get("PATH", os.defpath))
        if found:
            yield Path(found)
