"""What ranks agree on before they load: counts, exchanged in declared order.

Every rank of a group enters every collective, idle ranks with a count of 0. One call is one
exchange, however many values it carries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
import torch.distributed as dist

from ullage_runtime.errors import DebugError

Gathered = tuple[tuple[int, ...], ...]
"""One tuple of values per rank, in rank order."""


class Ranks(Protocol):
    """One group of ranks as one of them sees it. `collective` names the exchange in errors."""

    @property
    def rank(self) -> int: ...

    @property
    def count(self) -> int: ...

    def max_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        """The largest of each value over all ranks."""
        ...

    def sum_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        """The sum of each value over all ranks."""
        ...

    def gather(self, *values: int, collective: str = "") -> Gathered:
        """The values of every rank."""
        ...


class _Gathering(ABC):
    """Reductions on the host, from the one exchange that a subclass provides.

    Reducing here keeps it to one kind of collective, so that no rank can be in another one.
    """

    @abstractmethod
    def gather(self, *values: int, collective: str = "") -> Gathered:
        """The values of every rank."""

    def max_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        rows = self.gather(*values, collective=collective)
        return tuple(max(column) for column in zip(*rows, strict=True))

    def sum_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        rows = self.gather(*values, collective=collective)
        return tuple(sum(column) for column in zip(*rows, strict=True))


class SingleRank:
    """A group of one: every exchange is the identity."""

    rank = 0
    count = 1

    def max_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        return values

    def sum_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        return values

    def gather(self, *values: int, collective: str = "") -> Gathered:
        return (values,)


class RecordedRanks(_Gathering):
    """Stands for one rank of a group whose peers' values are known, for tests and replays.

    `rounds`: for each exchange in turn, the values of the other ranks in rank order. `entered`
    records what this rank contributed: the collective's name and its values.
    """

    def __init__(self, rank: int, rounds: Iterable[Sequence[Sequence[int]]], count: int) -> None:
        if not 0 <= rank < count:
            raise ValueError(f"Rank {rank} is not one of {count} ranks.")
        self.rank = rank
        self.count = count
        self.entered: list[tuple[str, tuple[int, ...]]] = []
        self._rounds = iter(rounds)

    def gather(self, *values: int, collective: str = "") -> Gathered:
        """ValueError if no round is left or the round does not match this exchange."""
        number = len(self.entered)
        peers = next(self._rounds, None)
        if peers is None:
            raise ValueError(f"Only {number} rounds are recorded, and {collective!r} is one more.")
        widths = {len(row) for row in peers} | {len(values)}
        if len(peers) != self.count - 1 or len(widths) != 1:
            raise ValueError(
                f"Round {number} does not fit {len(values)} values of {self.count} ranks."
            )
        self.entered.append((collective, values))
        rows = [tuple(row) for row in peers]
        rows.insert(self.rank, values)
        return tuple(rows)


class DistributedRanks(_Gathering):
    """A group of torch.distributed: gloo with device cpu, NCCL with this rank's CUDA device.

    Buffers are allocated once per number of values. `check_order` (debug mode, the same on all
    ranks) first exchanges the collective's name, so that ranks that entered different ones get
    DebugError (U734) instead of a hang or each other's numbers.
    """

    def __init__(
        self,
        group: dist.ProcessGroup | None,
        device: torch.device | str,
        *,
        check_order: bool = False,
    ) -> None:
        self.rank = dist.get_rank(group)
        self.count = dist.get_world_size(group)
        self._group = group
        self._device = torch.device(device)
        self._check_order = check_order
        self._exchanges: dict[int, _Exchange] = {}

    def gather(self, *values: int, collective: str = "") -> Gathered:
        if self._check_order:
            noun = "value" if len(values) == 1 else "values"
            self._require_same_collective(f"{collective or 'unnamed'} ({len(values)} {noun})")
        if not values:
            return ((),) * self.count
        exchange = self._exchanges.get(len(values))
        if exchange is None:
            exchange = _Exchange(len(values), self.count, self._device)
            self._exchanges[len(values)] = exchange
        return exchange.run(values, self._group)

    def _require_same_collective(self, entered: str) -> None:
        everyone: list[str] = [""] * self.count
        dist.all_gather_object(everyone, entered, group=self._group)
        if len(set(everyone)) > 1:
            listed = ", ".join(f"rank {rank}: {name}" for rank, name in enumerate(everyone))
            raise DebugError("U734", f"The ranks entered different collectives ({listed}).")


class _Exchange:
    """Preallocated int64 buffers for one all-gather of `width` values from `count` ranks."""

    def __init__(self, width: int, count: int, device: torch.device) -> None:
        pin = device.type == "cuda"
        with torch.inference_mode(False):
            self._staged = torch.zeros(width, dtype=torch.int64, pin_memory=pin)
            self._mine = self._staged.to(device)
            self._all = torch.zeros(count * width, dtype=torch.int64, device=device)
        self._width = width
        self._count = count

    def run(self, values: tuple[int, ...], group: dist.ProcessGroup | None) -> Gathered:
        for index, value in enumerate(values):
            self._staged[index] = value
        if self._mine is not self._staged:
            self._mine.copy_(self._staged, non_blocking=True)
        dist.all_gather_into_tensor(self._all, self._mine, group=group)
        flat: list[int] = self._all.tolist()
        width = self._width
        return tuple(tuple(flat[rank * width : (rank + 1) * width]) for rank in range(self._count))
