"""Padded batches as the generated runners hand them out, and what the demo must know of them.

The demo never looks past the rows of a padded batch.
"""

from __future__ import annotations

from torch import Tensor

from ullage_generated.sglang import (
    DecodeGraphTargetBatch,
    EagerDraftBatch,
    EagerTargetBatch,
    Mode,
)

Batch = EagerTargetBatch | EagerDraftBatch | DecodeGraphTargetBatch

RAGGED = frozenset(
    {
        Mode.EXTEND,
        Mode.MIXED,
        Mode.SPLIT_PREFILL,
        Mode.DECODE_BESIDE_EXTEND,
        Mode.IDLE_BESIDE_EXTEND,
    }
)
"""Modes whose requests differ in their number of tokens, so that rows do not follow from tokens."""


def extend_lengths(batch: Batch) -> Tensor | None:
    """New tokens of each padded request, int32; None where the rows follow from the tokens."""
    if isinstance(batch, DecodeGraphTargetBatch) or batch.mode not in RAGGED:
        return None
    return present(batch.extend_seq_lens, "extend_seq_lens")


def present(tensor: Tensor | None, name: str) -> Tensor:
    """A field that the mode must have. ValueError if it is absent."""
    if tensor is None:
        raise ValueError(f"The batch has no {name}.")
    return tensor
