"""A hand-written runner behind the seam: private padded tensors, and no spec.

It pads by the rules of the generated runners and serves as their stand-in in tests, where
`alignment` forces padding that a small configuration would not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ullage_demo.seam import RAGGED, LiveBatch, present
from ullage_runtime.checks import check_extent
from ullage_runtime.integers import align_up
from ullage_runtime.loader import load_rows
from ullage_runtime.ranks import Ranks, SingleRank

TOKEN_SLOTS: Mapping[str, tuple[torch.dtype, int | None]] = {
    "input_ids": (torch.int64, None),
    "positions": (torch.int64, 0),
    "out_cache_loc": (torch.int64, 0),
}
REQUEST_SLOTS: Mapping[str, tuple[torch.dtype, int | None]] = {
    "req_pool_indices": (torch.int64, 0),
    "seq_lens": (torch.int64, 1),
    "seq_lens_cpu": (torch.int64, 1),
    "extend_seq_lens": (torch.int32, 0),
    "extend_prefix_lens": (torch.int32, 0),
}
"""Each slot's dtype, and what padded rows are filled with; None leaves them as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddedBatch:
    """Views of the runner's tensors; see `seam.Batch`."""

    live_requests: int
    live_tokens: int
    requests: int
    tokens: int
    input_ids: Tensor | None
    positions: Tensor | None
    out_cache_loc: Tensor | None
    req_pool_indices: Tensor | None
    seq_lens: Tensor | None
    seq_lens_cpu: Tensor | None
    extend_seq_lens: Tensor | None
    extend_prefix_lens: Tensor | None


class PassThroughRunner:
    """Copies each live batch into tensors of `max_requests` and `max_tokens` rows.

    `alignment`: rows and tokens are padded up to multiples of it; `ranks`: every rank takes the
    largest token count of all, as MLP-sync does, so that each load is one collective.
    """

    def __init__(
        self,
        max_requests: int,
        max_tokens: int,
        *,
        alignment: int = 1,
        ranks: Ranks | None = None,
    ) -> None:
        self.max_requests = max_requests
        self.max_tokens = max_tokens
        self._alignment = alignment
        self._ranks: Ranks = ranks or SingleRank()
        self._tokens = {
            name: torch.zeros(max_tokens, dtype=dtype) for name, (dtype, _) in TOKEN_SLOTS.items()
        }
        self._requests = {
            name: torch.full((max_requests,), fill or 0, dtype=dtype)
            for name, (dtype, fill) in REQUEST_SLOTS.items()
        }

    def load(self, live: LiveBatch) -> PaddedBatch:
        """CapacityError if the padded extents exceed the tensors."""
        live_requests = present(live.req_pool_indices, "req_pool_indices").shape[0]
        live_tokens = present(live.positions, "positions").shape[0]
        requests, tokens = self._padded(live, live_requests, live_tokens)
        self._check(live, "requests", requests, self.max_requests)
        self._check(live, "tokens", tokens, self.max_tokens)
        views = {
            name: _load(buffers[name], getattr(live, name), rows, padded, fill)
            for buffers, slots, rows, padded in (
                (self._tokens, TOKEN_SLOTS, live_tokens, tokens),
                (self._requests, REQUEST_SLOTS, live_requests, requests),
            )
            for name, (_, fill) in slots.items()
        }
        return PaddedBatch(
            live_requests=live_requests,
            live_tokens=live_tokens,
            requests=requests,
            tokens=tokens,
            **views,
        )

    def _padded(self, live: LiveBatch, requests: int, tokens: int) -> tuple[int, int]:
        (largest,) = self._ranks.max_of(align_up(tokens, self._alignment), collective="mlp_sync")
        if live.mode in RAGGED:
            return align_up(max(requests, min(largest, 1)), self._alignment), largest
        width = tokens // requests if requests else 1
        rows = align_up(-(-largest // width), self._alignment)
        return rows, rows * width

    def _check(self, live: LiveBatch, axis: str, extent: int, capacity: int) -> None:
        check_extent(
            live.mode.name.lower(),
            axis,
            extent,
            capacity,
            place="the pass-through runner, which has no spec",
            binding=f"max_{axis}",
        )


def _load(
    buffer: Tensor, source: Tensor | None, rows: int, padded: int, fill: int | None
) -> Tensor | None:
    if source is None:
        return None
    view = buffer[:padded]
    load_rows(view, source, rows, fill)
    return view
