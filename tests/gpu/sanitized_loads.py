"""A process that compute-sanitizer watches: random loads into poisoned buffers.

Batches lie on the device, on the host, or here and there; their sources begin anywhere in what
they are cut from, so that the kernel meets every alignment. Exits with 1 if a loaded row is wrong.
"""

from __future__ import annotations

import random
import sys

import torch
from torch import Tensor

from ullage_generated.sglang import Config, EagerTargetRunner, LiveBatch, Mode
from ullage_runtime.native.writer import LibraryWriter
from ullage_runtime.ranks import SingleRank

LOADS = 60
POISON = 0xA5
FIELDS = ("input_ids", "positions", "out_cache_loc", "req_pool_indices", "seq_lens")


def drawn(choice: random.Random, rows: int, low: int, on_host: bool) -> Tensor:
    """Values of a source that begins at some element of its storage."""
    offset = choice.randrange(3)
    values = torch.tensor([choice.randrange(low, 900) for _ in range(rows + offset)])
    return (values if on_host else values.cuda())[offset:]


def batch_of(choice: random.Random) -> LiveBatch:
    rows = choice.choice((1, 2, 3, 7, 8, 31, 48))
    somewhere = choice.choice((0.0, 0.5, 1.0))
    sources = {name: drawn(choice, rows, 1, on_host=choice.random() < somewhere) for name in FIELDS}
    return LiveBatch(
        mode=Mode.DECODE,
        batch_size=rows,
        input_ids=sources["input_ids"],
        positions=sources["positions"],
        out_cache_loc=sources["out_cache_loc"],
        req_pool_indices=sources["req_pool_indices"],
        seq_lens=sources["seq_lens"],
    )


def main() -> int:
    config = Config.from_arguments({"max_running_requests": 48, "chunked_prefill_size": 512})
    runner = EagerTargetRunner(config, SingleRank(), device="cuda")
    if not isinstance(runner.plans.recipes.writer, LibraryWriter):
        print("there is no kernel")
        return 1
    choice = random.Random(3)
    for number in range(LOADS):
        for arena in runner.registry.regions.arenas:
            arena.storage.fill_(POISON)
        live = batch_of(choice)
        batch = runner.load(live)
        for name in FIELDS:
            if getattr(batch, name).tolist() != getattr(live, name).tolist():
                print(f"load {number}: {name} is wrong")
                return 1
    print(f"{LOADS} loads")
    return 0


if __name__ == "__main__":
    sys.exit(main())
