"""Ranks in rounds of drafts: those without work, and those that route a share of the tokens."""

from __future__ import annotations

import pytest
import torch

from support.sglang_engine import decode_batch
from ullage_generated.sglang import (
    Config,
    DflashGraphDraftRunner,
    DraftGraphDraftRunner,
    EagerTargetRunner,
    LiveBatch,
    Mode,
)
from ullage_runtime.ranks import SingleRank


class Beside(SingleRank):
    """One of two ranks; the other one brings `rows`, each of `width` tokens."""

    count = 2

    def __init__(self, rows: int, width: int) -> None:
        self.others = (rows * width, rows, rows)  # padded tokens, their rows, rows before

    def gather(self, *values: int, collective: str = "") -> list[tuple[int, ...]]:
        return [values, self.others]


def test_an_idle_rank_replays_the_graph_that_the_others_draft_with() -> None:
    config = Config.of(
        enable_dp_attention=True,
        tp_size=2,
        attn_dp_size=2,
        speculative_algorithm="eagle",
        speculative_eagle_topk=4,
        speculative_num_draft_tokens=8,
        max_running_requests=16,
        enable_decode_graph=True,
        capture_requests=(2, 12, 16),
    )
    runner = DraftGraphDraftRunner(config, Beside(9, 4), device="cpu", debug=True)
    batch = runner.load(LiveBatch(mode=Mode.IDLE_IN_DRAFT))
    assert (batch.live_requests, batch.requests, batch.tokens) == (0, 12, 48)
    assert batch.seq_lens is not None
    assert batch.seq_lens.tolist() == [1] * 12
    assert batch.draft_cache_loc is not None
    assert batch.draft_cache_loc.tolist() == [0] * 48 * 3


def test_a_block_of_drafts_is_padded_to_a_graph_without_other_ranks() -> None:
    config = Config.of(
        speculative_algorithm="dflash",
        speculative_num_draft_tokens=4,
        max_running_requests=8,
        enable_decode_graph=True,
        capture_requests=(2, 8),
        draft_hidden_size=6,
    )
    runner = DflashGraphDraftRunner(config, device="cpu", debug=True)
    rows = torch.arange(12)
    live = LiveBatch(
        mode=Mode.DFLASH_DRAFT,
        batch_size=3,
        input_ids=rows + 100,
        positions=rows + 7,
        out_cache_loc=rows + 1,
        req_pool_indices=torch.arange(1, 4),
        seq_lens=torch.arange(8, 11),
        block_embeds=torch.ones(12, 6),
    )
    batch = runner.load(live)
    assert (batch.requests, batch.tokens) == (8, 32)
    assert batch.seq_lens.tolist() == [8, 9, 10, 1, 1, 1, 1, 1]
    assert batch.out_cache_loc is not None
    assert batch.out_cache_loc.tolist() == [*range(1, 13), *[0] * 20]
    assert batch.block_proposals is not None
    assert batch.block_proposals.shape == (8 * 3,)


@pytest.mark.parametrize(("rank", "routed"), [(0, 2), (1, 2), (2, 1)])
def test_a_rank_of_attention_routes_its_share_of_the_padded_tokens(rank: int, routed: int) -> None:
    config = Config.of(
        tp_size=3,
        ep_size=3,
        moe_a2a_backend="deepep",
        attn_tp_rank=rank,
        max_running_requests=8,
    )
    runner = EagerTargetRunner(config, SingleRank(), device="cpu", debug=True)
    batch = runner.load(decode_batch(5))
    assert batch.tokens == 6
    assert batch.num_token_non_padded is not None
    assert batch.num_token_non_padded.tolist() == [routed]
