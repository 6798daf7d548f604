"""What is measured: decode and extend shapes, unpadded for eager runners, padded for graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import torch

from sglang_peer.batches import Contents, ForwardBatch, decode_batch, extend_batch

Kind = Literal["eager", "decode", "prefill"]

MAX_REQUESTS: Final = 1024
MAX_TOKENS: Final = 16384
"""Of one extend, and so of an eager registry; they have no effect on time."""

CAPTURED_ROWS: Final = {1: 2, 8: 12, 64: 72, 256: 272, 512: 544}
"""Requests, each with the rows of the graph that SGLang pads them to by default."""

CAPTURED_TOKENS: Final = (512, 2048, 8192)


@dataclass(frozen=True, slots=True)
class Case:
    """Live and padded rows, and the kind of registry that they are loaded into."""

    kind: Kind
    extends: bool
    requests: int
    padded_requests: int
    tokens: int
    padded_tokens: int

    @property
    def width(self) -> int:
        """Tokens of each request in a decode-shaped batch."""
        return 1 if self.extends else self.tokens // self.requests

    @property
    def label(self) -> str:
        shape = "extend" if self.extends else "decode"
        requests = f"{self.requests}->{self.padded_requests}"
        return f"{shape} {self.kind:7} bs {requests:8} tokens {self.tokens}->{self.padded_tokens}"

    def batch(self, device: torch.device, seed: int, contents: Contents) -> ForwardBatch:
        if self.extends:
            return extend_batch(
                self.requests, self.tokens, device=device, seed=seed, contents=contents
            )
        return decode_batch(self.requests, self.width, device=device, seed=seed, contents=contents)


def cases() -> Iterator[Case]:
    """Every case, decode shapes first."""
    for width in (1, 8):
        for rows, padded in CAPTURED_ROWS.items():
            yield Case("eager", False, rows, rows, rows * width, rows * width)
            yield Case("decode", False, rows, padded, rows * width, padded * width)
    for tokens in CAPTURED_TOKENS:
        yield Case("eager", True, 8, 8, tokens, tokens)
        yield Case("prefill", True, 8, 8, tokens - tokens // 16, tokens)
