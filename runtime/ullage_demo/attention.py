"""Attention over the paged pool, as transformers calls it, and the plans that it follows.

One plan serves every layer of a forward. It is made from the padded batch alone, so a padded row
that a runner fills badly is computed badly, and seen. Torch's plans stand here; other libraries
make theirs from the same `Attention`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from ullage_demo.paged_kv import KVPool, RequestTable
from ullage_demo.seam import RAGGED, Batch, extend_lengths, present
from ullage_generated.sglang import Mode

PAGED_ATTENTION = "ullage_paged"

SEES_WHOLE_SEQUENCE = frozenset({Mode.DLLM_EXTEND, Mode.FROZEN_KV_DRAFT})
"""Modes without a causal mask: a diffusion block sees itself, a frozen draft what is stored."""


class PaddingError(Exception):
    """A padded row was filled in a way that the model cannot compute with."""


class AttentionPlan(Protocol):
    """Where the tokens of one padded batch read and write.

    `out_cache_loc`: [tokens], None if nothing is written.
    """

    @property
    def pool(self) -> KVPool: ...

    @property
    def out_cache_loc(self) -> Tensor | None: ...

    def attend(self, layer: int, query: Tensor, scaling: float | None) -> Tensor:
        """Of `query` [tokens, heads, head_dim], the same shape and dtype."""


class Attention(Protocol):
    """Who plans.

    `tree`: for draft and verify steps, which of the request's draft slots, those that follow
    its `seq_lens`, each live token sees: bool [live tokens, draft slots]. Both may raise
    PaddingError, as torch does for a token that sees no key.
    """

    def plan(
        self, batch: Batch, pool: KVPool, table: RequestTable, tree: Tensor | None
    ) -> AttentionPlan: ...

    def plan_graph(
        self, batch: Batch, pool: KVPool, table: RequestTable, tree: Tensor | None
    ) -> AttentionPlan:
        """The same in storage that a graph goes on reading after its capture."""

    @property
    def storages(self) -> Iterable[Tensor]:
        """That storage, where it is not the runner's."""


@dataclass(frozen=True, slots=True)
class TorchPlan:
    """`slots`, `visible`: [tokens, keys]."""

    pool: KVPool
    slots: Tensor
    visible: Tensor
    out_cache_loc: Tensor | None

    def attend(self, layer: int, query: Tensor, scaling: float | None) -> Tensor:
        keys, values = self.pool.read(layer, self.slots)
        attended = scaled_dot_product_attention(
            query[:, :, None],
            keys.transpose(1, 2),
            values.transpose(1, 2),
            attn_mask=self.visible[:, None, None],
            scale=scaling,
            enable_gqa=True,
        )
        return attended[:, :, 0]


class TorchAttention:
    """`rows`: tokens and keys of the largest plan of a graph, if there are graphs."""

    def __init__(self, rows: tuple[int, int] = (0, 0), device: torch.device | str = "cpu") -> None:
        self._slots = torch.zeros(rows, dtype=torch.int64, device=device)
        self._visible = torch.zeros(rows, dtype=torch.bool, device=device)

    def plan(
        self, batch: Batch, pool: KVPool, table: RequestTable, tree: Tensor | None
    ) -> TorchPlan:
        return plan_attention(batch, pool, table, tree)

    def plan_graph(
        self, batch: Batch, pool: KVPool, table: RequestTable, tree: Tensor | None
    ) -> TorchPlan:
        return self.hold(plan_attention(batch, pool, table, tree))

    def hold(self, plan: TorchPlan) -> TorchPlan:
        """The same plan in this storage; its further keys are those that padding reads, unseen."""
        tokens, keys = plan.slots.shape
        slots, visible = self._slots[:tokens], self._visible[:tokens]
        slots[:, :keys].copy_(plan.slots)
        slots[:, keys:].zero_()
        visible[:, :keys].copy_(plan.visible)
        visible[:, keys:].zero_()
        return TorchPlan(plan.pool, slots, visible, plan.out_cache_loc)

    @property
    def storages(self) -> Iterator[Tensor]:
        yield self._slots
        yield self._visible


