"""Kernels for tests, built by nvcc, or by g++: a launch is a loop, and host memory the device."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from support.slot_loads import Loaded
from ullage_runtime.cuda.build import kernel_library
from ullage_runtime.cuda.library import Open, opened
from ullage_runtime.cuda.writer import CudaWriter

EVERY_DTYPE = Path(__file__).with_name("every_dtype.cu")

_COMPILER = """#!{python}
import os, sys
if sys.argv[1:] == ["--version"]:
    print("emulated")
    raise SystemExit
gone = ("-gencode", "-Xcompiler")
kept = [each for each in sys.argv[1:] if not each.startswith(gone) and each != "-O3"]
source = next(each for each in kept if each.endswith(".cu"))
place = kept.index(source)
kept[place : place + 1] = ["-x", "c++", source, "-x", "none"]
os.execvp("g++", ["g++", "-O1", "-Wall", "-Werror=return-type", *kept])
"""

can_emulate = shutil.which("g++") is not None and importlib.util.find_spec("tvm_ffi") is not None
needs_emulation = pytest.mark.skipif(not can_emulate, reason="needs g++ and tvm-ffi")


def emulating(folder: Path) -> dict[str, str]:
    """An environment in which nvcc is g++ and kernels are kept below `folder`."""
    compiler = folder / "emulated" / "bin" / "nvcc"
    compiler.parent.mkdir(parents=True, exist_ok=True)
    compiler.write_text(_COMPILER.format(python=sys.executable))
    compiler.chmod(0o755)
    home = str(compiler.parents[1])
    return {"CUDA_HOME": home, "PATH": os.environ["PATH"], "ULLAGE_CACHE_DIR": str(folder)}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is built for a device."""

    device: str
    open: Open

    @classmethod
    def built(cls, source: Path, device: str, folder: Path) -> Kernel:
        """For `cuda` by nvcc, kept as for everybody; for `cpu` by g++, kept below `folder`."""
        if device == "cpu":
            return cls(device, opened(kernel_library(source, "9.0", environment=emulating(folder))))
        major, minor = torch.cuda.get_device_capability()
        return cls(device, opened(kernel_library(source, f"{major}.{minor}")))

    def writer(self, loaded: Loaded) -> CudaWriter:
        """The writer of these slots."""
        return CudaWriter(self.open, loaded.regions)
