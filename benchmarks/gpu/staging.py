"""A batch that a scheduler keeps on the host, as numpy arrays: one step of it on the device.

Beside it each field has a pinned pair, as in vLLM: the values are written into the pinned half
through numpy, the tail of a padded batch as well, and the half is sent by a transfer of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpu.timing import Way, host_microseconds, round_microseconds
from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetRunner,
    EagerTargetRunner,
    LiveBatch,
    Mode,
)
from ullage_runtime.ranks import SingleRank

FIELDS = ("input_ids", "positions", "out_cache_loc", "req_pool_indices", "seq_lens")
FILLS = {"seq_lens": 1}
"""Of padded rows; others hold 0."""

DECODES = (1, 8, 32, 128, 512)
LARGE = (512, 2048, 8192)
"""Of which the device reads 20 to 320 KiB where the host left them."""

PADDED = ((3, 4), (21, 24), (100, 128), (500, 512))
"""Requests, and the bucket that they are padded to."""

Arrays = Mapping[str, "np.ndarray[tuple[int], np.dtype[np.int64]]"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A field on both sides. `values`: the pinned half, for numpy."""

    pinned: Tensor
    device: Tensor

    @classmethod
    def of(cls, capacity: int) -> Pair:
        pinned = torch.zeros(capacity, dtype=torch.int64, pin_memory=True)
        return cls(pinned, torch.zeros(capacity, dtype=torch.int64, device="cuda"))


def arrays(requests: int) -> Arrays:
    drawn = np.random.default_rng(requests)
    return {name: drawn.integers(1, 1000, requests) for name in FIELDS}


def live_of(values: Arrays, requests: int) -> LiveBatch:
    return LiveBatch(
        mode=Mode.DECODE,
        batch_size=requests,
        input_ids=torch.from_numpy(values["input_ids"]),
        positions=torch.from_numpy(values["positions"]),
        out_cache_loc=torch.from_numpy(values["out_cache_loc"]),
        req_pool_indices=torch.from_numpy(values["req_pool_indices"]),
        seq_lens=torch.from_numpy(values["seq_lens"]),
    )


def by_pairs(values: Arrays, padded: int) -> tuple[Way, Mapping[str, Pair]]:
    """One transfer for each field."""
    pairs = {name: Pair.of(padded) for name in values}
    halves = {name: pair.pinned.numpy() for name, pair in pairs.items()}

    def load() -> None:
        for name, each in values.items():
            live, half, pair = len(each), halves[name], pairs[name]
            half[:live] = each
            if live < padded:
                half[live:] = FILLS.get(name, 0)
            pair.device[:padded].copy_(pair.pinned[:padded], non_blocking=True)

    return load, pairs


Runner = EagerTargetRunner | DecodeGraphTargetRunner


def ways(runner: Runner, requests: int, padded: int) -> dict[str, Way]:
    """SystemExit if they leave different values."""
    values = arrays(requests)
    live = live_of(values, requests)
    by_fields, pairs = by_pairs(values, padded)
    batch = runner.load(live)
    by_fields()
    for name, pair in pairs.items():
        if not torch.equal(getattr(batch, name), pair.device[:padded]):
            raise SystemExit(f"{name} is not what its pair holds")
    return {
        "load": lambda: runner.load(live),
        "load, with tensors and batch made": lambda: runner.load(live_of(values, requests)),
        "a pinned pair for each field": by_fields,
    }


def record() -> dict[str, object]:
    """All of it."""
    config = Config.from_arguments(
        {
            "max_running_requests": max(LARGE),
            "enable_decode_graph": True,
            "capture_requests": [padded for _, padded in PADDED],
        }
    )
    eager = EagerTargetRunner(config, SingleRank(), device="cuda")
    graphs = DecodeGraphTargetRunner(config, SingleRank(), device="cuda")
    return {
        "what": "one step of a batch on the host, of five fields of int64; us, medians",
        "decode": {each: host_microseconds(ways(eager, each, each)) for each in DECODES},
        "padded decode": {
            f"{requests} to {padded}": host_microseconds(ways(graphs, requests, padded))
            for requests, padded in PADDED
        },
        "decode, until the device is done": {
            each: round_microseconds(ways(eager, each, each)) for each in LARGE
        },
    }
