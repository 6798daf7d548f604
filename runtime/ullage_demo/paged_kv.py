"""The paged key-value cache: pools of slots, and the table that says where each token lies.

Page 0, with slot 0, and row 0 of the request table belong to padding: padded rows write into
slot 0, and read it, so that they need no branch anywhere.
"""

from __future__ import annotations

import torch
from torch import Tensor

Device = torch.device | str


class CacheFullError(Exception):
    """No free request row, or not enough free pages."""


class KVPool:
    """Keys and values of one model: [slots, kv_heads, head_dim] for each layer.

    `twin`: a pool of another engine that serves the same sequences in the same slots.
    """

    def __init__(
        self,
        layers: int,
        slots: int,
        kv_heads: int,
        head_dim: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: Device = "cpu",
    ) -> None:
        shape = (slots, kv_heads, head_dim)
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.twin: KVPool | None = None

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store `keys` and `values` [tokens, kv_heads, head_dim] at `slots` [tokens]."""
        self.keys[layer][slots] = keys.to(self.keys[layer].dtype)
        self.values[layer][slots] = values.to(self.values[layer].dtype)

    def read(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values at `slots`, each [*slots.shape, kv_heads, head_dim]."""
        return self.keys[layer][slots], self.values[layer][slots]

    def move(self, sources: Tensor, targets: Tensor) -> None:
        """Copy slots [n] onto others in every layer; the two may overlap."""
        for stored in (*self.keys, *self.values):
            stored[targets] = stored[sources]
        if self.twin is not None:
            device = self.twin.keys[0].device
            self.twin.move(sources.to(device), targets.to(device))


class RequestTable:
    """Hands out request rows and pages; `req_to_token` [rows, width] maps positions to slots.

    The free pages start shuffled, so that no sequence lies in the pool in order.
    """

    def __init__(
        self,
        requests: int,
        width: int,
        pages: int,
        page_size: int,
        *,
        seed: int = 0,
        device: Device = "cpu",
    ) -> None:
        self.page_size = page_size
        self.req_to_token = torch.zeros(requests + 1, width, dtype=torch.int64, device=device)
        shuffled = torch.randperm(pages, generator=torch.Generator().manual_seed(seed)) + 1
        self._free_pages: list[int] = shuffled.tolist()
        self._free_rows = list(range(requests, 0, -1))
        self._pages: dict[int, list[int]] = {}

    @property
    def device(self) -> torch.device:
        return self.req_to_token.device

    @property
    def free_pages(self) -> int:
        return len(self._free_pages)

    def fits(self, length: int) -> bool:
        """Whether a request of `length` tokens can be admitted now."""
        return bool(self._free_rows) and self._pages_for(length) <= len(self._free_pages)

    def admit(self, length: int) -> int:
        """Reserve pages for `length` tokens; returns the row. CacheFullError if they lack."""
        if length > self.req_to_token.shape[1]:
            width = self.req_to_token.shape[1]
            raise CacheFullError(f"A request of {length} tokens exceeds the table's {width}.")
        if not self.fits(length):
            raise CacheFullError(f"No row or no pages are left for {length} tokens.")
        row = self._free_rows.pop()
        pages = [self._free_pages.pop() for _ in range(self._pages_for(length))]
        first = torch.tensor(pages)[:, None] * self.page_size
        slots = (first + torch.arange(self.page_size)).flatten()
        self.req_to_token[row, :length] = slots[:length].to(self.device)
        self._pages[row] = pages
        return row

    def release(self, row: int) -> None:
        """Give back the row and its pages."""
        self._free_pages.extend(self._pages.pop(row))
        self.req_to_token[row] = 0
        self._free_rows.append(row)

    def pages(self, row: int) -> tuple[int, ...]:
        """The row's pages, in the order of its positions."""
        return tuple(self._pages[row])

    def keys(self, rows: Tensor, counts: Tensor, total: int) -> Tensor:
        """The first `counts` slots of each of the `rows`, one behind the other: int32 [total].

        `rows`, `counts`: [requests] on the table's device; `total`: their sum, known on the host.
        """
        requests = torch.arange(rows.shape[0], device=self.device)
        owners = torch.repeat_interleave(requests, counts, output_size=total)
        starts = counts.cumsum(0) - counts
        columns = torch.arange(total, device=self.device) - starts[owners]
        return self.req_to_token[rows[owners], columns].to(torch.int32)

    def slots(self, row: int, start: int, stop: int) -> Tensor:
        """Slots of positions [start, stop) of a row."""
        return self.req_to_token[row, start:stop]

    def _pages_for(self, length: int) -> int:
        return -(-length // self.page_size)
