"""What only a device can show of the loading kernel: streams, graphs, sizes, and real runners."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from support.load_libraries import Kernel
from support.slot_loads import Case, Loaded
from ullage.emit.kernel import ELEMENTS
from ullage_runtime.arena import SlotShape
from ullage_runtime.arena_regions import Regions, RunnerLayout
from ullage_runtime.debug import DebugOptions
from ullage_runtime.loader import SlotLoad
from ullage_runtime.native.build import build_host_library
from ullage_runtime.native.library import is_lasting_stream, opened
from ullage_runtime.native.writer import LibraryWriter, writer_for

GENERATED = Path(__file__).parents[2] / "generated" / "ullage_generated" / "sglang" / "kernels"
KERNELS = sorted(path.stem for path in GENERATED.glob("*.cu"))
LONG = Case((4096,), (2048,), (1000,), torch.int64, torch.int32, "dense", True, 7)
BLOCK = Case((3, 515), (3, 512), (3, 500), torch.int64, torch.int64, "misaligned", True, -1)
NUMBER = Case((1,), (1,), None, torch.int32, torch.int32, "dense", False, 5)
SOME = [LONG, BLOCK, NUMBER, replace(LONG, dtype=torch.bfloat16, source_dtype=torch.float32)]


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return Kernel.on_device()


def require_same(actual: Loaded, expected: Loaded) -> None:
    expected.load_by_torch()
    assert torch.equal(actual.arena.storage, expected.arena.storage)


def test_streams_that_torch_made_last_and_those_of_others_may_not() -> None:
    own = torch.cuda.Stream()
    of_others = torch.cuda.ExternalStream(own.cuda_stream)
    for stream, is_lasting in (
        (torch.cuda.default_stream(), True),
        (own, True),
        (of_others, False),
    ):
        with torch.cuda.stream(stream):
            assert is_lasting_stream(stream.device_index, stream.cuda_stream) is is_lasting


def test_a_load_on_another_stream_waits_for_what_that_stream_does(kernel: Kernel) -> None:
    actual, expected = (Loaded(SOME, "cuda", 1) for _ in range(2))
    load = kernel.writer(actual).prepare(actual.steps, actual.sources)
    late = [torch.zeros_like(each) for each in actual.sources]
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        for into, source in zip(late, actual.sources, strict=True):
            into.copy_(source)
        assert load(late)
    stream.synchronize()
    require_same(actual, expected)


def test_a_load_without_sources_is_on_the_current_stream_too(kernel: Kernel) -> None:
    loaded = Loaded([NUMBER], "cuda")
    load = kernel.writer(loaded).prepare(loaded.steps, [])
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        loaded.views[0].zero_()
        assert load([])
    stream.synchronize()
    assert loaded.views[0].tolist() == [5]


def captured(load: Callable[[], bool]) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert load()
    return graph


def test_a_captured_load_reads_what_its_sources_hold_at_each_replay(kernel: Kernel) -> None:
    actual, expected = (Loaded(SOME, "cuda", 2) for _ in range(2))
    sources = actual.sources
    load = kernel.writer(actual).prepare(actual.steps, sources)
    graph = captured(lambda: load(sources))
    for seed in (3, 4):
        other = Loaded(SOME, "cuda", seed)
        for into, source in zip(sources, other.sources, strict=True):
            into.copy_(source)
        expected.given = other.given
        graph.replay()
        torch.cuda.synchronize()
        require_same(actual, expected)


def test_a_load_can_be_prepared_while_a_graph_is_captured(kernel: Kernel) -> None:
    actual, expected = (Loaded(SOME, "cuda", 5) for _ in range(2))
    sources = actual.sources
    writer = kernel.writer(actual)
    graph = captured(lambda: writer.prepare(actual.steps, sources)(sources))
    graph.replay()
    torch.cuda.synchronize()
    require_same(actual, expected)


def test_a_call_allocates_nothing_and_does_not_wait_for_the_device(kernel: Kernel) -> None:
    loaded = Loaded(SOME, "cuda")
    load = kernel.writer(loaded).prepare(loaded.steps, loaded.sources)
    sources = loaded.sources
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    torch.cuda.set_sync_debug_mode("error")
    try:
        assert load(sources)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before


def test_any_load_is_one_kernel_on_the_device(kernel: Kernel) -> None:
    runtime = pytest.importorskip("cuda.bindings.runtime")
    loaded = Loaded([replace(LONG, fill=i) for i in range(11)], "cuda")
    sources = loaded.sources
    load = kernel.writer(loaded).prepare(loaded.steps, sources)
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        assert load(sources)
    handle = runtime.cudaGraph_t(init_value=graph.raw_cuda_graph())
    _, _, count = runtime.cudaGraphGetNodes(handle)
    assert count == 1


@pytest.mark.parametrize("offset", [0, 1, 7])
def test_more_than_two_gigabytes_are_copied_and_filled(kernel: Kernel, offset: int) -> None:
    live, padded = 2**31 + 5, 2**31 + 70_001
    free, _ = torch.cuda.mem_get_info()
    if free < 3 * padded:
        pytest.skip("needs seven gigabytes of device memory")
    debug = DebugOptions.of(False)
    layout = RunnerLayout.of(compute=[SlotShape("slot", (padded,), torch.uint8)], debug=debug)
    regions = Regions.alone("runner", layout, device="cuda", debug=debug)
    source = torch.randint(0, 256, (live + offset,), dtype=torch.uint8, device="cuda")[offset:]
    slot = regions.compute.slot("slot")
    step = SlotLoad(slot, "source", (live,), 3)
    load = LibraryWriter(kernel.open, regions).prepare([step], [source])
    assert load([source])
    assert torch.equal(slot[:live], source)
    assert bool((slot[live:] == 3).all())


@pytest.mark.parametrize("by_library", [False, True])
def test_slots_on_the_host_are_written_by_the_same_call(kernel: Kernel, by_library: bool) -> None:
    debug = DebugOptions.of(False)
    shape = SlotShape("seq_lens", (64,), torch.int64)
    regions = Regions.alone(
        "runner",
        RunnerLayout.of(compute=[shape], host=[shape], debug=debug),
        device="cuda",
        debug=debug,
    )
    on_device, on_host = regions.compute.slot("seq_lens"), regions.host.slot("seq_lens")
    steps = [SlotLoad(on_host, "seq_lens_cpu", (5,), 1), SlotLoad(on_device, "seq_lens", (5,), 1)]
    lengths = torch.arange(5)
    host = opened(build_host_library()) if by_library else None
    writer = LibraryWriter(kernel.open, regions, host)
    load = writer.prepare(steps, [lengths, lengths.cuda()])
    assert load([lengths + 3, lengths.cuda() + 3])
    assert on_host.tolist() == on_device.tolist() == [3, 4, 5, 6, 7, *[1] * 59]
    before = on_host.clone(), on_device.clone()
    for wrong in (
        [lengths.cuda(), lengths.cuda()],
        [lengths.int(), lengths.cuda()],
        [lengths, lengths],
        [on_device[:5], lengths.cuda()],
        [on_host[1:6], lengths.cuda()],
    ):
        assert load(wrong) is False
    assert torch.equal(on_host, before[0])
    assert torch.equal(on_device, before[1])


DTYPES = {element: getattr(torch, dtype) for dtype, element in ELEMENTS.items()}


def cases_of(kernel: Path) -> list[Case]:
    """A load for each slot that a kernel lists, and for each dtype that its sources may have."""
    found = []
    for listed in re.findall(r"ullage::Slot<(.+)>", kernel.read_text()):
        element, dimensions, *accepted = listed.split(", ")
        capacity = (3,) * (int(dimensions) - 1) + (512,)
        live = (*capacity[:-1], 99)
        for source in (element, *accepted):
            case = Case(capacity, capacity, live, DTYPES[element], DTYPES[source], "dense", True, 1)
            found.append(case)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_of_every_runner_loads_all_its_slots(name: str) -> None:
    source = GENERATED / f"{name}.cu"
    actual, expected = (Loaded(cases_of(source), "cuda") for _ in range(2))
    writer = writer_for(str(GENERATED.parent / f"{name}.py"), actual.regions)
    assert isinstance(writer, LibraryWriter)
    assert writer.prepare(actual.steps, actual.sources)(actual.sources)
    require_same(actual, expected)
