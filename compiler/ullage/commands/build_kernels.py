"""`ullage build-kernels`: build ahead of time what generated packages load through.

A second door in the wall between the compiler and the runtime: what builds is loaded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from ullage.commands.reporting import Exit, UsageError


class Device(StrEnum):
    """What libraries are built for."""

    CUDA = "cuda"
    CPU = "cpu"


def run(folder: Path | None, device: Device, architectures: Sequence[str]) -> Exit:
    """Build the kernels below `folder`, or the one library of a CPU, which has no folder.

    UsageError without the extra, or where it cannot be built.
    """
    if device is Device.CPU and (folder is not None or architectures):
        raise UsageError("one library serves all runners on the CPU: name no folder, and no --arch")
    try:
        from ullage_runtime.native.build_command import build_for_host, build_kernels
        from ullage_runtime.native.toolchain import BuildError
    except ModuleNotFoundError as error:
        raise UsageError(
            f"kernels need the module '{error.name}', which the extra 'native' installs: "
            "pip install 'ullage[native]'"
        ) from error
    try:
        if device is Device.CPU:
            build_for_host(print)
        elif folder is None:
            raise UsageError("name the folder that was compiled into")
        else:
            build_kernels(folder, architectures, print)
    except BuildError as error:
        raise UsageError(str(error)) from error
    return Exit.OK
