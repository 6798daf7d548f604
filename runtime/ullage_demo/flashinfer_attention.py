"""Attention by FlashInfer's kernels: the wrappers that the specs declare, over a runner's slots.

Keys and values are in half precision, and so are queries while they attend. Lengths are known on
the host, so that planning waits for the device only where a tree brings a mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import torch
from torch import Tensor

from ullage_demo.attention import SEES_WHOLE_SEQUENCE, TorchPlan, plan_attention, written
from ullage_demo.paged_kv import KVPool, RequestTable
from ullage_demo.seam import Batch, extend_lengths, present
from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetBatch,
    EagerDraftBatch,
    EagerTargetBatch,
    FlashinferDecode,
    FlashinferGraphDecode,
    FlashinferGraphTree,
    FlashinferPrefill,
    FlashinferTree,
)

EagerBatch = EagerTargetBatch | EagerDraftBatch

ONE_SLOT = 1
"""Pages as FlashInfer sees them: keys are listed slot by slot, so that pages of any size do."""


class Attending(Protocol):
    """A wrapper that is planned."""

    def run(self, q: Tensor, paged_kv_cache: Tensor | tuple[Tensor, ...]) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class FlashInferPlan:
    """What one planned wrapper attends to."""

    pool: KVPool
    out_cache_loc: Tensor | None
    wrapper: Attending

    def attend(self, layer: int, query: Tensor, scaling: float | None) -> Tensor:
        """`scaling` is that of the model, which the wrapper was planned with."""
        keys, values = self.pool.keys[layer][:, None], self.pool.values[layer][:, None]
        return self.wrapper.run(query.to(keys.dtype), (keys, values)).to(query.dtype)


@dataclass(frozen=True, slots=True)
class Shares:
    """Queries and keys of each padded request, known on the host.

    Padded tokens that belong to no request are requests of their own, which see one key, that of
    padding. `table_rows`: [requests] on the device.
    """

    table_rows: Tensor
    queries: tuple[int, ...]
    keys: tuple[int, ...]

    @property
    def last_pages(self) -> Tensor:
        """Each page holds one key."""
        return torch.ones(len(self.keys), dtype=torch.int32)

    def key_slots(self, table: RequestTable) -> Tensor:
        """Slots of all keys, one request's behind the other's: int32 on the device."""
        counts = torch.tensor(self.keys).to(table.device, non_blocking=True)
        return table.keys(self.table_rows, counts, sum(self.keys))

    def mask(self, visible: Tensor) -> Tensor:
        """Of `visible` [tokens, keys of the longest], what each request's queries see of its keys.

        bool [queries times keys, summed over requests], one request's behind the other's.
        """
        ends = list(accumulate(self.queries))
        return torch.cat(
            [
                visible[end - count : end, :keys].flatten()
                for end, count, keys in zip(ends, self.queries, self.keys, strict=True)
            ]
        )


class FlashInferAttention:
    """Plans of one configuration. A graph goes on with the wrapper that it was captured with."""

    def __init__(self, config: Config, head_dim: int) -> None:
        self._config = config
        self._head_dim = head_dim
        self._decode: FlashinferDecode | None = None
        self._prefill: FlashinferPrefill | None = None
        self._tree: FlashinferTree | None = None
        self._graph_decodes: dict[int, FlashinferGraphDecode] = {}
        self._graph_prefills: dict[tuple[int, int], FlashinferGraphTree] = {}

    @property
    def storages(self) -> Iterator[Tensor]:
        """None: graphs read the runner's slots, and numbers of wrappers that are kept with them."""
        return iter(())

    def plan(
        self, batch: Batch, pool: KVPool, table: RequestTable, tree: Tensor | None
    ) -> FlashInferPlan:
        if isinstance(batch, DecodeGraphTargetBatch):
            raise TypeError("A batch of a graph has a plan that its graph goes on reading.")
        shares = shares_of(batch, table, tree)
        if tree is not None:
            seen = plan_attention(batch, pool, table, tree)
            return FlashInferPlan(
                pool, seen.out_cache_loc, self._by_mask(batch, table, shares, seen)
            )
        if max(shares.queries) == 1:
            return FlashInferPlan(pool, written(batch), self._by_ones(batch, table, shares))
        return FlashInferPlan(pool, written(batch), self._by_lengths(batch, table, shares))

    def plan_graph(
        self, batch: Batch, pool: KVPool, table: RequestTable, tree: Tensor | None
    ) -> FlashInferPlan:
        if not isinstance(batch, DecodeGraphTargetBatch):
            raise TypeError(f"There are no graphs of {type(batch).__name__}.")
        shares = shares_of(batch, table, tree)
        if batch.tokens == batch.requests:  # the only token of a request sees all of its keys
            return FlashInferPlan(pool, written(batch), self._graph_by_ones(batch, table, shares))
        seen = plan_attention(batch, pool, table, tree)
        wrapper = self._graph_by_mask(batch, table, shares, seen)
        return FlashInferPlan(pool, seen.out_cache_loc, wrapper)

    def _by_ones(self, batch: EagerBatch, table: RequestTable, shares: Shares) -> FlashinferDecode:
        """A query to each request."""
        if self._decode is None:
            self._decode = FlashinferDecode(batch, self._config, use_tensor_cores=False)
        self._plan_ones(self._decode, table, shares)
        return self._decode

    def _graph_by_ones(
        self, batch: DecodeGraphTargetBatch, table: RequestTable, shares: Shares
    ) -> FlashinferGraphDecode:
        if batch.requests not in self._graph_decodes:
            self._graph_decodes[batch.requests] = FlashinferGraphDecode(
                batch, self._config, use_tensor_cores=False
            )
        wrapper = self._graph_decodes[batch.requests]
        self._plan_ones(wrapper, table, shares)
        return wrapper

    def _plan_ones(
        self,
        wrapper: FlashinferDecode | FlashinferGraphDecode,
        table: RequestTable,
        shares: Shares,
    ) -> None:
        wrapper.plan(
            indptr=offsets(shares.keys),
            indices=shares.key_slots(table),
            last_page_len=shares.last_pages,
            head_dim=self._head_dim,
            page_size=ONE_SLOT,
            q_data_type=torch.float16,
            kv_data_type=torch.float16,
            sm_scale=self._scale,
        )

    def _by_lengths(
        self, batch: EagerBatch, table: RequestTable, shares: Shares
    ) -> FlashinferPrefill:
        """Each query sees the keys up to its own, or all of its request."""
        if self._prefill is None:
            self._prefill = FlashinferPrefill(batch, self._config)
        self._prefill.plan(
            qo_indptr=offsets(shares.queries),
            paged_kv_indptr=offsets(shares.keys),
            paged_kv_indices=shares.key_slots(table),
            paged_kv_last_page_len=shares.last_pages,
            head_dim_qk=self._head_dim,
            page_size=ONE_SLOT,
            causal=batch.mode not in SEES_WHOLE_SEQUENCE,
            q_data_type=torch.float16,
            kv_data_type=torch.float16,
            sm_scale=self._scale,
        )
        return self._prefill

    def _by_mask(
        self, batch: EagerBatch, table: RequestTable, shares: Shares, seen: TorchPlan
    ) -> FlashinferTree:
        if self._tree is None:
            self._tree = FlashinferTree(batch, self._config)
        self._plan_mask(self._tree, table, shares, seen)
        return self._tree

    def _graph_by_mask(
        self,
        batch: DecodeGraphTargetBatch,
        table: RequestTable,
        shares: Shares,
        seen: TorchPlan,
    ) -> FlashinferGraphTree:
        shape = batch.requests, batch.tokens
        if shape not in self._graph_prefills:
            self._graph_prefills[shape] = FlashinferGraphTree(batch, self._config)
        wrapper = self._graph_prefills[shape]
        self._plan_mask(wrapper, table, shares, seen)
        return wrapper

    def _plan_mask(
        self,
        wrapper: FlashinferTree | FlashinferGraphTree,
        table: RequestTable,
        shares: Shares,
        seen: TorchPlan,
    ) -> None:
        """FlashInfer packs masks on the device, by offsets that it finds there."""
        wrapper.plan(
            qo_indptr=offsets(shares.queries).to(table.device),
            paged_kv_indptr=offsets(shares.keys).to(table.device),
            paged_kv_indices=shares.key_slots(table),
            paged_kv_last_page_len=shares.last_pages.to(table.device),
            head_dim_qk=self._head_dim,
            page_size=ONE_SLOT,
            custom_mask=shares.mask(seen.visible),
            q_data_type=torch.float16,
            kv_data_type=torch.float16,
            sm_scale=self._scale,
        )

    @property
    def _scale(self) -> float:
        return float(self._head_dim**-0.5)


