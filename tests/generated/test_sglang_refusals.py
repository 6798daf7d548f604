"""When one rank of SGLang refuses its batch, no rank loads, and none waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from support.rank_processes import run_ranks
from support.sglang_engine import Recorder, decode_batch, two_ranks
from ullage_generated.sglang import EagerTargetRunner, LiveBatch, Mode, eager_target
from ullage_runtime.errors import BatchError, PeerError
from ullage_runtime.ranks import RecordedRanks, Refusal

SCRIPT = Path(__file__).with_name("refusal_process.py")
Played = list[Any]
"""What each process printed."""


def test_a_refused_batch_enters_its_exchange_with_the_refusal() -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)], [(4, 4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    with pytest.raises(BatchError, match="requests is 7, outside"):
        runner.load(decode_batch(7))
    assert ranks.entered == [("mlp_sync_rows", Refusal("U712"))]
    assert runner.load(decode_batch(3)).requests == 4


def test_a_batch_whose_peer_is_refused_is_not_loaded_and_no_step_runs_on_it() -> None:
    ranks = RecordedRanks(0, rounds=[[Refusal("U712")], [(4, 4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    before = [slot.clone() for slot in runner.registry.slots]
    engine = Recorder("needs_metadata")
    with pytest.raises(PeerError, match=r"The batch of rank 1 \(U712\) was refused"):
        runner.execute(decode_batch(3), engine)
    assert all(map(torch.equal, before, runner.registry.slots))
    assert engine.batches == []
    assert runner.load(decode_batch(3)).requests == 4


WRONG_SOURCES: Mapping[str, dict[str, torch.Tensor | None]] = {
    "U713": {"positions": None},
    "U714": {"seq_lens": torch.arange(12, 15, dtype=torch.int16)},
    "U715": {"seq_lens": torch.empty(3, dtype=torch.int64, device="meta")},
    "U716": {"out_cache_loc": torch.arange(21, 25)},
}


@pytest.mark.parametrize("code", WRONG_SOURCES)
def test_a_wrong_source_enters_the_exchange_as_a_refusal_and_nothing_is_written(code: str) -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)], [(4, 4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    before = [slot.clone() for slot in runner.registry.slots]
    engine = Recorder("needs_metadata")
    with pytest.raises(BatchError, match=code):
        runner.execute(replace(decode_batch(3), **WRONG_SOURCES[code]), engine)
    assert ranks.entered == [("mlp_sync_rows", Refusal(code))]
    assert all(map(torch.equal, before, runner.registry.slots))
    assert engine.batches == []
    assert runner.load(decode_batch(3)).requests == 4


def test_a_source_that_the_load_would_overwrite_is_refused_before_the_exchange() -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    with pytest.raises(BatchError, match="U718"):
        runner.load(replace(decode_batch(3), positions=runner.registry.input_ids[:3]))
    assert ranks.entered == [("mlp_sync_rows", Refusal("U718"))]


def test_a_value_out_of_range_is_refused_before_the_exchange_in_debug_mode() -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu", debug=True)
    with pytest.raises(BatchError, match="seq_lens holds -9 at element 1"):
        runner.load(replace(decode_batch(3), seq_lens=torch.tensor([12, -9, 14])))
    assert ranks.entered == [("mlp_sync_rows", Refusal("U712"))]


def test_an_idle_rank_with_a_wrong_source_refuses_too() -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    with pytest.raises(BatchError, match="U716"):
        runner.load(LiveBatch(mode=Mode.IDLE, input_ids=torch.arange(1, 3)))
    assert ranks.entered == [("mlp_sync_rows", Refusal("U716"))]


def test_extents_alone_ask_nothing_of_sources() -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    live = LiveBatch(mode=Mode.DECODE, batch_size=3)
    assert runner.extents(live).padded.requests == 4


def test_sources_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    check = eager_target.check_source

    def noted(mode: str, slot: str, source: torch.Tensor | None, **given: Any) -> torch.Tensor:
        seen.append(slot)
        return check(mode, slot, source, **given)

    monkeypatch.setattr(eager_target, "check_source", noted)
    ranks = RecordedRanks(0, rounds=[[(4, 4, 4)]], count=2)
    EagerTargetRunner(two_ranks(), ranks, device="cpu").execute(decode_batch(3), Recorder())
    assert len(seen) == len(set(seen)) > 0


@pytest.fixture(scope="module", params=["plain", "in_debug_mode"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """What two processes say of a batch that is too large and of a wrong source, each then idle."""
    return run_ranks(SCRIPT, request.param, "gloo", tmp_path_factory.mktemp("ranks"))


@pytest.mark.slow
def test_both_processes_raise_for_a_batch_that_is_too_large_and_both_go_on(played: Played) -> None:
    told, refused = played
    assert told[:2] == [
        [
            "U720",
            "U720: The batch of rank 1 (U712) was refused in mlp_sync_rows, so that no rank of "
            "the group loads. Nothing was written.",
            False,
        ],
        [3, 3, 3],
    ]
    assert refused[:2] == [
        [
            "U712",
            "U712: Mode 'decode': requests is 7, outside [1, 6]; the upper end is "
            "max_running_requests = 6 (specs/sglang/modes/decode.yaml:7). Nothing was written.",
            False,
        ],
        [0, 3, 3],
    ]


@pytest.mark.slow
def test_both_processes_raise_for_a_wrong_source_and_both_go_on(played: Played) -> None:
    told, refused = (each[2:] for each in played)
    assert told[0][0::2] == ["U720", False]
    assert "rank 1 (U714)" in told[0][1]
    assert refused[0][0::2] == ["U714", False]
    assert "accepts torch.int64 or torch.int32" in refused[0][1]
    assert told[1] == [3, 3, 3]
    assert refused[1] == [0, 3, 3]
