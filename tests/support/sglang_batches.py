"""Batches of SGLang as a scheduler brings them."""

from __future__ import annotations

import torch

from ullage_generated.sglang import LiveBatch, Mode


def prompts(mode: Mode, *lengths: int) -> LiveBatch:
    """Prompts of these lengths, with nothing in the pool."""
    tokens, requests = torch.arange(sum(lengths)), torch.arange(1, len(lengths) + 1)
    return LiveBatch(
        mode=mode,
        batch_size=len(lengths),
        input_ids=tokens + 100,
        positions=tokens,
        out_cache_loc=tokens + 1,
        req_pool_indices=requests,
        seq_lens=torch.tensor(lengths),
        extend_seq_lens=torch.tensor(lengths),
        extend_prefix_lens=torch.zeros_like(requests),
    )
