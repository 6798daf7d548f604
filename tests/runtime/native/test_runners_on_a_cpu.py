"""Runners on a CPU: with the library that somebody has built, every slot is written by one call."""

from __future__ import annotations

import pytest
import torch

from support.load_libraries import Kernel, building_environment, needs_host_compiler
from support.slot_loads import Case, Loaded
from ullage_generated.sglang import Config, DecodeGraphTargetRunner, LiveBatch, Mode
from ullage_runtime.arena import SlotShape
from ullage_runtime.arena_regions import Regions, RunnerLayout
from ullage_runtime.debug import DebugOptions
from ullage_runtime.loader import SlotLoad
from ullage_runtime.native.writer import LibraryWriter, writer_for
from ullage_runtime.ranks import SingleRank
from ullage_runtime.torch_writer import TorchWriter

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
    assert isinstance(by_library._writer, LibraryWriter)
    by_torch._writer = TorchWriter(by_torch.registry.regions.addresses)
    for requests in (48, 3, 3, 17, 1, 48, 3):
        live = decode_of(requests)
        for runner in runners:
            runner.load(live)
        for one, two in zip(*(each.registry.regions.arenas for each in runners), strict=True):
            assert torch.equal(one.storage, two.storage), f"{requests} requests"


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