def shares_of(batch: Batch, table: RequestTable, tree: Tensor | None) -> Shares:
    """Queries and keys of each padded request, see `Shares`; `tree`: see `Attention`."""
    drafted = 0 if tree is None else tree.shape[1]
    rows = present(batch.req_pool_indices, "req_pool_indices")
    lengths = present(batch.seq_lens_cpu, "seq_lens_cpu").tolist()
    queries = _queries(batch)
    extra = batch.tokens - sum(queries)
    return Shares(
        table_rows=torch.cat([rows, rows.new_zeros(extra)]),
        queries=(*queries, *[1] * extra),
        keys=(
            *(
                length + (drafted if request < batch.live_requests else 0)
                for request, length in enumerate(lengths)
            ),
            *[1] * extra,
        ),
    )


def _queries(batch: Batch) -> list[int]:
    """Tokens of each padded request; not more than the batch has, where requests are dummies."""
    live = batch.live_requests if batch.live_tokens else 0
    lengths = extend_lengths(batch)
    if lengths is not None:
        width, counts = 1, lengths[:live].tolist()
    else:
        width = batch.live_tokens // live if live else batch.tokens // max(batch.requests, 1)
        counts = [width] * live
    left = batch.tokens - sum(counts)
    for _ in range(batch.requests - live):
        counts.append(min(width, left))
        left -= counts[-1]
    return counts


def offsets(counts: Sequence[int]) -> Tensor:
    """Where each count begins, and the last one ends: int32 [counts + 1] on the host."""
    return torch.tensor([0, *accumulate(counts)], dtype=torch.int32)
