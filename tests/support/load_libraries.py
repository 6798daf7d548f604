"""Libraries for tests: of a device, of the CPU, and kernels whose threads run there in turn."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from support.shared import shared_folder
from support.slot_loads import DTYPES, Loaded
from ullage_runtime.native.build import build_host_library, library_of
from ullage_runtime.native.library import Open, opened
from ullage_runtime.native.targets import CudaTarget, HostTarget
from ullage_runtime.native.toolchain import Compiler
from ullage_runtime.native.writer import LibraryWriter

EVERY_DTYPE = Path(__file__).with_name("every_dtype.cu")
FEW_DTYPES = Path(__file__).with_name("few_dtypes.cu")
RUNTIME = Path(__file__).with_name("emulated")
"""The folder of the runtime that stands for CUDA's."""

can_build = shutil.which("g++") is not None and importlib.util.find_spec("tvm_ffi") is not None
needs_host_compiler = pytest.mark.skipif(not can_build, reason="needs g++ and tvm-ffi")


@dataclass(frozen=True, slots=True)
class EmulatedTarget:
    """Kernels for host memory: a launch is a loop over all threads."""

    name: ClassVar[str] = "emulated"
    missing: ClassVar[str] = "there is no g++"

    def compiler(self, environment: Mapping[str, str]) -> Compiler | None:
        found = HostTarget().compiler(environment)
        if found is None:
            return None
        options = ("-O1", "-Wall", "-Werror=return-type", "-DULLAGE_EMULATED", f"-I{RUNTIME}")
        options = (*options, "-x", "c++")
        return Compiler(found.executable, (*found.options, *options), found.version)


def building_environment() -> dict[str, str]:
    """An environment in which what is built is kept for the session, and nothing longer."""
    return {"PATH": os.environ["PATH"], "ULLAGE_CACHE_DIR": str(shared_folder() / "built")}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A library that is built for a device. `dtypes`: of its slots, and of their sources."""

    device: str
    open: Open
    dtypes: tuple[torch.dtype, ...] = DTYPES

    @classmethod
    def on_device(cls) -> Kernel:
        """By nvcc, kept as for everybody."""
        major, minor = torch.cuda.get_device_capability()
        return cls("cuda", opened(library_of(EVERY_DTYPE, CudaTarget(f"{major}.{minor}"))))

    @classmethod
    def on_host(cls) -> Kernel:
        """What serves runners on a CPU."""
        return cls("cpu", opened(build_host_library(environment=building_environment())))

    @classmethod
    def emulated(cls) -> Kernel:
        """The kernel of a device, without one; of a few dtypes, since that is built sooner."""
        dtypes = (torch.bool, torch.bfloat16, torch.int32, torch.int64)
        return cls("cpu", opened_emulated(FEW_DTYPES), dtypes)

    def writer(self, loaded: Loaded) -> LibraryWriter:
        """The writer of these slots."""
        return LibraryWriter(self.open, loaded.regions)


def _is_lasting(device: int, stream: int) -> bool:
    """As torch numbers streams: those of others are even."""
    return stream == 0 or stream % 2 == 1


def opened_emulated(source: Path, is_lasting: Callable[[int, int], bool] = _is_lasting) -> Open:
    """A kernel, compiled for host memory. `is_lasting`: see `opened`."""
    return opened(_emulated(source), is_lasting)


def _emulated(source: Path) -> Path:
    return library_of(source, EmulatedTarget(), environment=building_environment())


class EmulatedDevice:
    """The device of emulated kernels: see `emulated/cuda_runtime.h`."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(_emulated(FEW_DTYPES)))
        self._library.emulated_count.restype = ctypes.c_int64
        self._count: Callable[[int], int] = self._library.emulated_count
        self._library.emulated_fail.argtypes = [ctypes.c_int64, ctypes.c_bool, ctypes.c_bool]
        self._library.emulated_capture.argtypes = [ctypes.c_bool, ctypes.c_void_p]
        for told in (self._library.emulated_use, self._library.emulated_destroy):
            told.argtypes = [ctypes.c_void_p]

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """What it is told is done at the end, or when somebody waits for it."""
        self._library.emulated_hold(True)
        try:
            yield
        finally:
            self._library.emulated_hold(False)

    @contextmanager
    def capturing(self, stream: int = 0) -> Iterator[None]:
        """A graph records what this stream is told."""
        self._library.emulated_capture(True, stream)
        try:
            yield
        finally:
            self._library.emulated_capture(False, 0)

    @contextmanager
    def failing(
        self, *, launches_after: int = -1, allocations: bool = False, records: bool = False
    ) -> Iterator[None]:
        """It refuses some of what it is asked for: launches after so many that it does not."""
        self._library.emulated_fail(launches_after, allocations, records)
        try:
            yield
        finally:
            self._library.emulated_fail(-1, False, False)

    @contextmanager
    def meanwhile(self, others: Callable[[], None]) -> Iterator[None]:
        """What others do while somebody waits for an event: once."""
        called = ctypes.CFUNCTYPE(None)(others)
        self._library.emulated_meanwhile(called)
        try:
            yield
        finally:
            self._library.emulated_meanwhile(None)

    @contextmanager
    def on(self, stream: int) -> Iterator[None]:
        """Loads go to this stream: one of torch's own if it is odd, one of others if it is even."""
        self._library.emulated_use(stream)
        try:
            yield
        finally:
            self._library.emulated_use(0)

    def destroy(self, stream: int) -> None:
        """What it was told is done all the same; a new one may have its handle."""
        self._library.emulated_destroy(stream)

    @property
    def events(self) -> int:
        """Those that exist."""
        return self._count(0)

    @property
    def blocks(self) -> int:
        """Of pinned memory, those that exist."""
        return self._count(1)

    @property
    def recorded(self) -> int:
        """How often an event was recorded."""
        return self._count(2)

    @property
    def waited(self) -> int:
        """How often somebody waited for it."""
        return self._count(3)

    @property
    def waited_with_lock(self) -> int:
        """How often no other thread of Python could go on meanwhile."""
        return self._count(4)

    @property
    def launched(self) -> int:
        """Kernels."""
        return self._count(5)

    @property
    def asked(self) -> int:
        """How often somebody asked whether an event was reached."""
        return self._count(6)
