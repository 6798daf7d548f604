"""What the generated runners ask of an engine, answered for one model on one device.

A runner's `execute` calls these methods in the order that the spec declares, and pads, checks and
cuts in between. Both workers ask the same, so one class serves the target and the draft.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.attention import Attention, AttentionPlan, PaddingError
from ullage_demo.paged_kv import KVPool, RequestTable
from ullage_demo.seam import Batch, present
from ullage_generated.sglang import LiveBatch


class UnsupportedStepError(Exception):
    """A step of engines that split a sequence over ranks."""


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """A part of a forward: some of the layers, and what the layers before them gave.

    `hidden`: [live tokens, hidden size], None for the first layers.
    """

    layers: range
    hidden: Tensor | None = None


class StepEngine:
    """Computes one step. `tree`: see `Attention`; `group`: None runs the whole model."""

    def __init__(
        self,
        model: LlamaForCausalLM,
        pool: KVPool,
        table: RequestTable,
        attention: Attention,
        *,
        tree: Tensor | None = None,
        group: LayerGroup | None = None,
    ) -> None:
        self._model = model
        self._pool = pool
        self._table = table
        self._attention = attention
        self._tree = tree
        self._group = group
        self._plan: AttentionPlan | None = None

    # Facts: every step plans its attention anew, on one device and without graphs.

    def needs_metadata(self, _batch: Batch, /) -> bool:
        return True

    def decode_context_parallel(self, _batch: Batch, /) -> bool:
        return False

    def context_parallel(self, _batch: Batch | LiveBatch, /) -> bool:
        return False

    def last_pipeline_rank(self, _batch: Batch, /) -> bool:
        return True

    def piecewise_platform(self, _batch: Batch, /) -> bool:
        return False

    # Contexts: nothing on a CPU is booked, streamed or captured.

    def timer(self, _batch: Batch, /) -> AbstractContextManager[object]:
        return nullcontext()

    def stream_backend(self, _batch: Batch, /) -> AbstractContextManager[object]:
        return nullcontext()

    def piecewise(self, _batch: Batch, /) -> AbstractContextManager[object]:
        return nullcontext()

    # Steps.

    def choose_stream_backend(self, _live: LiveBatch, /) -> None:
        """There is one attention backend for all streams."""

    def collect_inputs(self, _live: LiveBatch, /) -> LayerGroup | None:
        return self._group

    def prepare_model(self, _batch: Batch, /) -> None:
        """The model keeps nothing about a batch."""

    def plan_attention(self, batch: Batch, /) -> None:
        """Raises PaddingError if a padded row is filled in a way that attention cannot take."""
        self._plan = self._attention.plan(batch, self._pool, self._table, self._tree)

    def drop_plan(self, _batch: Batch, /) -> None:
        self._plan = None

    def clear_context(self, _batch: Batch, /) -> None:
        """No batch is ever split over ranks."""

    def forward(self, batch: Batch, group: LayerGroup | None, /) -> Tensor:
        """Logits [padded tokens, vocabulary], or hidden states [padded tokens, hidden size].

        Raises PaddingError if any row, a padded one too, is not finite.
        """
        if batch.tokens == 0:
            return torch.empty(0, self._model.config.vocab_size, device=self._table.device)
        plan = self._planned
        computed = self.compute(batch, plan) if group is None else self._layers(batch, plan, group)
        self.require_finite(batch, computed)
        return computed

    def compute(self, batch: Batch, plan: AttentionPlan) -> Tensor:
        """Logits [padded tokens, vocabulary]; nothing waits for the device."""
        output = self._model(
            input_ids=present(batch.input_ids, "input_ids")[None],
            position_ids=present(batch.positions, "positions")[None],
            use_cache=False,
            plan=plan,
        )
        logits: Tensor = output.logits
        return logits[0]

    def require_finite(self, batch: Batch, computed: Tensor) -> None:
        """PaddingError if any row of what a batch gave, a padded one too, is not finite."""
        if not bool(torch.isfinite(computed).all()):
            raise PaddingError(
                f"A batch of {batch.live_tokens} live tokens, padded to {batch.tokens}, computed "
                "values that are not finite."
            )

    def autotune(self, batch: Batch, /) -> None:
        """Compute the largest batch once, so that whatever is set up lazily is set up."""
        self.plan_attention(batch)
        self.forward(batch, None)

    @property
    def _planned(self) -> AttentionPlan:
        if self._plan is None:
            raise ValueError("A forward comes after the plan of its attention.")
        return self._plan

    def _layers(self, batch: Batch, plan: AttentionPlan, group: LayerGroup) -> Tensor:
        body = self._model.model
        states = self._enter(batch, group.hidden)
        positions = present(batch.positions, "positions")[None]
        rotary = body.rotary_emb(states, position_ids=positions)
        for layer in body.layers[group.layers.start : group.layers.stop]:
            states = layer(
                states,
                attention_mask=None,
                position_ids=positions,
                position_embeddings=rotary,
                plan=plan,
            )
        if group.layers.stop == len(body.layers):
            states = self._model.lm_head(body.norm(states))
        return states[0]

    def _enter(self, batch: Batch, hidden: Tensor | None) -> Tensor:
        embedded: Tensor = self._model.model.embed_tokens(
            present(batch.input_ids, "input_ids")[None]
        )
        if hidden is not None:
            embedded[0, : hidden.shape[0]] = hidden
        return embedded

    # Steps of context-parallel engines, which the facts above rule out.

    def plan_decode_context(self, _batch: Batch, /) -> None:
        _refuse()

    def split_context(self, _batch: Batch, /) -> Tensor:
        _refuse()

    def forward_sharded(
        self, _batch: Batch, _group: LayerGroup | None, _shards: Tensor, /
    ) -> Tensor:
        _refuse()

    def gather_context(self, _batch: Batch, _hidden: Tensor, /) -> Tensor:
        _refuse()

    def compute_logits(self, _batch: Batch, _hidden: Tensor, /) -> Tensor:
        _refuse()

    def pass_hidden_on(self, _batch: Batch, _hidden: Tensor, /) -> Tensor:
        _refuse()


def _refuse() -> NoReturn:
    raise UnsupportedStepError("The demo's engine splits no sequence over ranks.")
