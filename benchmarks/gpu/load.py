"""What loading a batch costs the host and the device, beside an empty launch and torch's loader.

The slots are those of SGLang's eager runner. Each way to load is called many times in turns with
the others, and has to leave the same bytes; medians over the turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import cast

import torch
from torch import Tensor

from gpu.timing import TURNS, Way, host_microseconds
from ullage_generated.sglang import Config, EagerTargetRunner, LiveBatch, Mode
from ullage_runtime.arena import SlotShape
from ullage_runtime.arena_regions import Regions, RunnerLayout
from ullage_runtime.debug import DebugOptions
from ullage_runtime.loader import SlotLoad, write_slot
from ullage_runtime.native.build import library_of
from ullage_runtime.native.library import Load, opened
from ullage_runtime.native.targets import CudaTarget
from ullage_runtime.native.writer import LibraryWriter, writer_for
from ullage_runtime.ranks import SingleRank
from ullage_runtime.torch_writer import TorchWriter
from ullage_runtime.writers import prepared

ROOT = Path(__file__).parents[2]
MODULE = str(ROOT / "generated/ullage_generated/sglang/eager_target.py")

REQUESTS, TOKENS = 1024, 16384
DECODES = (1, 8, 32, 128, 512)
EXTENDS = (512, 2048, 8192)
LARGE_TOKENS = 2**25

# Slots by what their rows are: name, dtype, fill.
OF_TOKENS = (
    ("input_ids", torch.int64, 0),
    ("positions", torch.int64, 0),
    ("out_cache_loc", torch.int64, 0),
)
OF_REQUESTS = (("req_pool_indices", torch.int64, 0), ("seq_lens", torch.int64, 1))
OF_EXTENDS = (("extend_seq_lens", torch.int32, 0), ("extend_prefix_lens", torch.int32, 0))


@dataclass(frozen=True, slots=True)
class Shape:
    """Live rows of one batch, and to how many tokens it is padded."""

    name: str
    requests: int
    tokens: int
    padded: int
    extends: bool


def shapes() -> list[Shape]:
    """Decodes of one token for each request, padded to eights; extends of sixteen requests."""
    decodes = [Shape(f"decode {n}", n, n, -(-n // 8) * 8, False) for n in DECODES]
    return decodes + [Shape(f"extend {n}", 16, n - 3, n, True) for n in EXTENDS]


class Bench:
    """The slots, and the batch of one shape."""

    def __init__(self, shape: Shape) -> None:
        names = (*OF_TOKENS, *OF_REQUESTS, *OF_EXTENDS)
        rows = [TOKENS] * 3 + [REQUESTS] * 4
        slots = [SlotShape(n, (r,), d) for (n, d, _), r in zip(names, rows, strict=True)]
        slots.append(SlotShape("num_token_non_padded", (1,), torch.int32))
        debug = DebugOptions.of(False)
        layout = RunnerLayout.of(compute=slots, debug=debug)
        self.regions = Regions.alone("eager", layout, device="cuda", debug=debug)
        self.steps = list(self._steps(shape))
        self.sources = [
            torch.randint(1, 1000, step.live, device="cuda", dtype=step.view.dtype)
            for step in self.steps
            if step.source
        ]

    def _steps(self, shape: Shape) -> Sequence[SlotLoad]:
        per_request = (*OF_REQUESTS, *(OF_EXTENDS if shape.extends else ()))
        padded_requests = shape.requests if shape.extends else shape.padded
        steps = [self._step(n, f, shape.tokens, shape.padded) for n, _, f in OF_TOKENS]
        steps += [self._step(n, f, shape.requests, padded_requests) for n, _, f in per_request]
        number = self.regions.compute.slot("num_token_non_padded")
        return [*steps, SlotLoad(number, None, (0,), shape.tokens)]

    def _step(self, name: str, fill: int, live: int, padded: int) -> SlotLoad:
        return SlotLoad(self.regions.compute.slot(name)[:padded], name, (live,), fill)

    def by_torch(self) -> None:
        """One slot after another."""
        sources = iter(self.sources)
        for step in self.steps:
            write_slot(step, None if step.source is None else next(sources))

    def require_same(self, way: Way) -> None:
        """SystemExit if a way to load leaves other bytes than torch does."""
        storage = self.regions.arenas[0].storage
        storage.fill_(0xA5)
        self.by_torch()
        expected = storage.clone()
        storage.fill_(0x5A)
        way()
        touched = expected != 0xA5
        if not torch.equal(storage[touched], expected[touched]):
            raise SystemExit("a way to load leaves other bytes than torch does")


def captured(way: Way, count: int = 1) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            way()
    return graph


def device_microseconds(way: Way) -> float:
    """Of one call on the device: many in one graph."""
    graph = captured(way, 50)
    times = []
    for _ in range(TURNS):
        started, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        started.record()
        graph.replay()
        ended.record()
        ended.synchronize()
        times.append(started.elapsed_time(ended) * 1000 / 50)
    return round(median(times), 2)


def empty_launch() -> Load:
    major, minor = torch.cuda.get_device_capability()
    source = Path(__file__).with_name("empty.cu")
    launch = cast(Load, opened(library_of(source, CudaTarget(f"{major}.{minor}")))(0))
    launch.release_gil = False  # as that of a load
    return launch


def measured(shape: Shape, empty: Load) -> dict[str, object]:
    bench = Bench(shape)
    writer = writer_for(MODULE, bench.regions)
    if not isinstance(writer, LibraryWriter):
        raise SystemExit("there is no kernel")
    steps, sources = bench.steps, bench.sources
    load = writer.prepare(steps, sources)
    grouped = TorchWriter(bench.regions.addresses).prepare(steps, sources)
    other = [*sources[:-1], torch.empty(0, device="cuda")]
    graph = captured(lambda: load(sources))
    none: list[Tensor] = []
    ways: dict[str, Way] = {
        "prepared load": lambda: load(sources),
        "empty launch": lambda: empty(id(none)),
        "empty launch, tensors described": lambda: empty(id(sources)),
        "refused load": lambda: load(other),
        "graph replay of the load": graph.replay,
        "torch, slot by slot": bench.by_torch,
        "torch, grouped": lambda: grouped(sources),
        "prepare and load": lambda: writer.prepare(steps, sources)(sources),
    }
    for name in ("prepared load", "graph replay of the load", "prepare and load"):
        bench.require_same(ways[name])
    times = host_microseconds(ways)
    on_device = {
        "load": device_microseconds(lambda: load(sources)),
        "empty": device_microseconds(lambda: empty(id(none))),
        "torch, slot by slot": device_microseconds(bench.by_torch),
    }
    return {"sources": len(sources), "host_us": times, "device_us": on_device}


def live_decode(requests: int) -> LiveBatch:
    """A decode of the eager runner, on the device."""
    rows = torch.arange(requests, device="cuda")
    return LiveBatch(
        mode=Mode.DECODE,
        batch_size=requests,
        input_ids=rows + 100,
        positions=rows + 7,
        out_cache_loc=rows + 1,
        req_pool_indices=rows,
        seq_lens=rows + 8,
    )


def whole_loads() -> dict[str, object]:
    """What `load` of the generated runner takes in all, with its kernel and with torch."""
    config = Config.from_arguments({"max_running_requests": max(DECODES)})
    runners = [EagerTargetRunner(config, SingleRank(), device="cuda") for _ in range(2)]
    runners[1].plans.recipes.writer = TorchWriter(runners[1].registry.regions.addresses)
    by_kernel, by_torch = runners
    found: dict[str, object] = {}
    for requests in DECODES:
        live = live_decode(requests)
        found[f"decode {requests}"] = host_microseconds(
            {
                "kernel": lambda live=live: by_kernel.load(live),
                "torch": lambda live=live: by_torch.load(live),
            }
        )
        one, two = (each.registry.regions.arenas[0].storage for each in runners)
        if not torch.equal(one, two):
            raise SystemExit("the kernel of the runner leaves other bytes than torch does")
    return found


def bandwidth() -> dict[str, object]:
    """Bytes read and written in a second by one slot far larger than the cache."""
    debug = DebugOptions.of(False)
    layout = RunnerLayout.of(compute=[SlotShape("ids", (LARGE_TOKENS,), torch.int64)], debug=debug)
    regions = Regions.alone("eager", layout, device="cuda", debug=debug)
    slot = regions.compute.slot("ids")
    room = torch.randint(0, 9, (LARGE_TOKENS + 1,), device="cuda")
    narrow = room.int()
    writer = writer_for(MODULE, regions)
    found: dict[str, object] = {"bytes": slot.nbytes}
    for name, source in (
        ("aligned", room[:-1]),
        ("misaligned", room[1:]),
        ("cast from int32", narrow[:-1]),
    ):
        load = prepared(writer, [SlotLoad(slot, "ids", (LARGE_TOKENS,), None)], [source])
        moved = slot.nbytes + source.nbytes
        way = lambda load=load, source=source: load([source])  # noqa: E731  # bound at once
        microseconds = device_microseconds(way)
        if not torch.equal(slot, source.long()):
            raise SystemExit(f"{name}: the slot does not hold the source")
        found[name] = round(moved / microseconds / 1e6, 3)
        copying = device_microseconds(lambda source=source: slot.copy_(source))
        found[f"{name}, torch"] = round(moved / copying / 1e6, 3)
    return found


def record() -> dict[str, object]:
    """All of it."""
    empty = empty_launch()
    return {
        "what": "loading a batch into the slots of SGLang's eager runner; medians",
        "shapes": {shape.name: measured(shape, empty) for shape in shapes()},
        "load_of_the_runner_us": whole_loads(),
        "terabytes_per_second": bandwidth(),
    }
