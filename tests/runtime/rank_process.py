"""One rank of a group of two: plays a scenario and prints its results as JSON.

Run by test_ranks.py as `rank_process.py SCENARIO BACKEND RANK RENDEZVOUS_FILE`, once for each rank.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from ullage_runtime.errors import DebugError
from ullage_runtime.ranks import DistributedRanks, Ranks

COUNTS = (5, 0)
"""Uneven, and the second rank is idle."""


def exchange(rank: int, device: str, check_order: bool) -> list[object]:
    ranks: Ranks = DistributedRanks(None, device, check_order=check_order)
    mine = COUNTS[rank]
    return [
        (ranks.rank, ranks.count),
        ranks.max_of(mine, rank, 2**40 + rank, collective="mlp_sync"),
        ranks.sum_of(mine, 3, collective="tokens"),
        ranks.gather(mine, rank, collective="again"),
        ranks.gather(collective="nothing"),
        ranks.max_of(mine + 1, collective="mlp_sync"),
    ]


def enter_different_collectives(rank: int, device: str) -> str:
    ranks = DistributedRanks(None, device, check_order=True)
    ranks.max_of(COUNTS[rank], collective="mlp_sync")
    try:
        ranks.max_of(*range(rank + 1), collective=("split_prefill", "mlp_sync")[rank])
    except DebugError as error:
        return str(error)
    return "no error"


def play(scenario: str, rank: int, device: str) -> object:
    if scenario == "different_collectives":
        return enter_different_collectives(rank, device)
    return exchange(rank, device, check_order=scenario == "exchange_in_debug_mode")


def main() -> None:
    scenario, backend, rank, rendezvous = sys.argv[1:]
    torch.set_num_threads(1)
    device = "cpu" if backend == "gloo" else f"cuda:{rank}"
    if backend != "gloo":
        torch.cuda.set_device(int(rank))
    dist.init_process_group(
        backend,
        init_method=f"file://{rendezvous}",
        rank=int(rank),
        world_size=len(COUNTS),
        timeout=timedelta(seconds=60),
    )
    result = play(scenario, int(rank), device)
    dist.destroy_process_group()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
