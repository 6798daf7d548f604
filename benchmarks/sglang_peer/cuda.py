"""What a load costs on a GPU: waiting for it, one behind the other, and on the device alone."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch

from sglang_peer.batches import ForwardBatch
from sglang_peer.implementations import Implementation

PROFILED_CALLS: Final = 20


@dataclass(frozen=True, slots=True)
class Device:
    """Microseconds and events of one call.

    `synchronized`: of a call with the wait for it; `throughput`: of calls one behind the other,
    between two events; `graph`: of `fill` in a replayed graph, so without gaps of the host; None
    where it cannot be captured. `device`: the sum over `kernels`, `copies` and `fills`, as the
    profiler has them; `launches`: calls of the driver that started them.
    """

    synchronized: float
    throughput: float
    graph: float | None
    device: float
    kernels: float
    copies: float
    fills: float
    launches: float
    names: Mapping[str, float] = field(default_factory=dict)


def device_costs(implementation: Implementation, batches: Sequence[ForwardBatch]) -> Device:
    """All costs of one implementation; it has been warmed up."""

    def load(batch: ForwardBatch) -> None:
        implementation.fill(batch)
        implementation.view(batch)

    with implementation.setting():
        return Device(
            _synchronized(load, batches),
            _throughput(load, batches),
            _in_graph(implementation.fill, batches[0]),
            **_profiled(load, batches),
        )


def _synchronized(load: Callable[[ForwardBatch], None], batches: Sequence[ForwardBatch]) -> float:
    taken: list[int] = []
    for call in range(300):
        torch.cuda.synchronize()
        began = time.perf_counter_ns()
        load(batches[call % len(batches)])
        torch.cuda.synchronize()
        taken.append(time.perf_counter_ns() - began)
    return statistics.median(taken) / 1e3


def _throughput(load: Callable[[ForwardBatch], None], batches: Sequence[ForwardBatch]) -> float:
    def run() -> None:
        for call in range(200):
            load(batches[call % len(batches)])

    return statistics.median(_between_events(run) / 200 for _ in range(5))


def _in_graph(fill: Callable[[ForwardBatch], None], batch: ForwardBatch) -> float | None:
    """Microseconds of one fill, of twenty in a captured graph."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's own
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        fill(batch)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            for _ in range(20):
                fill(batch)
    except RuntimeError:  # it waits for the device, which no capture allows
        torch.cuda.synchronize()
        return None
    for _ in range(3):
        graph.replay()

    def replay() -> None:
        for _ in range(10):
            graph.replay()

    return _between_events(replay) / 200


def _between_events(run: Callable[[], None]) -> float:
    begin, end = (
        torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch's own
        for _ in range(2)
    )
    torch.cuda.synchronize()
    begin.record()
    run()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e3


def _profiled(
    load: Callable[[ForwardBatch], None], batches: Sequence[ForwardBatch]
) -> Mapping[str, Any]:
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for call in range(PROFILED_CALLS):
            load(batches[call % len(batches)])
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch, "trace.json")
        profiler.export_chrome_trace(str(trace))
        return counted(json.loads(trace.read_text())["traceEvents"], PROFILED_CALLS)


_EVENTS: Final = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "fills"}
_HOST: Final = ("cuda_runtime", "cuda_driver")
_STARTED: Final = ("cudaMemcpy", "cudaMemset")


def counted(events: Iterable[Mapping[str, Any]], calls: int) -> Mapping[str, Any]:
    """Events of a trace and their time on the device, for one of `calls` calls."""
    counts: Counter[str] = Counter()
    names: Counter[str] = Counter()
    device = 0.0
    for event in events:
        category, name = str(event.get("cat", "")).lower(), str(event.get("name", ""))
        if event.get("ph") != "X":
            continue
        if category in _EVENTS:
            counts[_EVENTS[category]] += 1
            names[name[:80]] += 1
            device += float(event.get("dur", 0))
        elif category in _HOST and ("LaunchKernel" in name or name.startswith(_STARTED)):
            counts["launches"] += 1
    keys = (*_EVENTS.values(), "launches")
    return {
        "device": device / calls,
        **{key: counts[key] / calls for key in keys},
        "names": {name: count / calls for name, count in names.most_common()},
    }
