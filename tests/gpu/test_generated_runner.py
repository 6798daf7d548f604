"""A generated runner on a device: its kernel leaves the bytes that torch leaves."""

from __future__ import annotations

import pytest
import torch

from ullage_generated.sglang import Config, EagerTargetRunner, LiveBatch, Mode
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
