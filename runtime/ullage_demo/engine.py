"""One model behind its runner: load, plan, forward, and back to the live rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.attention import AttentionPlan, PaddingError, plan_attention
from ullage_demo.measuring import MeasuredRunner
from ullage_demo.paged_kv import KVPool, RequestTable
from ullage_demo.seam import Batch, LiveBatch, present


@dataclass(frozen=True, slots=True)
class Worker:
    """A model routed through the pool, with the runner that owns its input buffers."""

    model: LlamaForCausalLM
    pool: KVPool
    table: RequestTable
    runner: MeasuredRunner

    @torch.inference_mode()
    def forward(self, live: LiveBatch, *, tree: Tensor | None = None) -> Tensor:
        """Logits [live tokens, vocabulary]; `tree`: see `plan_attention`."""
        batch = self.runner.load(live)
        if batch.tokens == 0:
            return torch.empty(0, self.model.config.vocab_size)
        output = self.model(
            input_ids=present(batch.input_ids, "input_ids")[None],
            position_ids=present(batch.positions, "positions")[None],
            use_cache=False,
            plan=self._plan(live, batch, tree),
        )
        return _live_rows(output.logits[0], batch)

    @torch.inference_mode()
    def forward_layers(self, live: LiveBatch, hidden: Tensor | None, layers: range) -> Tensor:
        """Run some of the layers: hidden states [live tokens, hidden size], or logits at the end.

        `hidden`: what the layers before gave, None for the first. The batch is loaded anew for
        each group, because other batches may have passed through the runner in between.
        """
        batch = self.runner.load(live)
        plan = self._plan(live, batch, None)
        body = self.model.model
        states = self._enter(batch, hidden)
        positions = present(batch.positions, "positions")[None]
        rotary = body.rotary_emb(states, position_ids=positions)
        for layer in body.layers[layers.start : layers.stop]:
            states = layer(
                states,
                attention_mask=None,
                position_ids=positions,
                position_embeddings=rotary,
                plan=plan,
            )
        if layers.stop == len(body.layers):
            states = self.model.lm_head(body.norm(states))
        return _live_rows(states[0], batch)

    def _enter(self, batch: Batch, hidden: Tensor | None) -> Tensor:
        embedded: Tensor = self.model.model.embed_tokens(
            present(batch.input_ids, "input_ids")[None]
        )
        if hidden is not None:
            embedded[0, : hidden.shape[0]] = hidden
        return embedded

    def _plan(self, live: LiveBatch, batch: Batch, tree: Tensor | None) -> AttentionPlan:
        return plan_attention(live.mode, batch, self.pool, self.table, tree)


def _live_rows(computed: Tensor, batch: Batch) -> Tensor:
    if not bool(torch.isfinite(computed).all()):
        raise PaddingError(
            f"A batch of {batch.live_tokens} live tokens, padded to {batch.tokens}, computed "
            "values that are not finite."
        )
    return computed[: batch.live_tokens]


def build_pool(model: LlamaForCausalLM, slots: int) -> KVPool:
    """An empty pool for the model's keys and values."""
    config = model.config
    heads = config.num_attention_heads
    return KVPool(
        config.num_hidden_layers,
        slots,
        config.num_key_value_heads or heads,
        config.head_dim or config.hidden_size // heads,
    )
