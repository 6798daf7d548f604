"""Batches as SGLang's scheduler hands them to a runner, with other numbers for each seed.

Dtypes are those of its `schedule_batch`: int64, but int32 for `orig_seq_lens` and `extend_*`, and
`seq_lens_cpu` in pageable memory. Sources are never all zeros, which a kernel may move faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Any, Final

import torch
from torch import Tensor

from sglang_peer.stubs import module

VOCABULARY: Final = 1024
CACHE_SLOTS: Final = 1 << 19
REQUEST_ROWS: Final = 1024

ForwardBatch = Any
"""SGLang's dataclass, of whose types nothing is known here."""

LIGHT_FIELDS: Final = (
    *("forward_mode", "batch_size", "seq_lens_sum", "input_ids", "req_pool_indices", "seq_lens"),
    *("out_cache_loc", "positions", "seq_lens_cpu", "mrope_positions", "mamba_track_indices"),
    *("mamba_track_mask", "encoder_lens", "input_embeds", "num_token_non_padded"),
    *("global_num_tokens_gpu", "global_num_tokens_for_logprob_gpu", "orig_seq_lens", "rids"),
    *("extend_seq_lens", "extend_prefix_lens", "extend_start_loc", "capture_hidden_mode"),
)
LightForwardBatch: Final = make_dataclass(
    "LightForwardBatch", [(name, object, None) for name in LIGHT_FIELDS]
)
"""As many fields as loading needs: what the width of the real ForwardBatch costs is the rest."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a batch brings besides text; `int32`: fields in that dtype instead of int64."""

    mrope: bool = False
    mamba: bool = False
    encoder: bool = False
    int32: tuple[str, ...] = ()
    light: bool = False


PLAIN: Final = Contents()


def decode_batch(
    requests: int, width: int, *, device: torch.device, seed: int, contents: Contents = PLAIN
) -> ForwardBatch:
    """A decode step, or the verification of `width` tokens of each request."""
    numbers = _Numbers(seed)
    seq_lens = numbers.between(width + 1, 8000, requests)
    steps = torch.arange(width).repeat(requests)
    positions = (seq_lens - width).repeat_interleave(width) + steps
    mode = "DECODE" if width == 1 else "TARGET_VERIFY"
    return _batch(mode, numbers, seq_lens, positions, {}, {}, device, contents)


def extend_batch(
    requests: int, tokens: int, *, device: torch.device, seed: int, contents: Contents = PLAIN
) -> ForwardBatch:
    """Prompts of about equal length, every second one behind a cached prefix."""
    numbers = _Numbers(seed)
    lengths = torch.full((requests,), tokens // requests)
    lengths[: tokens % requests] += 1
    prefixes = numbers.between(0, 4096, requests)
    prefixes[::2] = 0
    starts = zip(prefixes.tolist(), lengths.tolist(), strict=True)
    positions = torch.cat([torch.arange(start, start + length) for start, length in starts])
    host = {
        "extend_num_tokens": tokens,
        "extend_seq_lens_cpu": lengths.tolist(),
        "extend_prefix_lens_cpu": prefixes.tolist(),
        "extend_logprob_start_lens_cpu": [0] * requests,
        "is_extend_in_batch": True,
    }
    extends = _extends(lengths, prefixes)
    return _batch("EXTEND", numbers, lengths + prefixes, positions, extends, host, device, contents)


class _Numbers:
    """Reproducible random numbers."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)

    def between(self, low: int, high: int, count: int) -> Tensor:
        return torch.randint(low, high, (count,), generator=self._generator)

    def distinct(self, high: int, count: int) -> Tensor:
        """Different numbers from 1 to `high`."""
        return torch.randperm(high, generator=self._generator)[:count] + 1


def _extends(lengths: Tensor, prefixes: Tensor) -> Mapping[str, Tensor]:
    starts = torch.cumsum(lengths, 0) - lengths
    return {
        "extend_seq_lens": lengths.to(torch.int32),
        "extend_prefix_lens": prefixes.to(torch.int32),
        "extend_start_loc": starts.to(torch.int32),
    }


def _batch(
    mode: str,
    numbers: _Numbers,
    seq_lens: Tensor,
    positions: Tensor,
    extends: Mapping[str, Tensor],
    host: Mapping[str, object],
    device: torch.device,
    contents: Contents,
) -> ForwardBatch:
    sglang = module("srt.model_executor.forward_batch_info")
    requests, tokens = len(seq_lens), len(positions)
    tensors: dict[str, Tensor] = {
        "input_ids": numbers.between(1, VOCABULARY, tokens),
        "req_pool_indices": numbers.distinct(REQUEST_ROWS, requests),
        "seq_lens": seq_lens,
        "out_cache_loc": numbers.distinct(CACHE_SLOTS, tokens),
        "positions": positions,
        "orig_seq_lens": seq_lens.to(torch.int32),
        **extends,
        **_optional(numbers, positions, requests, device, contents),
    }
    tensors |= {name: tensors[name].to(torch.int32) for name in contents.int32}
    given: dict[str, object] = {
        "forward_mode": sglang.ForwardMode[mode],
        "batch_size": requests,
        "seq_lens_sum": int(seq_lens.sum()),
        "seq_lens_cpu": seq_lens.clone(),
        "rids": [f"request-{row}" for row in range(requests)],
        "capture_hidden_mode": sglang.CaptureHiddenMode.NULL,
        **{name: tensor.contiguous().to(device) for name, tensor in tensors.items()},
        **host,
    }
    if contents.light:
        return LightForwardBatch(**{name: given.get(name) for name in LIGHT_FIELDS})
    return sglang.ForwardBatch(**given)


def _optional(
    numbers: _Numbers, positions: Tensor, requests: int, device: torch.device, contents: Contents
) -> Mapping[str, Tensor]:
    found: dict[str, Tensor] = {}
    if contents.mrope:
        axes = torch.tensor([[0], [1], [2]])
        found["mrope_positions"] = positions.unsqueeze(0) + axes
    if contents.mamba:
        found["mamba_track_indices"] = numbers.between(1, 512, requests)
        found["mamba_track_mask"] = numbers.between(0, 2, requests).to(torch.bool)
    if contents.encoder:
        dtype = torch.int64 if device.type == "cpu" else torch.int32
        found["encoder_lens"] = numbers.between(1, 1500, requests).to(dtype)
    return found
