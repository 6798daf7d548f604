"""SGLang's files that are measured, out of its released wheel into a cache outside the repository.

Any build of the wheel will do, since what is run is held against the digests below.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

VERSION: Final = "0.5.23"

DIGESTS: Final = {
    "sglang.srt.environ": "967ede87488967cf87a95f8c38ccd72a3a0055a03cbdac303b38c2322b987c55",
    "sglang.srt.model_executor.input_buffers": (
        "893f105c50f93e141ce7cb457f4ae9c8864609a2c58697f5a9e59a343bd55aee"
    ),
    "sglang.srt.model_executor.cuda_graph_buffer_registry": (
        "285cc199d1ae8641f9205747ce00410c2661c454de1f27dc040c5d1c649ddb66"
    ),
    "sglang.srt.model_executor.forward_batch_info": (
        "9a7df5e3994b50ad519efc09c532bba4f8a6f26c36f764de64811d32b05f9744"
    ),
    "sglang.srt.model_executor.forward_batch_deepseek_mha_mixin": (
        "c0a457c7a304c25bc3595cc61507f4df5ab54527afce316d8e8d952b0108d675"
    ),
    "sglang.srt.model_executor.runner.eager_runner": (
        "6ac59ed3d5758e52298054b822852e877a17c75de47c3e83709a00b92967d591"
    ),
    "sglang.kernels.ops.memory.small_copy": (
        "ed4157fe392c0b98ef40d65b71a9f669d85b90202bdc18544bd1c76b2909b642"
    ),
}
"""SHA-256 of each module's source in the wheel of that version."""

# The wheels are built for Linux, while these files are plain Python that runs anywhere.
_BUILD: Final = ("--platform", "manylinux_2_34_x86_64", "--python-version", "3.11")


class ForeignSourceError(Exception):
    """SGLang's files cannot be had, or are not the ones that were measured before."""


def sources() -> Path:
    """The folder that holds `sglang/`, fetched with pip the first time.

    ForeignSourceError where pip does not get the wheel, or a file differs from its digest.
    """
    folder = _cache() / f"sglang-{VERSION}"
    if not all(path_of(folder, module).is_file() for module in DIGESTS):
        _fetch(folder)
    for module, digest in DIGESTS.items():
        _require(path_of(folder, module), digest)
    return folder


def path_of(folder: Path, module: str) -> Path:
    """Where a module's file lies below `folder`."""
    return folder.joinpath(*module.split(".")).with_suffix(".py")


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "ullage-benchmarks"


def _require(path: Path, digest: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        raise ForeignSourceError(f"{path} has the digest {found}, and not {digest}: delete it.")


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        _download(Path(scratch))
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for module in DIGESTS:
                archive.extract(f"{module.replace('.', '/')}.py", folder)


def _download(into: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", *_BUILD, "--dest", str(into), f"sglang=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ForeignSourceError(f"pip does not get sglang {VERSION}:\n{done.stderr}")
