"""Live batches from windows: consecutive tokens of a sequence that one forward computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ullage_demo.paged_kv import Device, RequestTable
from ullage_generated.sglang import LiveBatch, Mode


@dataclass(frozen=True, slots=True)
class Window:
    """`tokens` of the sequence in `row`, at positions from `start` on."""

    row: int
    start: int
    tokens: tuple[int, ...]

    @property
    def stop(self) -> int:
        return self.start + len(self.tokens)


def window_batch(
    mode: Mode, table: RequestTable, windows: Sequence[Window], *, decodes: int = 0
) -> LiveBatch:
    """A batch whose sequences end with their windows.

    `decodes`: for MIXED, how many of the last windows are decodes.
    """
    rows = [window.row for window in windows]
    lengths = integers(window.stop for window in windows)
    device = table.device
    prefills = windows[: len(windows) - decodes]
    mixed = mode is Mode.MIXED
    extend = "extending" in mode.families
    return LiveBatch(
        mode=mode,
        batch_size=len(windows),
        input_ids=integers((token for window in windows for token in window.tokens), device),
        positions=integers(
            (at for window in windows for at in range(window.start, window.stop)), device
        ),
        out_cache_loc=join([table.slots(w.row, w.start, w.stop) for w in windows], device),
        req_pool_indices=integers(rows, device),
        seq_lens=lengths.to(device),
        seq_lens_cpu=lengths,
        extend_seq_lens=small_integers((len(w.tokens) for w in windows), device)
        if extend
        else None,
        extend_prefix_lens=small_integers((w.start for w in windows), device) if extend else None,
        running_requests=decodes if mixed else 0,
        prefill_requests=len(prefills) if mixed else 0,
        prefill_tokens=sum(len(window.tokens) for window in prefills) if mixed else 0,
    )


def integers(values: Iterable[int], device: Device = "cpu") -> Tensor:
    """An int64 tensor."""
    return torch.tensor(list(values), dtype=torch.int64, device=device)


def small_integers(values: Iterable[int], device: Device) -> Tensor:
    """An int32 tensor, as extend lengths are."""
    return torch.tensor(list(values), dtype=torch.int32, device=device)


def join(parts: Sequence[Tensor], device: Device) -> Tensor:
    """One tensor of all parts, empty without any."""
    return torch.cat(list(parts)) if parts else integers([], device)
