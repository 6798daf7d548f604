"""What a round costs by a graph and without, for the demo's model: medians over turns.

The parts of a round by a graph are measured one by one: the load, the replay with its look at
where the batch lies, the same of a batch that was not the last one, and the graph's launch alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from statistics import median

import torch

from ullage_demo.graph_engine import GraphEngine
from ullage_demo.graph_worker import GraphWorker, capture_batch, graph_worker
from ullage_demo.place import Place
from ullage_demo.sizes import Sizes
from ullage_generated.sglang import LiveBatch, Mode

RESULT = Path(__file__).parents[1] / "results" / "gpu_graphs.json"

BUCKETS = (1, 2, 4, 8, 16, 32, 64)
REQUESTS = (1, 3, 24, 64)
CALLS, TURNS = 50, 15

Way = Callable[[], object]


def decode_batch(requests: int) -> LiveBatch:
    """One token of each request, as a capture has it."""
    return replace(capture_batch(requests, 1, "cuda"), mode=Mode.DECODE)


def host_microseconds(ways: Mapping[str, Way]) -> dict[str, float]:
    """Of one call, without waiting for the device; the ways take turns."""
    return _medians(ways, CALLS, wait=False)


def round_microseconds(ways: Mapping[str, Way]) -> dict[str, float]:
    """Of one call, until the device is done with it; the ways take turns."""
    return _medians(ways, 1, wait=True)


def _medians(ways: Mapping[str, Way], calls: int, *, wait: bool) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, way in ways.items():
            torch.cuda.synchronize()
            started = time.perf_counter()
            for _ in range(calls):
                way()
            if wait:
                torch.cuda.synchronize()
            found[name].append((time.perf_counter() - started) / calls * 1e6)
    return {name: round(median(times), 2) for name, times in found.items()}


def measured(worker: GraphWorker, requests: int) -> dict[str, object]:
    """One number of requests. SystemExit if the graph gives other tokens than the eager step."""
    live, graphs = decode_batch(requests), worker.graphs.graphs
    engine = GraphEngine(worker.model, worker.pool, worker.table, worker.attention, worker.graphs)
    runner, eager = worker.runners.decode_graph, worker.runners.eager
    batch = runner.load(live)
    graph, others = graphs.graph_of(batch), cycle((batch, replace(batch)))
    by_graph, without = runner.execute(live, engine).clone(), eager.execute(live, engine)
    if not torch.equal(by_graph.argmax(dim=-1), without.argmax(dim=-1)):
        raise SystemExit(f"the graph of {requests} requests gives other tokens")
    parts: dict[str, Way] = {
        "load": lambda: runner.load(live),
        "replay": lambda: graphs.replay(batch),
        "replay of another batch": lambda: graphs.replay(next(others)),
        "launch alone": graph.launch.replay,
    }
    rounds: dict[str, Way] = {
        "load and replay": lambda: graphs.replay(runner.load(live)),
        "load and forward": lambda: graph.forward(runner.load(live)),
    }
    return {"host_us": host_microseconds(parts), "round_us": round_microseconds(rounds)}


@torch.inference_mode()
def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the result to results/")
    given = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("there is no CUDA device here", file=sys.stderr)
        return 2
    worker = graph_worker(Sizes(max_running=64, buckets=BUCKETS), place=Place(device="cuda"))
    result = {
        "what": "a decode of the demo's model by a graph, and its forward without; medians",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "device": torch.cuda.get_device_name(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "versions": {name: version(name) for name in ("torch", "transformers")},
        "pool_bytes": worker.graphs.graphs.pool.bytes,
        "requests": {requests: measured(worker, requests) for requests in REQUESTS},
    }
    text = json.dumps(result, indent=2) + "\n"
    print(text, end="")
    if given.record:
        RESULT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
