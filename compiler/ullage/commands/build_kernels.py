"""`ullage build-kernels`: build the kernels of generated packages ahead of time.

A second door in the wall between the compiler and the runtime: what builds is loaded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ullage.commands.reporting import Exit, UsageError


def run(folder: Path, architectures: Sequence[str]) -> Exit:
    """Build what lies below `folder`. UsageError without the extra, or where it cannot be built."""
    try:
        from ullage_runtime.cuda.build_command import build_kernels
        from ullage_runtime.cuda.toolchain import BuildError
    except ModuleNotFoundError as error:
        raise UsageError(
            f"kernels need the module '{error.name}', which the extra 'gpu' installs: "
            "pip install 'ullage[gpu]'"
        ) from error
    try:
        build_kernels(folder, architectures, print)
    except BuildError as error:
        raise UsageError(str(error)) from error
    return Exit.OK
