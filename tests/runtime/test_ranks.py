from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from support.rank_processes import run_ranks
from ullage_runtime import ranks as module
from ullage_runtime.errors import BatchError, PeerError
from ullage_runtime.ranks import Ranks, RecordedRanks, Refusal, SingleRank

SCRIPT = Path(__file__).with_name("rank_process.py")
TOO_MANY = BatchError("U712", "decode", "requests", "is 9", place="decode.yaml:7")


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


def test_a_refusal_of_others_reaches_this_rank_instead_of_their_counts() -> None:
    ranks = RecordedRanks(
        1, rounds=[[(3,), Refusal("U712")], [Refusal("U711"), Refusal("U712")]], count=3
    )
    with pytest.raises(PeerError) as caught:
        ranks.max_of(5, collective="mlp_sync")
    assert str(caught.value) == (
        "U720: The batch of rank 2 (U712) was refused in mlp_sync, so that no rank of the group "
        "loads. Nothing was written."
    )
    assert (caught.value.refused, caught.value.collective) == ({2: "U712"}, "mlp_sync")
    with pytest.raises(PeerError, match=r"rank 0 \(U711\) and rank 2 \(U712\)"):
        ranks.sum_of(5, 6)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_rank_that_refuses_enters_the_exchange_and_gets_no_error_from_it() -> None:
    ranks = RecordedRanks(0, rounds=[[(3, 4)], [Refusal("U713")], [(6,)]], count=2)
    ranks.refuse(TOO_MANY, 2, collective="mlp_sync")
    ranks.refuse(TOO_MANY, 1)
    assert ranks.max_of(5) == (6,)
    assert ranks.entered == [("mlp_sync", Refusal("U712")), ("", Refusal("U712")), ("", (5,))]
    with pytest.raises(ValueError, match="does not fit 2 values of 2 ranks"):
        RecordedRanks(0, rounds=[[(3,)]], count=2).refuse(TOO_MANY, 2)


def test_a_rank_that_is_alone_refuses_for_itself() -> None:
    SingleRank().refuse(TOO_MANY, 2, collective="mlp_sync")


def test_older_versions_of_torch_gather_under_the_older_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(dist, "all_gather_single", raising=False)
    spec = importlib.util.spec_from_file_location("ranks_of_older_torch", module.__file__)
    assert spec is not None
    assert spec.loader is not None
    older = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, older)
    spec.loader.exec_module(older)
    assert older._gather_into is dist.all_gather_into_tensor


@pytest.fixture(scope="module", params=["gloo", pytest.param("nccl", marks=pytest.mark.gpu)])
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Sequence[Mapping[str, object]]:
    """What each of two processes prints of each scenario, by name."""
    if request.param == "nccl" and torch.cuda.device_count() < 2:
        pytest.skip("needs two CUDA devices")
    return run_ranks(SCRIPT, "all", request.param, tmp_path_factory.mktemp("ranks"))


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["exchange", "exchange_in_debug_mode"])
def test_distributed_ranks_agree_with_uneven_and_idle_ranks(
    played: Sequence[Mapping[str, object]], scenario: str
) -> None:
    busy, idle = (each[scenario] for each in played)
    common = [[5, 1, 2**40 + 1], [5, 6], [[5, 0], [0, 1]], [[], []], [6]]
    assert busy == [[0, 2], *common]
    assert idle == [[1, 2], *common]


@pytest.mark.slow
def test_ranks_in_different_collectives_get_an_error_instead_of_a_hang(
    played: Sequence[Mapping[str, object]],
) -> None:
    message = (
        "U734: The ranks entered different collectives "
        "(rank 0: split_prefill (1 value), rank 1: mlp_sync (2 values))."
    )
    assert [each["different_collectives"] for each in played] == [message, message]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["refusal", "refusal_in_debug_mode"])
def test_a_refusal_reaches_the_other_rank_and_both_go_on(
    played: Sequence[Mapping[str, object]], scenario: str
) -> None:
    told, refusing = (each[scenario] for each in played)
    message = (
        "U720: The batch of rank 1 (U712) was refused in mlp_sync, so that no rank of the group "
        "loads. Nothing was written."
    )
    assert told == [message, [5, 7]]
    assert refusing == ["no error", [5, 7]]
