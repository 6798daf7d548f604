"""One rank of a group of two: plays all scenarios and prints their results as JSON, by name.

Run by test_ranks.py as `rank_process.py all BACKEND RANK RENDEZVOUS_FILE`, once for each rank.
"""

from __future__ import annotations

import json
import sys

import torch.distributed as dist

from support.rank_processes import join_group
from ullage_runtime.errors import BatchError, DebugError, PeerError
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


def refuse_once(rank: int, device: str, check_order: bool) -> list[object]:
    """The second rank refuses its batch; then both go on."""
    ranks: Ranks = DistributedRanks(None, device, check_order=check_order)
    seen: list[object] = []
    try:
        if rank == 1:
            refusal = BatchError("U712", "decode", "requests", "is 9", place="decode.yaml:7")
            ranks.refuse(refusal, 2, collective="mlp_sync")
        else:
            ranks.max_of(3, 4, collective="mlp_sync")
        seen.append("no error")
    except PeerError as error:
        seen.append(str(error))
    return [*seen, ranks.max_of(COUNTS[rank], 7, collective="mlp_sync")]


def play(rank: int, device: str) -> dict[str, object]:
    return {
        "exchange": exchange(rank, device, False),
        "exchange_in_debug_mode": exchange(rank, device, True),
        "refusal": refuse_once(rank, device, False),
        "refusal_in_debug_mode": refuse_once(rank, device, True),
        "different_collectives": enter_different_collectives(rank, device),
    }


def main() -> None:
    _, backend, rank, rendezvous = sys.argv[1:]
    device = join_group(backend, int(rank), rendezvous)
    results = play(int(rank), device)
    dist.destroy_process_group()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
