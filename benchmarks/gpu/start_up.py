"""What an engine waits for, and what stays allocated, before it serves: on one CUDA device.

The engine is the demo's, with thirty buckets and FlashInfer's kernels where they are installed.
Kernels were built before; how long that takes is another matter. Static bytes are the arenas that
the plan gives, beside what torch has allocated for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

import torch

from ullage_demo.graph_worker import graph_worker
from ullage_demo.place import FLASHINFER_HEAD, AttentionLibrary, Place
from ullage_demo.runners import build_config
from ullage_demo.sizes import Sizes
from ullage_generated.sglang import Arenas, DecodeGraphTargetRunner, EagerTargetRunner
from ullage_runtime.ranks import SingleRank

BUCKETS = (*range(1, 17), *range(20, 65, 4), 80, 96)
"""Thirty numbers of requests."""


def sizes() -> Sizes:
    return Sizes(max_running=max(BUCKETS), buckets=BUCKETS, chunk=512, context=512)


def place() -> Place:
    """FlashInfer's kernels where they can be had."""
    if find_spec("flashinfer") is None:
        return Place(device="cuda")
    return Place(device="cuda", library=AttentionLibrary.FLASHINFER, head_dim=FLASHINFER_HEAD)


def seconds(work: Callable[[], object]) -> float:
    """Until the device is done with it."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return round(time.perf_counter() - started, 4)


def _requested() -> int:
    """Bytes before the allocator rounds them."""
    return int(torch.cuda.memory_stats()["requested_bytes.all.current"])


def static_bytes() -> dict[str, int]:
    """Of the runners of a target: what the plan gives, and what torch allocated for it."""
    config = build_config(sizes(), place())
    torch.cuda.synchronize()
    before, requested = torch.cuda.memory_allocated(), _requested()
    arenas = Arenas.allocate(config, device="cuda")
    allocated, asked = torch.cuda.memory_allocated() - before, _requested() - requested
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
        "asked_of_the_allocator": asked,
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
    worker.graphs.graphs.drop()
    capturing = seconds(lambda: worker.capture(1))
    return {
        "allocate_arenas_s": allocating,
        "runner_with_kernels_from_disk_s": opening,
        "runner_with_kernels_open_s": opening_again,
        "capture_of_30_buckets_s": capturing,
        "engine_with_model_and_warm_up_s": whole,
        "graph_pool_bytes": worker.graphs.graphs.pool.bytes,
    }


def record() -> dict[str, object]:
    """All of it."""
    return {
        "what": "an engine of thirty buckets before it serves",
        "attention": place().library.value,
        "static_bytes": static_bytes(),
        "start_up": start_up(),
    }
