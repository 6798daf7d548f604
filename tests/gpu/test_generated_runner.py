"""A generated runner on a device: its kernel leaves the bytes that torch leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ullage_generated.sglang import Config, EagerTargetRunner, LiveBatch, Mode
from ullage_runtime.native.library import LaunchError
from ullage_runtime.native.writer import LibraryWriter
from ullage_runtime.ranks import SingleRank
from ullage_runtime.torch_writer import TorchWriter

CONFIG = Config.from_arguments({"max_running_requests": 48, "chunked_prefill_size": 8192})


def decode_of(requests: int, seed: int) -> LiveBatch:
    generator = torch.Generator().manual_seed(seed)

    def drawn(low: int, high: int) -> torch.Tensor:
        return torch.randint(low, high, (requests,), generator=generator).cuda()

    lengths = drawn(2, 900)
    return LiveBatch(
        mode=Mode.DECODE,
        batch_size=requests,
        input_ids=drawn(0, 30_000),
        positions=lengths - 1,
        out_cache_loc=drawn(1, 5000),
        req_pool_indices=torch.arange(requests, device="cuda"),
        seq_lens=lengths,
    )


@pytest.fixture(scope="module")
def runner() -> EagerTargetRunner:
    return EagerTargetRunner(CONFIG, SingleRank(), device="cuda")


def test_a_runner_on_a_device_has_its_kernel(runner: EagerTargetRunner) -> None:
    assert isinstance(runner.plans.recipes.writer, LibraryWriter)


def test_every_load_leaves_the_bytes_that_torch_leaves(runner: EagerTargetRunner) -> None:
    other = EagerTargetRunner(CONFIG, SingleRank(), device="cuda")
    other.plans.recipes.writer = TorchWriter(other.registry.regions.addresses)
    for seed, requests in enumerate((48, 3, 3, 17, 1, 48, 3)):
        live = decode_of(requests, seed)
        runner.load(live)
        other.load(live)
        for one, two in zip(
            runner.registry.regions.arenas, other.registry.regions.arenas, strict=True
        ):
            assert torch.equal(one.storage, two.storage), f"{requests} requests"


def on_host(live: LiveBatch) -> LiveBatch:
    """The same batch, from a scheduler that keeps it on the host."""
    tensors = {
        name: value.cpu()
        for name in ("input_ids", "positions", "out_cache_loc", "req_pool_indices", "seq_lens")
        if (value := getattr(live, name)) is not None
    }
    return replace(live, **tensors)


def test_batches_of_the_host_are_loaded_as_those_of_the_device(runner: EagerTargetRunner) -> None:
    """They go through the same blocks again and again, without the host waiting for the device."""
    other = EagerTargetRunner(CONFIG, SingleRank(), device="cuda")
    for seed, requests in enumerate((48, 3, 3, 17, 1, 48, 3) * 30):
        live = decode_of(requests, seed)
        runner.load(on_host(live))
        other.load(live)
        for one, two in zip(
            runner.registry.regions.arenas, other.registry.regions.arenas, strict=True
        ):
            assert torch.equal(one.storage, two.storage), f"{requests} requests"


def test_a_ring_is_not_packed_again_while_the_device_is_behind(runner: EagerTargetRunner) -> None:
    """The stream is held up, so that each load is queued behind the last one: more than its ring
    has room for."""
    lives = [on_host(decode_of(48, seed)) for seed in range(300)]
    loaded = []
    runner.load(lives[0])
    torch.cuda.synchronize()
    torch.cuda._sleep(200_000_000)
    for live in lives:
        batch = runner.load(live)
        assert batch.input_ids is not None
        loaded.append(batch.input_ids.clone())
    for live, ids in zip(lives, loaded, strict=True):
        assert torch.equal(ids.cpu(), live.input_ids)


def test_one_batch_may_lie_here_and_there(runner: EagerTargetRunner) -> None:
    live = decode_of(9, 3)
    assert live.positions is not None
    batch = runner.load(replace(live, positions=live.positions.cpu()))
    assert torch.equal(batch.positions, live.positions)
    assert torch.equal(batch.input_ids, live.input_ids)


@pytest.mark.parametrize("made_by", ["torch", "others"])
def test_batches_of_the_host_go_to_whichever_stream_is_current(
    runner: EagerTargetRunner, made_by: str
) -> None:
    lives = [on_host(decode_of(16, seed)) for seed in range(24)]
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    if made_by == "others":
        streams = [torch.cuda.ExternalStream(each.cuda_stream) for each in streams]
    loaded = []
    torch.cuda.synchronize()
    for turn, live in enumerate(lives):
        stream = streams[turn % 2]
        stream.wait_stream(streams[1 - turn % 2])
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            batch = runner.load(live)
            assert batch.input_ids is not None
            loaded.append(batch.input_ids.clone())
    torch.cuda.synchronize()
    for live, ids in zip(lives, loaded, strict=True):
        assert torch.equal(ids.cpu(), live.input_ids)


def test_a_capture_is_no_time_to_load_from_the_host(runner: EagerTargetRunner) -> None:
    live = on_host(decode_of(5, 1))
    runner.load(live)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.zeros(1, device="cuda")  # so that it is no empty graph
        with pytest.raises(LaunchError, match="while a graph is captured"):
            runner.load(live)
    assert torch.equal(runner.load(live).input_ids.cpu(), live.input_ids)
