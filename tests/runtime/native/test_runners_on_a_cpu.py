"""Runners on a CPU: with the library that somebody has built, every slot is written by one call."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import torch

from support.load_libraries import Kernel, building_environment, needs_host_compiler
from support.slot_loads import Case, Loaded
from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetRunner,
    EagerTargetRunner,
    LiveBatch,
    Mode,
)
from ullage_runtime.arena import SlotShape
from ullage_runtime.arena_regions import Regions, RunnerLayout
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import BatchError
from ullage_runtime.loader import SlotLoad
from ullage_runtime.native.writer import LibraryWriter, writer_for
from ullage_runtime.ranks import SingleRank
from ullage_runtime.torch_writer import TorchWriter
from ullage_runtime.views import RecentlyUsed
from ullage_runtime.writers import ShapedLoad, WrittenSlot

pytestmark = [pytest.mark.slow, needs_host_compiler]

PLAIN = Case((64,), (32,), (20,), torch.int64, torch.int64, "dense", True, 7)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """The library, where runners find it."""
    monkeypatch.delenv("ULLAGE_NO_CACHE", raising=False)
    for name, value in building_environment().items():
        monkeypatch.setenv(name, value)
    return Kernel.on_host()


def decode_of(requests: int) -> LiveBatch:
    rows = torch.randperm(requests)
    return LiveBatch(
        mode=Mode.DECODE,
        batch_size=requests,
        input_ids=rows + 100,
        positions=rows + 7,
        out_cache_loc=rows + 1,
        req_pool_indices=rows,
        seq_lens=rows.int() + 8,
        seq_lens_cpu=rows + 8,
    )


@pytest.mark.usefixtures("built")
def test_a_runner_leaves_the_bytes_that_torch_leaves_on_both_roles_of_device() -> None:
    config = Config.from_arguments({"max_running_requests": 48, "enable_decode_graph": True})
    runners = [DecodeGraphTargetRunner(config, SingleRank(), device="cpu") for _ in range(2)]
    by_library, by_torch = runners
    assert isinstance(by_library.plans.recipes.writer, LibraryWriter)
    by_torch.plans.recipes.writer = TorchWriter(by_torch.registry.regions.addresses)
    for requests in (48, 3, 3, 17, 1, 48, 3):
        live = decode_of(requests)
        for runner in runners:
            runner.load(live)
        for one, two in zip(*(each.registry.regions.arenas for each in runners), strict=True):
            assert torch.equal(one.storage, two.storage), f"{requests} requests"


def extend_of(requests: int, tokens: int) -> LiveBatch:
    rows, starts = torch.randperm(requests), torch.arange(requests).int()
    return replace(
        decode_of(requests),
        mode=Mode.EXTEND,
        input_ids=torch.randperm(tokens) + 100,
        positions=torch.randperm(tokens).int(),
        out_cache_loc=torch.randperm(tokens) + 1,
        extend_seq_lens=rows.int(),
        extend_prefix_lens=rows.int() + 3,
        extend_start_loc=starts,
    )


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("limit", [2, 1024])
def test_shapes_in_any_order_are_loaded_as_by_torch(limit: int) -> None:
    config = Config.from_arguments({"max_running_requests": 48, "chunked_prefill_size": 512})
    runners = [EagerTargetRunner(config, SingleRank(), device="cpu") for _ in range(2)]
    by_library, by_torch = runners
    by_library.plans.kept = RecentlyUsed(limit)
    by_torch.plans.recipes.writer = None
    random = Random(5)
    for _ in range(60):
        requests = random.randint(1, 48)
        tokens = random.randint(requests, 512)
        live = random.choice([decode_of(requests), extend_of(requests, tokens)])
        if random.random() < 0.3:
            live = replace(live, seq_lens_cpu=None)
        by_library.load(live)
        by_torch.load(live)
        for one, two in zip(*(each.registry.regions.arenas for each in runners), strict=True):
            assert torch.equal(one.storage, two.storage)
    assert len(by_library.plans.kept) <= limit


@pytest.mark.usefixtures("built")
def test_a_source_of_a_new_shape_is_looked_at_by_the_library_before_any_write() -> None:
    config = Config.from_arguments({"max_running_requests": 48, "chunked_prefill_size": 512})
    runner = EagerTargetRunner(config, SingleRank(), device="cpu")
    runner.load(extend_of(5, 9))
    for changed in (
        {"seq_lens": torch.ones(7)},
        {"seq_lens": torch.ones(6, dtype=torch.int32)},
        {"seq_lens": torch.ones(7, dtype=torch.int32, device="meta")},
        {"seq_lens": runner.registry.positions[:7].int().to_sparse()},
        {"positions": runner.registry.input_ids[:20].view(torch.int32)[:20]},
        {"seq_lens_cpu": None, "req_pool_indices": None},
    ):
        live = replace(extend_of(7, 20), **changed)  # type: ignore[arg-type]  # on purpose
        before = [arena.storage.clone() for arena in runner.registry.arenas]
        key = runner.plans.key(live, live.mode, True)
        extents = runner.extents(live)
        assert runner.plans.load_unseen(key, live, lambda extents=extents: extents) is None  # type: ignore[misc]  # bound now
        with pytest.raises(BatchError):
            runner.load(live)
        assert all(map(torch.equal, before, (a.storage for a in runner.registry.arenas)))


def test_slots_of_both_roles_are_written_by_one_call_or_not_at_all(built: Kernel) -> None:
    debug, shape = DebugOptions.of(False), SlotShape("seq_lens", (64,), torch.int64)
    layout = RunnerLayout.of(compute=[shape], host=[shape], debug=debug)
    regions = Regions.alone("runner", layout, device="cpu", debug=debug)
    slots = [each.slot("seq_lens") for each in (regions.compute, regions.host)]
    lengths = torch.arange(5)
    steps = [SlotLoad(slot, "seq_lens", (5,), 1) for slot in slots]
    load = LibraryWriter(built.open, regions).prepare(steps, [lengths, lengths.int()])
    assert load([lengths + 3, lengths.int() + 4])
    assert slots[0].tolist() == [3, 4, 5, 6, 7, *[1] * 59]
    assert slots[1].tolist() == [4, 5, 6, 7, 8, *[1] * 59]
    for wrong in (
        [lengths, lengths],
        [slots[1][:5], lengths.int()],
        [slots[0][1:6], lengths.int()],
    ):
        assert load(wrong) is False
    assert slots[0].tolist() == [3, 4, 5, 6, 7, *[1] * 59]


@pytest.mark.usefixtures("built")
def test_a_slot_of_more_dimensions_than_the_library_takes_is_loaded_by_torch() -> None:
    deep = Case((1,) * 7 + (2, 3), (1,) * 9, (1,) * 9, torch.int8, torch.int8, "dense", True, 0)
    assert isinstance(writer_for("eager.py", Loaded([PLAIN], "cpu").regions), LibraryWriter)
    assert isinstance(writer_for("eager.py", Loaded([PLAIN, deep], "cpu").regions), TorchWriter)


def test_a_shape_that_does_not_fit_its_slot_is_refused(built: Kernel) -> None:
    loaded = Loaded([PLAIN], "cpu")
    (slot,), (source,) = loaded.slots, loaded.sources
    slots = [WrittenSlot(slot, 0, 0, "source", 7)]
    writer = LibraryWriter(built.open, loaded.regions).of(slots, [source])
    for live, padded in (((20,), (65,)), ((20,), (19,)), ((-1,), (4,))):
        with pytest.raises(ValueError, match="does not fit"):
            writer.prepare(ShapedLoad(slots, [(live, padded)], [[slot]], ()), [source])
    for shape, other in (((20,), source.int()), ((19,), source)):
        shaped = ShapedLoad(slots, [(shape, (32,))], [[slot]], ())
        assert writer.prepare(shaped, [other]) is None
        assert not writer.write(shaped, [other])
    shaped = ShapedLoad(slots, [((20,), (32,))], [[slot]], ())
    assert writer.write(shaped, [source])
    assert slot[:32].tolist() == [*source.tolist(), *[7] * 12]
    load = writer.prepare(shaped, [source])
    assert load is not None
    assert load([source + 1])
    assert slot[:20].tolist() == (source + 1).tolist()
