"""Decodes beside prompts: in the graph of all ranks, or in the eager runner as they are."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from support.sglang_engine import Peers
from ullage_generated.sglang import (
    Config,
    EagerTargetRunner,
    LiveBatch,
    Mode,
    PrefillGraphTargetRunner,
    TargetRunners,
)


@dataclass(frozen=True)
class Votes:
    """What the engine says of a batch: whether another rank cannot replay a graph."""

    against: bool

    def replaced_embeds(self, _batch: LiveBatch, /) -> bool:
        return False

    def outvoted(self, _batch: LiveBatch, /) -> bool:
        return self.against

    def uncapturable(self, _batch: LiveBatch, /) -> bool:
        return False


def decodes(requests: int) -> LiveBatch:
    """Decode rows as extends of one token each."""
    rows = torch.arange(1, requests + 1)
    return LiveBatch(
        mode=Mode.DECODE_BESIDE_EXTEND,
        batch_size=requests,
        input_ids=rows,
        positions=rows + 10,
        out_cache_loc=rows + 20,
        req_pool_indices=rows,
        seq_lens=rows + 11,
        extend_seq_lens=torch.ones_like(rows),
        extend_prefix_lens=rows + 10,
    )


def runners(prompts: int) -> TargetRunners:
    """The runners of one of two ranks, the other of which extends by so many tokens."""
    config = Config.of(
        enable_dp_attention=True,
        tp_size=2,
        attn_dp_size=2,
        max_running_requests=6,
        max_total_tokens_target=64,
        chunked_prefill_size=16,
        enable_prefill_graph=True,
        capture_tokens=(4, 8, 16),
    )
    return TargetRunners(config, Peers(prompts), device="cpu")


def test_decodes_join_the_graph_that_prompts_of_other_ranks_take() -> None:
    live = decodes(4)
    runner, offer = runners(7).select(live, Votes(against=False))
    assert isinstance(runner, PrefillGraphTargetRunner)
    batch = runner.load(live, pad=offer)
    assert (batch.live_requests, batch.live_tokens, batch.tokens) == (4, 4, 8)


def test_decodes_keep_their_own_rows_where_a_rank_votes_against_graphs() -> None:
    live = decodes(4)
    runner, offer = runners(7).select(live, Votes(against=True))
    assert isinstance(runner, EagerTargetRunner)
    batch = runner.load(live, pad=offer)
    assert (batch.requests, batch.tokens) == (4, 4)


def test_decodes_join_no_graph_that_is_much_larger_than_they_are() -> None:
    runner, _ = runners(16).select(decodes(4), Votes(against=False))
    assert isinstance(runner, EagerTargetRunner)
