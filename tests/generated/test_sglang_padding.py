"""Ranks decide together whether they are padded alike, and all of them the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from support.rank_threads import Meeting, ThreadRanks, at_once
from support.sglang_engine import decode_batch
from ullage_generated.sglang import Config, EagerTargetBatch, EagerTargetRunner, LiveBatch, Mode


def loaded(config: Config, batches: Sequence[LiveBatch]) -> list[EagerTargetBatch]:
    """What each rank loads, all of them at once."""
    meeting = Meeting(len(batches))
    runners = [
        EagerTargetRunner(config, ThreadRanks(meeting, rank), device="cpu", debug=True)
        for rank in range(len(batches))
    ]
    found = at_once(
        [
            lambda runner=runner, live=live: runner.load(live)
            for runner, live in zip(runners, batches, strict=True)
        ]  # type: ignore[misc]  # defaults bind the loop variables
    )
    assert meeting.exchanges == 1
    return [each for each in found if isinstance(each, EagerTargetBatch)]


def three_ranks(**arguments: object) -> Config:
    given = {"enable_dp_attention": True, "tp_size": 3, "attn_dp_size": 3}
    small = {"max_running_requests": 6, "max_total_tokens_target": 64, "chunked_prefill_size": 16}
    return Config.from_arguments({**given, **small, **arguments})


def decodes(*counts: int) -> list[LiveBatch]:
    return [decode_batch(each) if each else LiveBatch(mode=Mode.IDLE) for each in counts]


CASES: dict[str, tuple[dict[str, object], tuple[int, int, int], tuple[int, int, int]]] = {
    "enough work on all": ({}, (5, 2, 1), (5, 5, 5)),
    "one rank has nearly all": ({}, (5, 1, 1), (5, 1, 1)),
    "an idle rank joins": ({}, (5, 3, 0), (5, 5, 5)),
    "an idle rank stays idle": ({}, (5, 2, 0), (5, 2, 0)),
    "always alike": ({"pad_to_largest_always": True}, (5, 1, 0), (5, 5, 5)),
    "few tokens are reduced at once": ({"custom_all_reduce_tokens": 8}, (5, 2, 1), (5, 2, 1)),
}


@pytest.mark.parametrize("case", CASES)
def test_all_ranks_take_the_largest_count_or_each_its_own(case: str) -> None:
    arguments, counts, expected = CASES[case]
    found = loaded(three_ranks(**arguments), decodes(*counts))
    assert [(each.live_requests, each.requests, each.tokens) for each in found] == [
        (own, rows, rows) for own, rows in zip(counts, expected, strict=True)
    ]


def extend(tokens: int) -> LiveBatch:
    return LiveBatch(
        mode=Mode.EXTEND,
        batch_size=1,
        input_ids=torch.arange(3, 3 + tokens),
        positions=torch.arange(1, 1 + tokens),
        out_cache_loc=torch.arange(7, 7 + tokens),
        req_pool_indices=torch.tensor([4]),
        seq_lens=torch.tensor([tokens]),
        extend_seq_lens=torch.tensor([tokens]),
        extend_prefix_lens=torch.tensor([0]),
    )


@pytest.mark.parametrize("pads_idle", [False, True])
def test_beside_an_extend_an_idle_rank_carries_a_request_where_it_gets_tokens(
    pads_idle: bool,
) -> None:
    beside = replace(decode_batch(2), mode=Mode.DECODE_BESIDE_EXTEND)
    beside = replace(
        beside, extend_seq_lens=torch.tensor([1, 1]), extend_prefix_lens=torch.tensor([8, 9])
    )
    idle = LiveBatch(mode=Mode.IDLE_BESIDE_EXTEND)
    found = loaded(three_ranks(pad_idle_ranks=pads_idle), [extend(9), beside, idle])
    rows = [(each.requests, each.tokens) for each in found]
    assert rows == ([(1, 9), (2, 9), (1, 9)] if pads_idle else [(1, 9), (2, 2), (0, 0)])
