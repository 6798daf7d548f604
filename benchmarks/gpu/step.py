"""A whole decode step of the demo's model: load, plan, replay, and the live rows of the output.

Beside it the same engine is driven by copies slot by slot, as SGLang's registry does: the head of
each slot, then its tail. What the model itself costs the host is the launch of its graph.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpu.graphs import decode_batch
from gpu.start_up import place
from gpu.timing import Way, host_microseconds
from ullage_demo.graph_engine import GraphEngine
from ullage_demo.graph_worker import GraphWorker, graph_worker
from ullage_demo.seam import Batch
from ullage_demo.sizes import Sizes
from ullage_generated.sglang import LiveBatch

BUCKETS = (4, 24, 64)
REQUESTS = (3, 21, 60)


class WaitingForNothing(GraphEngine):
    """The demo's engine without its look at the output, which waits for the device."""

    def require_finite(self, _batch: Batch, _computed: Tensor) -> None: ...


def slot_by_slot(worker: GraphWorker, live: LiveBatch) -> Callable[[], None]:
    """Copies each head and fills each tail; what goes where is known before."""
    plan = worker.runners.decode_graph.plan(live)
    sources = iter(plan.read.of(live))
    copies: list[tuple[Tensor, Tensor]] = []
    fills: list[tuple[Tensor, int | float]] = []
    for load in plan.loads:
        rows = tuple(slice(0, extent) for extent in load.live)
        if load.source is not None:
            copies.append((load.view[rows], next(sources)))
        tail = load.view[load.live[0] :] if load.live and load.source is not None else load.view
        if load.fill is not None and tail.numel():
            fills.append((tail, load.fill))

    def load_all() -> None:
        for head, source in copies:
            head.copy_(source, non_blocking=True)
        for tail, fill in fills:
            tail.fill_(fill)

    return load_all


def measured(worker: GraphWorker, requests: int) -> dict[str, float]:
    """Host microseconds of one step and of its parts."""
    live = decode_batch(requests)
    runner, graphs = worker.runners.decode_graph, worker.graphs
    engine = WaitingForNothing(worker.model, worker.pool, worker.table, worker.attention, graphs)
    batch = runner.load(live)
    runner.execute(live, engine)
    by_slots = slot_by_slot(worker, live)
    launch = graphs.graphs.graph_of(batch).launch

    def step_by_slots() -> Tensor:
        by_slots()
        engine.plan_replay(batch)
        return engine.replay(batch)[:requests]

    ways: dict[str, Way] = {
        "step": lambda: runner.execute(live, engine),
        "step, slot by slot": step_by_slots,
        "load": lambda: runner.load(live),
        "load, slot by slot": by_slots,
        "plan": lambda: engine.plan_replay(batch),
        "replay": lambda: engine.replay(batch),
        "launch of the model": launch.replay,
    }
    return host_microseconds(ways)


@torch.inference_mode()
def record() -> dict[str, object]:
    """All of it."""
    worker = graph_worker(Sizes(max_running=64, buckets=BUCKETS), place=place())
    return {
        "what": "a padded decode step of the demo's model by a graph; host us, medians",
        "attention": place().library.value,
        "requests": {requests: measured(worker, requests) for requests in REQUESTS},
    }
