"""Where a worker computes, and by whose kernels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import torch

from ullage_demo.paged_kv import Device


class AttentionLibrary(Enum):
    """Whose kernels attend."""

    TORCH = "torch"
    FLASHINFER = "flashinfer"


@dataclass(frozen=True, slots=True)
class Place:
    """`debug`: of the runners.

    The kernels of FlashInfer take heads of 64 and more, in half precision; all places that are
    compared with each other must have one model, so `head_dim` is set for them all.
    """

    device: Device = "cpu"
    library: AttentionLibrary = AttentionLibrary.TORCH
    head_dim: int = 16
    debug: bool = False

    @property
    def kv_dtype(self) -> torch.dtype:
        """Of keys and values in the pool."""
        return torch.float16 if self.library is AttentionLibrary.FLASHINFER else torch.float32


CPU = Place()

FLASHINFER_HEAD = 64
"""The smallest head that its kernels take."""
