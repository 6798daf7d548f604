"""Rounds of prompts: all ranks in one graph, or each in the eager runner as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch

from support.sglang_batches import prompts
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

    def outvoted(self, _batch: LiveBatch, /) -> bool:
        return self.against

    def _no(self, _batch: LiveBatch, /) -> bool:
        return False

    replaced_embeds = context_parallel = uneven_shares = uncaptured_variant = prefers_eager = _no
    lacks_rank = wants_logprobs = wants_hidden_states = uncapturable_prefix = _no
    beyond_captured_lengths = _no


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


def runners(peer: int, *, takes_sums: bool = False) -> TargetRunners:
    """The runners of one of two ranks, the other of which extends by so many tokens."""
    config = Config.of(
        enable_dp_attention=True,
        tp_size=2,
        attn_dp_size=2,
        max_running_requests=6,
        max_total_tokens_target=64,
        chunked_prefill_size=16,
        enable_prefill_graph=True,
        prefill_graph_takes_sums=takes_sums,
        capture_tokens=(4, 8, 16),
    )
    return TargetRunners(config, Peers(peer), device="cpu")


@pytest.mark.parametrize(("peer", "shared"), [(7, 8), (16, 16), (3, 4)])
def test_decodes_join_the_graph_that_prompts_of_other_ranks_take(peer: int, shared: int) -> None:
    live = decodes(4)
    runner, offer = runners(peer).select(live, Votes(against=False))
    assert isinstance(runner, PrefillGraphTargetRunner)
    batch = runner.load(live, pad=offer)
    assert (batch.live_requests, batch.live_tokens, batch.tokens) == (4, 4, shared)


@pytest.mark.parametrize(("peer", "shared"), [(7, 8), (16, 16), (1, 4)])
def test_a_rank_without_work_joins_that_graph_with_a_dummy_request(peer: int, shared: int) -> None:
    idle = LiveBatch(mode=Mode.IDLE_BESIDE_EXTEND)
    runner, offer = runners(peer).select(idle, Votes(against=False))
    assert isinstance(runner, PrefillGraphTargetRunner)
    batch = runner.load(idle, pad=offer)
    assert (batch.live_requests, batch.live_tokens) == (0, 0)
    assert (batch.requests, batch.tokens) == (1, shared)
    assert batch.out_cache_loc.tolist() == [0] * shared


def test_all_ranks_of_a_round_take_one_graph_or_none() -> None:
    for votes in (Votes(against=False), Votes(against=True)):
        few, _ = runners(16).select(prompts(Mode.EXTEND, 1), votes)
        many, _ = runners(1).select(prompts(Mode.EXTEND, 9, 7), votes)
        idle, _ = runners(16).select(LiveBatch(mode=Mode.IDLE_BESIDE_EXTEND), votes)
        assert type(few) is type(many) is type(idle)
        assert isinstance(few, EagerTargetRunner) is votes.against


def test_decodes_keep_their_own_rows_where_a_rank_votes_against_graphs() -> None:
    live = decodes(4)
    runner, offer = runners(7).select(live, Votes(against=True))
    assert isinstance(runner, EagerTargetRunner)
    batch = runner.load(live, pad=offer)
    assert (batch.requests, batch.tokens) == (4, 4)


def test_no_rank_is_padded_where_a_rank_has_more_tokens_than_any_graph() -> None:
    live = prompts(Mode.EXTEND, 2)
    runner, offer = runners(17).select(live, Votes(against=False))
    assert isinstance(runner, EagerTargetRunner)
    assert runner.load(live, pad=offer).tokens == 2


@pytest.mark.parametrize("live", [decodes(4), LiveBatch(mode=Mode.IDLE_BESIDE_EXTEND)])
def test_a_rank_that_need_not_join_takes_no_graph_much_larger_than_it_is(live: LiveBatch) -> None:
    runner, _ = runners(16, takes_sums=True).select(live, Votes(against=False))
    assert isinstance(runner, EagerTargetRunner)


def speculating(peer: int) -> EagerTargetRunner:
    """The runner of one of two ranks that are told to pad alike, the other with so many tokens."""
    config = Config.of(
        speculative_algorithm="eagle",
        moe_a2a_backend="deepep_v2",
        deepep_v2_pads_alike=True,
        enable_dp_attention=True,
        tp_size=4,
        attn_dp_size=2,
        max_running_requests=6,
        chunked_prefill_size=16,
    )
    return EagerTargetRunner(config, Peers(peer), device="cpu", debug=True)


def test_ranks_keep_their_counts_in_a_round_that_the_scheduler_coordinates() -> None:
    plain = speculating(12).load(prompts(Mode.EXTEND, 3, 2))
    assert (plain.tokens, plain.requests) == (12, 2)
    coordinated = speculating(12).load(prompts(Mode.COORDINATED_EXTEND, 3, 2))
    assert (coordinated.tokens, coordinated.requests) == (6, 2)  # aligned to two ranks of attention
    assert coordinated.gathered_tokens == 6 + 12
    idle = speculating(12).load(LiveBatch(mode=Mode.IDLE_IN_COORDINATED_EXTEND))
    assert (idle.tokens, idle.requests) == (0, 0)


def test_decodes_of_such_a_round_run_as_extends_of_one_token() -> None:
    live = replace(decodes(3), mode=Mode.DECODE_IN_COORDINATED_EXTEND)
    batch = speculating(12).load(live)
    assert (batch.live_tokens, batch.tokens, batch.requests) == (3, 4, 3)
    assert batch.extend_seq_lens is not None
    assert batch.extend_seq_lens.tolist() == [1, 1, 1]
