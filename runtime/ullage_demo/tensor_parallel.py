"""The feed-forward layers of data-parallel ranks: each holds a share of the weights.

Attention is split by request, so every token has to visit every rank's share. The ranks exchange
tokens by collectives of one size, which is why their padded token counts must agree.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaMLP


class ShardedFeedForward(nn.Module):
    """This rank's columns of a gated feed-forward layer."""

    def __init__(self, full: LlamaMLP, rank: int, ranks: int) -> None:
        super().__init__()
        width = full.up_proj.weight.shape[0] // ranks
        share = slice(rank * width, (rank + 1) * width)
        self._rank, self._ranks = rank, ranks
        self._activation = full.act_fn
        self._gate = full.gate_proj.weight[share].clone()
        self._up = full.up_proj.weight[share].clone()
        self._down = full.down_proj.weight[:, share].clone()

    def forward(self, hidden: Tensor) -> Tensor:
        """Gather the tokens of all ranks, add up the shares, keep this rank's tokens."""
        everyone = [torch.empty_like(hidden) for _ in range(self._ranks)]
        dist.all_gather(everyone, hidden.contiguous())
        tokens = torch.stack(everyone)
        inner = self._activation(linear(tokens, self._gate)) * linear(tokens, self._up)
        summed = linear(inner, self._down)
        dist.all_reduce(summed)
        return summed[self._rank]


def shard_feed_forward(model: LlamaForCausalLM, rank: int, ranks: int) -> LlamaForCausalLM:
    """Replace every feed-forward layer by this rank's share; returns the model."""
    for layer in model.model.layers:
        layer.mlp = ShardedFeedForward(layer.mlp, rank, ranks)
    return model
