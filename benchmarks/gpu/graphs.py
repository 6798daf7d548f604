"""What a round costs by a graph and without, for the demo's model: medians over turns.

The parts of a round by a graph are measured one by one: the load, the replay with its look at
where the batch lies, the same of a batch that was not the last one, and the graph's launch alone.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import torch

from gpu.timing import Way, host_microseconds, round_microseconds
from ullage_demo.graph_engine import GraphEngine
from ullage_demo.graph_worker import GraphWorker, capture_batch, graph_worker
from ullage_demo.place import Place
from ullage_demo.sizes import Sizes
from ullage_generated.sglang import LiveBatch, Mode

BUCKETS = (1, 2, 4, 8, 16, 32, 64)
REQUESTS = (1, 3, 24, 64)


def decode_batch(requests: int) -> LiveBatch:
    """One token of each request, as a capture has it."""
    return replace(capture_batch(requests, 1, "cuda"), mode=Mode.DECODE)


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
def record() -> dict[str, object]:
    """All of it."""
    worker = graph_worker(Sizes(max_running=64, buckets=BUCKETS), place=Place(device="cuda"))
    return {
        "what": "a decode of the demo's model by a graph, and its forward without; medians",
        "pool_bytes": worker.graphs.graphs.pool.bytes,
        "requests": {requests: measured(worker, requests) for requests in REQUESTS},
    }
