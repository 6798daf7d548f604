"""When one rank of SGLang refuses its batch, no rank loads, and none waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from support.rank_processes import run_ranks
from support.sglang_engine import Recorder, decode_batch, two_ranks
from ullage_generated.sglang import EagerTargetRunner
from ullage_runtime.errors import BatchError, PeerError
from ullage_runtime.ranks import RecordedRanks, Refusal

SCRIPT = Path(__file__).with_name("refusal_process.py")


def test_a_refused_batch_enters_its_exchange_with_the_refusal() -> None:
    ranks = RecordedRanks(0, rounds=[[(4, 4)], [(4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    with pytest.raises(BatchError, match="requests is 7, outside"):
        runner.load(decode_batch(7))
    assert ranks.entered == [("mlp_sync_rows", Refusal("U712"))]
    assert runner.load(decode_batch(3)).requests == 4


def test_a_batch_whose_peer_is_refused_is_not_loaded_and_no_step_runs_on_it() -> None:
    ranks = RecordedRanks(0, rounds=[[Refusal("U712")], [(4, 4)]], count=2)
    runner = EagerTargetRunner(two_ranks(), ranks, device="cpu")
    before = [slot.clone() for slot in runner.registry.slots]
    engine = Recorder("needs_metadata")
    with pytest.raises(PeerError, match=r"The batch of rank 1 \(U712\) was refused"):
        runner.execute(decode_batch(3), engine)
    assert all(map(torch.equal, before, runner.registry.slots))
    assert engine.batches == []
    assert runner.load(decode_batch(3)).requests == 4


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["plain", "in_debug_mode"])
def test_both_processes_raise_and_both_go_on(tmp_path: Path, scenario: str) -> None:
    told, refused = run_ranks(SCRIPT, scenario, "gloo", tmp_path)
    assert told == [
        [
            "U720",
            "U720: The batch of rank 1 (U712) was refused in mlp_sync_rows, so that no rank of "
            "the group loads. Nothing was written.",
            False,
        ],
        [3, 3, 3],
    ]
    assert refused == [
        [
            "U712",
            "U712: Mode 'decode': requests is 7, outside [1, 6]; the upper end is "
            "max_running_requests = 6 (specs/sglang/modes/decode.yaml:7). Nothing was written.",
            False,
        ],
        [0, 3, 3],
    ]
