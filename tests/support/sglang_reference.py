"""What loading a batch of SGLang should give, written down once more and by hand.

Nothing here comes from the specs: these are the engine's own rules, one row at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ullage_generated.sglang import Config, CpStrategy, LiveBatch, Mode, MoeA2aBackend

TOKEN_SLOTS = ("input_ids", "positions", "out_cache_loc", "mrope_positions")
REQUEST_SLOTS = ("req_pool_indices", "seq_lens", "seq_lens_cpu")
EXTEND_SLOTS = ("extend_seq_lens", "extend_prefix_lens", "extend_start_loc")
OPTIONAL = {"input_ids", "out_cache_loc", "mrope_positions", "seq_lens_cpu", "extend_start_loc"}
DTYPES: Mapping[str, torch.dtype] = dict.fromkeys(EXTEND_SLOTS, torch.int32)
IDLE_DRAFTS = (Mode.IDLE_IN_DRAFT, Mode.IDLE_IN_CATCH_UP, Mode.IDLE_IN_FROZEN_DRAFT)
IDLE = (
    Mode.IDLE,
    Mode.IDLE_BESIDE_EXTEND,
    Mode.IDLE_IN_COORDINATED_EXTEND,
    *IDLE_DRAFTS,
)
ADAPTIVE = (Mode.ADAPTIVE_VERIFY, Mode.ADAPTIVE_DRAFT_EXTEND)
FIXED_WIDTH = {
    Mode.DECODE,
    Mode.TARGET_VERIFY,
    Mode.DLLM_EXTEND,
    Mode.DRAFT_EXTEND,
    Mode.EAGLE_DRAFT,
    Mode.FROZEN_KV_DRAFT,
    Mode.IDLE,
    Mode.DFLASH_DRAFT,
    *IDLE_DRAFTS,
    *ADAPTIVE,
}
"""Modes in which every request has the same number of tokens, so that rows follow from tokens."""


COORDINATED = {
    Mode.COORDINATED_EXTEND,
    Mode.DECODE_IN_COORDINATED_EXTEND,
    Mode.IDLE_IN_COORDINATED_EXTEND,
}
"""Modes of rounds in which ranks keep their counts."""

OTHERS = {
    *COORDINATED,
    Mode.DECODE_BESIDE_EXTEND,
    Mode.EXTEND,
    Mode.IDLE_BESIDE_EXTEND,
    Mode.MIXED,
    Mode.SPLIT_PREFILL,
}
WRITTEN_DOWN = FIXED_WIDTH | OTHERS
"""Modes whose rows are known here. Of others, tests can only ask what was generated."""


def present(value: int | None) -> int:
    assert value is not None
    return value


@dataclass(frozen=True, slots=True)
class Expected:
    """Live and padded rows of a batch."""

    requests: int
    tokens: int
    padded_requests: int
    padded_tokens: int


def width(config: Config, live: LiveBatch) -> int:
    """Tokens of a request in a mode of one width for all requests of a batch."""
    mode = live.mode
    if mode in ADAPTIVE:
        return present(live.adaptive_draft_tokens or config.adaptive_draft_tokens)
    if mode in (Mode.TARGET_VERIFY, Mode.DRAFT_EXTEND, Mode.DFLASH_DRAFT):
        return present(config.speculative_num_draft_tokens)
    if mode is Mode.EAGLE_DRAFT:
        return present(config.speculative_eagle_topk)
    if mode is Mode.DLLM_EXTEND:
        return config.dllm_block_size
    if mode is Mode.IDLE and config.dllm_block_size > 0:
        return config.dllm_block_size
    if mode is Mode.IDLE and config.speculative_num_draft_tokens is not None:
        return config.speculative_num_draft_tokens
    return 1


def live_rows(config: Config, live: LiveBatch) -> tuple[int, int]:
    """Requests and tokens that the tensors bring."""
    mode = live.mode
    if mode in IDLE:
        return 0, 0
    if mode is Mode.MIXED:
        requests = live.running_requests + live.prefill_requests
        return requests, live.running_requests + live.prefill_tokens
    if mode in (Mode.EXTEND, Mode.SPLIT_PREFILL, Mode.COORDINATED_EXTEND):
        tensor = live.input_ids if live.input_ids is not None else live.input_embeds
        assert tensor is not None
        return live.batch_size, tensor.shape[0]
    if mode is Mode.FROZEN_KV_DRAFT:
        rows = live.batch_size * present(config.speculative_eagle_topk)
        return rows, rows
    return live.batch_size, live.batch_size * width(config, live)


def synced(config: Config, mode: Mode) -> bool:
    """Whether ranks agree on token counts."""
    return config.require_mlp_sync and mode is not Mode.DFLASH_DRAFT


def aligned(config: Config, count: int) -> int:
    """The count rounded up for attention and for context parallelism, one after the other."""
    ranks = config.tp_size // config.attn_dp_size // config.attn_cp_size
    halves = 2 if config.cp_strategy == CpStrategy.ZIGZAG else 1
    context = config.attn_cp_size * halves if config.attn_cp_size > 1 else 1
    for step in (ranks, context):
        while count % step:
            count += 1
    return count


def pads_alike(config: Config, live: LiveBatch, counts: list[int]) -> bool:
    """Whether all ranks compute the tokens of the largest, given the counts of all."""
    if config.elastic_world_expanded:
        return False  # ranks that have joined want the counts as they are
    if live.mode in COORDINATED:
        return False
    forced = config.moe_a2a_backend == MoeA2aBackend.DEEPEP_V2 and config.deepep_v2_pads_alike
    if config.moe_a2a_backend == MoeA2aBackend.PPLX or forced:
        return True
    if live.mode not in FIXED_WIDTH:
        return config.idle_ranks_pad_alike and 0 in counts
    if sum(counts) <= config.custom_all_reduce_tokens:
        return False
    return 2 * sum(counts) >= max(counts) * len(counts)


def expected_rows(config: Config, live: LiveBatch, peers: int = 0) -> Expected:
    """The rows of a batch; `peers` is the aligned token count of every other rank."""
    requests, tokens = live_rows(config, live)
    padded_requests, padded_tokens = requests, tokens
    if synced(config, live.mode):
        padded_tokens = aligned(config, tokens)
        counts = [padded_tokens, *[peers] * (config.num_dp_ranks - 1)]
        if pads_alike(config, live, counts):
            padded_tokens = max(counts)
        if live.mode in FIXED_WIDTH:
            padded_requests = padded_tokens // width(config, live)
    shares = config.attention_takes_shares and not config.require_mlp_sync
    if shares and live.mode in (Mode.EXTEND, Mode.MIXED, Mode.SPLIT_PREFILL):
        padded_tokens += -padded_tokens % config.tp_size
    if live.mode is Mode.IDLE_BESIDE_EXTEND:
        padded_requests = int(padded_tokens > 0)
    return Expected(requests, tokens, padded_requests, padded_tokens)


def real_tokens(config: Config, expected: Expected) -> list[int] | None:
    """The rows that this rank routes to experts, if it is told: all, or its share of the batch."""
    masked = config.hip and config.enable_dp_attention and config.moe_a2a_backend == "none"
    graphs, grown = config.enable_prefill_graph, config.elastic_world_expanded
    if not (config.ep_size > 1 or grown or graphs or masked):
        return None
    copied = config.attn_cp_size > 1 and config.latent_attention
    if copied or not config.require_gathered_buffer:
        return [expected.tokens]
    share = expected.padded_tokens // (config.tp_size // config.attn_dp_size // config.attn_cp_size)
    before = share * config.attn_tp_rank
    return [max(0, min(expected.tokens - before, share))]


def fill_of(slot: str, config: Config, expected: Expected) -> int | None:
    """What stands in padded rows; None where any value will do that the slot may hold."""
    if slot == "input_ids":
        return None
    if slot == "extend_start_loc":
        return expected.tokens
    if slot in ("seq_lens", "seq_lens_cpu"):
        return config.dllm_block_size or 1
    return 0


def loaded_slots(config: Config, mode: Mode) -> tuple[str, ...]:
    """The slots that a mode loads; lengths of prompts lie in slots only where ranks pad them."""
    lengthens = "lengthening" in mode.families and config.require_mlp_sync
    extends = EXTEND_SLOTS if lengthens else ()
    return (*TOKEN_SLOTS, *REQUEST_SLOTS, *extends)


def expected_slot(slot: str, live: LiveBatch, config: Config, expected: Expected) -> Tensor | None:
    """The contents of a slot, row by row; -1 where any value will do."""
    source: Tensor | None = getattr(live, slot)
    if source is None and slot in OPTIONAL and live.mode not in IDLE:
        return None
    by_token = slot in TOKEN_SLOTS
    rows = expected.tokens if by_token else expected.requests
    padded = expected.padded_tokens if by_token else expected.padded_requests
    fill = fill_of(slot, config, expected)
    shape = (3, padded) if slot == "mrope_positions" else (padded,)
    wanted = torch.full(shape, -1 if fill is None else fill, dtype=DTYPES.get(slot, torch.int64))
    for row in range(rows):
        assert source is not None
        wanted[..., row] = source[..., row]
    return wanted
