"""Capacities of the generated SGLang runners against every batch that there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sglang_reference import WRITTEN_DOWN
from ullage_generated.sglang import (
    Config,
    EagerDraftRunner,
    EagerTargetRunner,
    LiveBatch,
    Mode,
    strategies,
)
from ullage_runtime.errors import BatchError, ConfigurationError
from ullage_runtime.ranks import SingleRank

Runner = EagerTargetRunner | EagerDraftRunner


class Others(SingleRank):
    """One of `count` ranks, which brings the most rows of all."""

    def __init__(self, count: int) -> None:
        self.count = count


def every_batch(mode: Mode, requests: int, tokens: int) -> Iterator[LiveBatch]:
    """What the extents of a mode can follow from, up to so many requests and tokens."""
    counts = range(1, requests + 1)
    if mode in (Mode.EXTEND, Mode.SPLIT_PREFILL):
        for rows, length in product(counts, range(1, tokens + 1)):
            ids = torch.ones(length, dtype=torch.int64)
            yield LiveBatch(mode=mode, batch_size=rows, input_ids=ids)
    elif mode is Mode.MIXED:
        for running, prefills, length in product(counts, counts, range(1, tokens + 1)):
            yield LiveBatch(
                mode=mode,
                running_requests=running,
                prefill_requests=prefills,
                prefill_tokens=length,
            )
    elif mode in (Mode.IDLE, Mode.IDLE_BESIDE_EXTEND):
        yield LiveBatch(mode=mode)
    elif mode in WRITTEN_DOWN:  # of which each request has as many tokens as the others
        for rows in counts:
            yield LiveBatch(mode=mode, batch_size=rows)
    else:
        for rows, length in product(range(requests + 1), range(tokens + 1)):
            ids = torch.ones(length, dtype=torch.int64)
            yield LiveBatch(mode=mode, batch_size=rows, input_ids=ids)


def largest_extents(runner: Runner) -> tuple[int, int]:
    """The most requests and tokens after padding, over all legal batches."""
    config = runner.config
    tokens = max(config.prefill_limit_target, config.prefill_limit_draft or 0)
    requests, most = 0, 0
    for mode in runner.modes:
        for live in every_batch(mode, config.max_running_requests, tokens):
            try:
                padded = runner.extents(live).padded
            except BatchError:
                continue
            requests, most = max(requests, padded.requests), max(most, padded.tokens)
    return requests, most


def attains_its_capacities(runner: Runner) -> bool:
    found = largest_extents(runner)
    return found == (runner.capacities.requests, runner.capacities.tokens)


SEEDS: tuple[dict[str, object], ...] = (
    {},
    {"dllm_block_size": 3, "context_length": 3},
    {"tp_size": 8, "attn_dp_size": 2, "enable_dp_attention": True},
    {"tp_size": 12, "attn_cp_size": 2, "attn_dp_size": 2, "enable_dp_attention": True},
    {"speculative_algorithm": "frozen_kv_mtp", "speculative_eagle_topk": 3},
    {"speculative_algorithm": "eagle"},
    {"enable_mixed_chunk": True, "chunked_prefill_size": 7},
)


def is_small(config: Config) -> bool:
    """Whether all batches can be tried: a draft pool that nobody set has its large default."""
    return (config.prefill_limit_draft or 0) < 100


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.sampled_from(SEEDS)
    .flatmap(lambda fixed: strategies.configs(span=6, fixed=fixed))
    .filter(is_small)
)
def test_no_batch_is_larger_than_the_capacities_and_one_is_as_large(config: Config) -> None:
    ranks = Others(config.num_dp_ranks)
    assert attains_its_capacities(EagerTargetRunner(config, ranks, device="cpu"))
    if config.has_draft_worker:
        assert attains_its_capacities(EagerDraftRunner(config, ranks, device="cpu"))


def test_a_worker_that_does_not_exist_has_no_runner() -> None:
    with pytest.raises(ConfigurationError, match="worker draft is broken: it exists only where"):
        EagerDraftRunner(Config.of(), SingleRank(), device="cpu")


def test_the_number_of_ranks_matters_only_where_they_agree_on_counts() -> None:
    alone = EagerTargetRunner(Config.of(dp_size=2), SingleRank(), device="cpu")
    assert alone.capacities.requests == 2048
    config = Config.of(tp_size=2, attn_dp_size=2, enable_dp_attention=True)
    with pytest.raises(ConfigurationError, match="the number of ranks is broken with 2"):
        EagerTargetRunner(config, SingleRank(), device="cpu")


def test_buffers_have_their_capacities_and_lie_apart() -> None:
    config = Config.of(max_running_requests=5, max_total_tokens_target=77, chunked_prefill_size=-1)
    registry = EagerTargetRunner(config, SingleRank(), device="cpu").registry
    assert registry.seq_lens.shape == (5,)
    assert registry.mrope_positions.shape == (3, 77)
    taken: list[tuple[int, int]] = []
    for slot in registry.slots:
        (arena,) = (each for each in registry.arenas if each.owns(slot))
        # Only the place within its arena counts: where an arena itself lies is up to the system.
        assert (slot.data_ptr() - arena.storage.data_ptr()) % 256 == 0
        taken.append((slot.data_ptr(), slot.data_ptr() + slot.numel() * slot.element_size()))
    taken.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(taken))