def plan_attention(
    batch: Batch, pool: KVPool, table: RequestTable, tree: Tensor | None = None
) -> TorchPlan:
    """The plan for one padded batch. `tree`: see `Attention`. Raises PaddingError."""
    request_rows, lengths = _rows_of_tokens(batch)
    drafted = 0 if tree is None else tree.shape[1]
    keys = int(present(batch.seq_lens_cpu, "seq_lens_cpu").max()) + drafted
    key = torch.arange(keys, device=table.device)
    visible = key < lengths[:, None]
    if tree is not None:
        tree = tree.to(table.device)
        visible[: tree.shape[0]] |= _see_drafts(tree, lengths[: tree.shape[0]], key)
    elif batch.mode not in SEES_WHOLE_SEQUENCE:
        visible &= key <= present(batch.positions, "positions")[:, None]
    if not bool(visible.any(dim=1).all()):
        # The CPU would answer with zeros. Kernels that split keys among blocks do not.
        raise PaddingError(
            f"A token of {batch.mode.name} sees no key; a padded length must be 1 or more."
        )
    return TorchPlan(
        pool=pool,
        slots=table.req_to_token[request_rows, :keys],
        visible=visible,
        out_cache_loc=written(batch),
    )


def written(batch: Batch) -> Tensor | None:
    """Where the batch's keys and values go; a frozen draft writes none."""
    return None if batch.mode is Mode.FROZEN_KV_DRAFT else batch.out_cache_loc


def _see_drafts(tree: Tensor, lengths: Tensor, key: Tensor) -> Tensor:
    """Spread `tree` over the keys: its first column is the key at `lengths`."""
    column = key - lengths[:, None]
    inside = (column >= 0) & (column < tree.shape[1])
    return inside & tree.gather(1, column.clamp(0, tree.shape[1] - 1))


def _rows_of_tokens(batch: Batch) -> tuple[Tensor, Tensor]:
    """For each padded token, its row of the request table and its sequence's length.

    Padded tokens belong to the padded requests, a width each. Where there are more of them than
    that, the rest reads what padding reads, slot 0.
    """
    rows = present(batch.req_pool_indices, "req_pool_indices")
    live = _tokens_per_request(batch, rows.device)
    width = 1 if batch.mode in RAGGED or not batch.live_tokens else int(live[0])
    padded = live.new_full((batch.requests - live.shape[0],), width)
    owners = torch.repeat_interleave(torch.cat([live, padded]))[: batch.tokens]
    request_rows, lengths = live.new_zeros(batch.tokens), live.new_ones(batch.tokens)
    request_rows[: owners.shape[0]] = rows[owners]
    lengths[: owners.shape[0]] = present(batch.seq_lens, "seq_lens")[owners]
    return request_rows, lengths


def _tokens_per_request(batch: Batch, device: torch.device) -> Tensor:
    """Tokens of each live request, int64. A dummy request of an idle rank has none."""
    requests = batch.live_requests if batch.live_tokens else 0
    lengths = extend_lengths(batch)
    if lengths is not None:
        return lengths[:requests].to(torch.int64)
    width = batch.live_tokens // requests if requests else 0
    return torch.full((requests,), width, dtype=torch.int64, device=device)


def paged_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    plan: AttentionPlan,
    scaling: float | None = None,
    **_unused: object,
) -> tuple[Tensor, None]:
    """Attend over the pool, as the library calls it.

    `query`: [1, heads, tokens, head_dim]; returns [1, tokens, heads, head_dim] and no weights.
    """
    layer = module.layer_idx
    if not isinstance(layer, int):
        raise TypeError(f"{type(module).__name__} has no layer index.")
    if plan.out_cache_loc is not None:
        plan.pool.write(layer, plan.out_cache_loc, key[0].transpose(0, 1), value[0].transpose(0, 1))
    return plan.attend(layer, query[0].transpose(0, 1), scaling)[None], None


AttentionInterface.register(PAGED_ATTENTION, paged_attention)
