"""What an engine waits for, and what stays allocated, before it serves: on one CUDA device.

The engine is the demo's, with thirty buckets and FlashInfer's kernels where they are installed.
Kernels were built before; how long that takes is another matter. Static bytes are the arenas that
the plan gives, beside what torch has allocated for them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import torch

from gpu.machine import about
from ullage_demo.graph_worker import graph_worker
from ullage_demo.place import AttentionLibrary, Place
from ullage_demo.runners import build_config
from ullage_demo.sizes import Sizes
from ullage_generated.sglang import Arenas, DecodeGraphTargetRunner, EagerTargetRunner
from ullage_runtime.ranks import SingleRank

RESULT = Path(__file__).parents[1] / "results" / "gpu_start_up.json"

BUCKETS = (*range(1, 17), *range(20, 65, 4), 80, 96)
"""Thirty numbers of requests."""


def sizes() -> Sizes:
    return Sizes(max_running=max(BUCKETS), buckets=BUCKETS, chunk=512, context=512)


def place() -> Place:
    """FlashInfer's kernels where they can be had."""
    if find_spec("flashinfer") is None:
        return Place(device="cuda")
    return Place(device="cuda", library=AttentionLibrary.FLASHINFER, head_dim=64)


def seconds(work: Callable[[], object]) -> float:
    """Until the device is done with it."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return round(time.perf_counter() - started, 4)


def static_bytes() -> dict[str, int]:
    """Of the runners of a target: what the plan gives, and what torch allocated for it."""
    config = build_config(sizes(), place())
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    arenas = Arenas.allocate(config, device="cuda")
    allocated = torch.cuda.memory_allocated() - before
    runners = (
        EagerTargetRunner(config, SingleRank(), device="cuda", arenas=arenas),
        DecodeGraphTargetRunner(config, SingleRank(), device="cuda", arenas=arenas),
    )
    storages = {
        arena.storage.data_ptr(): arena.storage.nbytes
        for runner in runners
        for arena in runner.registry.arenas
        if arena.storage.is_cuda
    }
    return {
        "planned": sum(storages.values()),
        "allocated": allocated,
        "after_the_runners": torch.cuda.memory_allocated() - before,
    }


def start_up() -> dict[str, object]:
    """Seconds of each part; the second engine finds its kernels built and loaded."""
    config = build_config(sizes(), place())
    allocating = seconds(lambda: Arenas.allocate(config, device="cuda"))
    arenas = Arenas.allocate(config, device="cuda")
    opening = seconds(
        lambda: DecodeGraphTargetRunner(config, SingleRank(), device="cuda", arenas=arenas)
    )
    opening_again = seconds(
        lambda: DecodeGraphTargetRunner(config, SingleRank(), device="cuda", arenas=arenas)
    )
    graph_worker(sizes(), place=place())  # whatever is set up once for a process
    whole = seconds(lambda: graph_worker(sizes(), place=place()))
    worker = graph_worker(sizes(), place=place())
    width = 1
    worker.graphs.graphs.drop()
    capturing = seconds(lambda: worker.capture(width))
    return {
        "allocate_arenas_s": allocating,
        "runner_with_kernels_from_disk_s": opening,
        "runner_with_kernels_open_s": opening_again,
        "capture_of_30_buckets_s": capturing,
        "engine_with_model_and_warm_up_s": whole,
        "graph_pool_bytes": worker.graphs.graphs.pool.bytes,
    }


def measured() -> dict[str, object]:
    """The record of this part."""
    return {
        "what": "an engine of thirty buckets before it serves",
        "attention": place().library.value,
        "static_bytes": static_bytes(),
        "start_up": start_up(),
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the result to results/")
    given = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("there is no CUDA device here", file=sys.stderr)
        return 2
    text = json.dumps(about() | measured(), indent=2) + "\n"
    print(text, end="")
    if given.record:
        RESULT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
