"""A compiler that takes nvcc's arguments and writes a file, and a kernel for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ullage_runtime.native.build import library_of
from ullage_runtime.native.targets import CudaTarget
from ullage_runtime.native.toolchain import Interface

# Says its version, else counts its calls and writes what stands behind -o, half of it at a time.
COMPILER = """#!{python}
import pathlib, sys, time
here = pathlib.Path(__file__).parent
if sys.argv[1:] == ["--version"]:
    print((here / "version").read_text())
    raise SystemExit
with open(here / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
output = pathlib.Path(sys.argv[sys.argv.index("-o") + 1])
with open(output, "w") as library:
    library.write("whole "), library.flush()
    time.sleep({seconds})
    library.write("library")
sys.stderr.write("no such type")
raise SystemExit({status})
"""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A compiler, a kernel and a place for libraries, all in one folder."""

    folder: Path
    interface: Interface
    environment: Mapping[str, str]

    @classmethod
    def of(cls, folder: Path, *, status: int = 0, seconds: float = 0.0) -> Workshop:
        bin_folder = folder / "cuda" / "bin"
        bin_folder.mkdir(parents=True)
        compiler = bin_folder / "nvcc"
        compiler.write_text(COMPILER.format(python=sys.executable, status=status, seconds=seconds))
        compiler.chmod(0o755)
        (bin_folder / "version").write_text("release 1")
        kernels = folder / "package" / "kernels"
        kernels.mkdir(parents=True)
        (kernels / "eager.cu").write_text("slots")
        interface = Interface((folder / "headers",), folder / "lib" / "libtvm_ffi.so", "ffi 1")
        home = {"CUDA_HOME": str(folder / "cuda"), "PATH": "", "ULLAGE_CACHE_DIR": str(folder)}
        return cls(folder, interface, home)

    @property
    def kernel(self) -> Path:
        return self.folder / "package" / "kernels" / "eager.cu"

    @property
    def calls(self) -> int:
        path = self.folder / "cuda" / "bin" / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def library(self, architecture: str = "9.0") -> Path:
        target = CudaTarget(architecture)
        return library_of(
            self.kernel, target, environment=self.environment, interface=self.interface
        )

    @property
    def host_environment(self) -> Mapping[str, str]:
        """One in which the compiler is that of C++."""
        compiler = str(self.folder / "cuda" / "bin" / "nvcc")
        return {"CXX": compiler, "PATH": "", "ULLAGE_CACHE_DIR": str(self.folder)}

    def without_compiler(self) -> Workshop:
        (self.folder / "cuda" / "bin" / "nvcc").unlink()
        return self
