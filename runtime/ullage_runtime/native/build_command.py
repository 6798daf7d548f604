"""Building the kernels of generated packages ahead of time: what `ullage build-kernels` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ullage_runtime.native.build import build_host_library, library_of
from ullage_runtime.native.targets import CudaTarget
from ullage_runtime.native.toolchain import BuildError, Interface


def build_for_host(report: Callable[[str], None]) -> None:
    """Build the library that runners on a CPU load through. BuildError if it cannot be built."""
    report(f"all runners on the CPU: {build_host_library()}")


def build_kernels(
    folder: Path,
    architectures: Sequence[str],
    report: Callable[[str], None],
    *,
    environment: Mapping[str, str] = os.environ,
    interface: Interface | None = None,
) -> None:
    """Build every kernel below `folder` for each architecture, or for the devices that are here.

    `report` gets a line for each library. BuildError if there is no kernel, or no library of it.
    """
    kernels = sorted(folder.glob("**/kernels/*.cu"))
    if not kernels:
        raise BuildError(f"there is no generated kernel below {folder}")
    wanted = list(dict.fromkeys(architectures or _architectures_here()))
    if not wanted:
        raise BuildError("there is no CUDA device here: name an architecture, such as 9.0")
    for architecture in wanted:
        target = CudaTarget(architecture)
        for kernel in kernels:
            library = library_of(kernel, target, environment=environment, interface=interface)
            report(f"{kernel.relative_to(folder)} for {architecture}: {library}")


def _architectures_here() -> Iterator[str]:
    import torch

    for device in range(torch.cuda.device_count()):
        major, minor = torch.cuda.get_device_capability(device)
        yield f"{major}.{minor}"
