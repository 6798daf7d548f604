"""Two processes that play one scenario as the ranks of a group."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

RANKS = 2
PATIENCE = timedelta(minutes=5)
"""Only a hang takes so long: a busy machine needs a while to import torch twice."""


def run_ranks(script: Path, scenario: str, backend: str, folder: Path) -> list[Any]:
    """What each process printed, as JSON, after `script` has played `scenario`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-W", "error::FutureWarning", str(script), scenario, backend]
    processes = [
        subprocess.Popen(
            [*program, str(rank), str(folder / "rendezvous")],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    results: list[Any] = []  # whatever a script prints
    try:
        for process in processes:
            printed, _ = process.communicate(timeout=2 * PATIENCE.total_seconds())
            assert process.returncode == 0
            results.append(json.loads(printed))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return results


def join_group(backend: str, rank: int, rendezvous: str) -> str:
    """Become one rank of the group; returns its device."""
    torch.set_num_threads(1)
    device = "cpu" if backend == "gloo" else f"cuda:{rank}"
    if backend != "gloo":
        torch.cuda.set_device(rank)
    dist.init_process_group(
        backend,
        init_method=f"file://{rendezvous}",
        rank=rank,
        world_size=RANKS,
        timeout=PATIENCE,
    )
    return device
