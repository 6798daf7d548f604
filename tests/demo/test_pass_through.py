from __future__ import annotations

import pytest
import torch

from ullage_demo.batches import Window, window_batch
from ullage_demo.paged_kv import RequestTable
from ullage_demo.pass_through import PassThroughRunner
from ullage_demo.seam import LiveBatch, Mode
from ullage_runtime.errors import CapacityError
from ullage_runtime.ranks import RecordedRanks


def batch(mode: Mode, *lengths: int) -> LiveBatch:
    table = RequestTable(len(lengths), 40, 5 * len(lengths) or 1, 8)
    windows = [
        Window(table.admit(30), 4 + number, tuple(range(7, 7 + length)))
        for number, length in enumerate(lengths)
    ]
    return window_batch(mode, table, windows)


def test_the_head_is_copied_and_the_tail_is_filled() -> None:
    runner = PassThroughRunner(4, 12, alignment=4)
    runner.load(batch(Mode.EXTEND, 3, 3, 3, 3))
    live = batch(Mode.EXTEND, 2, 3)
    padded = runner.load(live)
    assert (padded.live_requests, padded.requests) == (2, 4)
    assert (padded.live_tokens, padded.tokens) == (5, 8)
    assert live.out_cache_loc is not None
    assert padded.out_cache_loc is not None
    assert padded.out_cache_loc.tolist() == [*live.out_cache_loc.tolist(), 0, 0, 0]
    assert padded.positions is not None
    assert padded.positions.tolist() == [4, 5, 5, 6, 7, 0, 0, 0]
    assert padded.seq_lens is not None
    assert padded.seq_lens.tolist() == [6, 8, 1, 1]
    assert padded.extend_seq_lens is not None
    assert padded.extend_seq_lens.dtype is torch.int32
    assert padded.extend_seq_lens.tolist() == [2, 3, 0, 0]


def test_a_batch_that_does_not_fit_changes_nothing() -> None:
    runner = PassThroughRunner(3, 4)
    before = runner.load(batch(Mode.DECODE, 1, 1, 1))
    assert before.seq_lens is not None
    kept = before.seq_lens.clone()
    with pytest.raises(CapacityError, match=r"'decode' needs 4 requests, but .* hold 3"):
        runner.load(batch(Mode.DECODE, 1, 1, 1, 1))
    assert torch.equal(before.seq_lens, kept)


def test_requests_follow_from_the_tokens_of_the_busiest_rank() -> None:
    ranks = RecordedRanks(0, rounds=[[(12,)], [(12,)]], count=2)
    runner = PassThroughRunner(12, 12, ranks=ranks)
    verify = runner.load(batch(Mode.TARGET_VERIFY, 4, 4))
    assert (verify.requests, verify.tokens) == (3, 12)
    idle = runner.load(batch(Mode.IDLE))
    assert (idle.live_requests, idle.requests, idle.tokens) == (0, 12, 12)


def test_beside_an_extend_rows_stay_and_an_idle_rank_has_one() -> None:
    ranks = RecordedRanks(1, rounds=[[(9,)], [(9,)]], count=2)
    runner = PassThroughRunner(4, 12, ranks=ranks)
    decode = runner.load(batch(Mode.DECODE_BESIDE_EXTEND, 1, 1))
    assert (decode.requests, decode.tokens) == (2, 9)
    idle = runner.load(batch(Mode.IDLE_BESIDE_EXTEND))
    assert (idle.live_requests, idle.requests, idle.tokens) == (0, 1, 9)
    assert idle.seq_lens is not None
    assert idle.seq_lens.tolist() == [1]


def test_a_mixed_batch_says_how_it_is_made_up() -> None:
    table = RequestTable(3, 40, 15, 8)
    rows = [table.admit(30) for _ in range(3)]
    windows = [
        Window(rows[0], 0, (5, 6, 7)),
        Window(rows[1], 4, (8, 9)),
        Window(rows[2], 6, (3,)),
    ]
    live = window_batch(Mode.MIXED, table, windows, decodes=1)
    assert (live.running_requests, live.prefill_requests, live.prefill_tokens) == (1, 2, 5)
