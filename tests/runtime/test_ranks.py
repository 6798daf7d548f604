from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from ullage_runtime.errors import DebugError
from ullage_runtime.ranks import DistributedRanks, Ranks, RecordedRanks, SingleRank

COUNTS = (5, 0)
"""Uneven, and the second rank is idle."""


def test_a_single_rank_is_the_identity() -> None:
    ranks: Ranks = SingleRank()
    assert (ranks.rank, ranks.count) == (0, 1)
    assert ranks.max_of(3, 7, collective="mlp_sync") == (3, 7)
    assert ranks.sum_of(3) == (3,)
    assert ranks.gather(3, 7) == ((3, 7),)


def test_recorded_ranks_put_this_rank_between_its_peers() -> None:
    ranks: Ranks = RecordedRanks(1, rounds=[[(4, 9), (0, 2)]] * 3, count=3)
    assert ranks.gather(5, 1) == ((4, 9), (5, 1), (0, 2))
    assert ranks.max_of(5, 1) == (5, 9)
    assert ranks.sum_of(5, 1) == (9, 12)


def test_recorded_ranks_remember_what_was_entered_in_order() -> None:
    ranks = RecordedRanks(0, rounds=[[(4,)], [(6,)]], count=2)
    ranks.max_of(3, collective="mlp_sync")
    ranks.sum_of(2, collective="late")
    assert ranks.entered == [("mlp_sync", (3,)), ("late", (2,))]


def test_recorded_ranks_refuse_a_round_that_does_not_match() -> None:
    ranks = RecordedRanks(0, rounds=[[(4,)]], count=2)
    with pytest.raises(ValueError, match="does not fit 2 values of 2 ranks"):
        ranks.max_of(1, 2)
    with pytest.raises(ValueError, match="'late' is one more"):
        ranks.max_of(1, collective="late")
    with pytest.raises(ValueError, match="not one of 2 ranks"):
        RecordedRanks(2, rounds=[], count=2)


def join_group(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=len(COUNTS),
        timeout=timedelta(seconds=60),
    )


def exchange_counts(rank: int, folder: str, check_order: bool) -> None:
    join_group(rank, folder)
    ranks: Ranks = DistributedRanks(None, "cpu", check_order=check_order)
    mine = COUNTS[rank]
    results = [
        (ranks.rank, ranks.count),
        ranks.max_of(mine, rank, 2**40 + rank, collective="mlp_sync"),
        ranks.sum_of(mine, 3, collective="tokens"),
        ranks.gather(mine, rank, collective="again"),
        ranks.gather(collective="nothing"),
        ranks.max_of(mine + 1, collective="mlp_sync"),
    ]
    dist.destroy_process_group()
    expected = [
        (rank, 2),
        (5, 1, 2**40 + 1),
        (5, 6),
        ((5, 0), (0, 1)),
        ((), ()),
        (6,),
    ]
    if results != expected:
        raise ValueError(f"rank {rank} got {results}")


def enter_different_collectives(rank: int, folder: str) -> None:
    join_group(rank, folder)
    ranks = DistributedRanks(None, "cpu", check_order=True)
    ranks.max_of(COUNTS[rank], collective="mlp_sync")
    with pytest.raises(DebugError) as caught:
        ranks.max_of(*range(rank + 1), collective=("split_prefill", "mlp_sync")[rank])
    dist.destroy_process_group()
    expected = (
        "U734: The ranks entered different collectives "
        "(rank 0: split_prefill (1 values), rank 1: mlp_sync (2 values))."
    )
    if str(caught.value) != expected:
        raise ValueError(f"rank {rank} got {caught.value}")


@pytest.mark.slow
@pytest.mark.parametrize("check_order", [False, True])
def test_distributed_ranks_agree_with_uneven_and_idle_ranks(
    tmp_path: Path, check_order: bool
) -> None:
    mp.spawn(exchange_counts, args=(str(tmp_path), check_order), nprocs=len(COUNTS))


@pytest.mark.slow
def test_ranks_in_different_collectives_get_an_error_instead_of_a_hang(tmp_path: Path) -> None:
    mp.spawn(enter_different_collectives, args=(str(tmp_path),), nprocs=len(COUNTS))
