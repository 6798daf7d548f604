from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ullage_runtime.ranks import Ranks, RecordedRanks, SingleRank


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


@pytest.fixture(params=["gloo", pytest.param("nccl", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "nccl" and torch.cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["exchange", "exchange_in_debug_mode"])
def test_distributed_ranks_agree_with_uneven_and_idle_ranks(
    tmp_path: Path, backend: str, scenario: str
) -> None:
    (busy, idle) = run_ranks(scenario, backend, tmp_path)
    common = [[5, 1, 2**40 + 1], [5, 6], [[5, 0], [0, 1]], [[], []], [6]]
    assert busy == [[0, 2], *common]
    assert idle == [[1, 2], *common]


@pytest.mark.slow
def test_ranks_in_different_collectives_get_an_error_instead_of_a_hang(
    tmp_path: Path, backend: str
) -> None:
    message = (
        "U734: The ranks entered different collectives "
        "(rank 0: split_prefill (1 value), rank 1: mlp_sync (2 values))."
    )
    assert run_ranks("different_collectives", backend, tmp_path) == [message, message]


def run_ranks(scenario: str, backend: str, folder: Path) -> list[object]:
    """What each of two processes printed, as JSON, after playing `scenario` of rank_process.py."""
    script = Path(__file__).with_name("rank_process.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), scenario, backend, str(rank), str(folder / "rendezvous")],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    results: list[object] = []
    try:
        for process in processes:
            printed, _ = process.communicate(timeout=120)
            assert process.returncode == 0
            results.append(json.loads(printed))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return results
