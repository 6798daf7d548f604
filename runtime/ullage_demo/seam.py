"""The one place where the demo meets a runner: what it loads, and what it gets back.

The demo hands over a live batch and reads the padded one. It never looks past the rows of the
padded batch, and slices what it computes back to the live rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from torch import Tensor


class Mode(IntEnum):
    """How a batch came about, which decides its extents."""

    DECODE = 0
    EXTEND = 1
    MIXED = 2
    IDLE = 3
    SPLIT_PREFILL = 4
    TARGET_VERIFY = 5
    EAGLE_DRAFT = 6
    DRAFT_EXTEND = 7
    FROZEN_KV_DRAFT = 8
    DLLM_EXTEND = 9
    DECODE_BESIDE_EXTEND = 10
    IDLE_BESIDE_EXTEND = 11


EXTEND_FAMILY = frozenset(
    {
        Mode.EXTEND,
        Mode.MIXED,
        Mode.SPLIT_PREFILL,
        Mode.TARGET_VERIFY,
        Mode.DRAFT_EXTEND,
        Mode.DLLM_EXTEND,
        Mode.DECODE_BESIDE_EXTEND,
        Mode.IDLE_BESIDE_EXTEND,
    }
)
"""Modes whose batches say how many tokens each request extends by."""

RAGGED = EXTEND_FAMILY - {Mode.TARGET_VERIFY, Mode.DRAFT_EXTEND, Mode.DLLM_EXTEND}
"""Modes whose requests differ in their number of tokens, so that rows do not follow from tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBatch:
    """What a scheduler hands to `load`; every tensor has exactly the live rows.

    `batch_size`: requests, before any top-k expansion of the rows. [tokens]: input_ids,
    positions, out_cache_loc; [requests]: the rest, int64 but for the two int32 extend lengths.
    The last three fields describe a MIXED batch, whose prefills come before its decodes.
    """

    mode: Mode
    batch_size: int
    input_ids: Tensor | None
    positions: Tensor | None
    req_pool_indices: Tensor | None
    seq_lens: Tensor | None
    seq_lens_cpu: Tensor | None
    out_cache_loc: Tensor | None = None
    extend_seq_lens: Tensor | None = None
    extend_prefix_lens: Tensor | None = None
    running_requests: int = 0
    prefill_requests: int = 0
    prefill_tokens: int = 0


class Batch(Protocol):
    """The padded batch: views of static buffers, valid until the next load of the same runner."""

    @property
    def live_requests(self) -> int:
        """Live rows along the request axis, after any top-k expansion."""
        ...

    @property
    def live_tokens(self) -> int: ...

    @property
    def requests(self) -> int:
        """Padded rows along the request axis."""
        ...

    @property
    def tokens(self) -> int: ...

    @property
    def input_ids(self) -> Tensor | None: ...

    @property
    def positions(self) -> Tensor | None: ...

    @property
    def out_cache_loc(self) -> Tensor | None: ...

    @property
    def req_pool_indices(self) -> Tensor | None: ...

    @property
    def seq_lens(self) -> Tensor | None: ...

    @property
    def seq_lens_cpu(self) -> Tensor | None: ...

    @property
    def extend_seq_lens(self) -> Tensor | None: ...

    @property
    def extend_prefix_lens(self) -> Tensor | None: ...


class Runner(Protocol):
    """Owns the static buffers of one model."""

    @property
    def max_requests(self) -> int: ...

    @property
    def max_tokens(self) -> int: ...

    def load(self, live: LiveBatch) -> Batch:
        """Copy and pad `live`. CapacityError if it does not fit; nothing is written then."""
        ...


def present(tensor: Tensor | None, name: str) -> Tensor:
    """A field that the mode must have. ValueError if it is absent."""
    if tensor is None:
        raise ValueError(f"The batch has no {name}.")
    return tensor
