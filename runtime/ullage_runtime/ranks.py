"""What ranks agree on before they load: counts, exchanged in declared order.

Every rank of a group enters every collective, idle ranks with a count of 0. One call is one
exchange, however many values it carries. A rank whose batch is refused enters the exchange too,
with the refusal in place of its counts, so that no other rank waits for it or loads without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.distributed as dist

from ullage_runtime.errors import DebugError, PeerError, UllageRuntimeError

Gathered = tuple[tuple[int, ...], ...]
"""One tuple of values per rank, in rank order."""

_gather_into: Callable[[torch.Tensor, torch.Tensor, dist.ProcessGroup | None], object] = getattr(
    # torch 2.13 has given the function another name, and warns of the one that it had before.
    dist,
    "all_gather_single",
    dist.all_gather_into_tensor,
)

ACCEPTED = 0
"""What a rank sends before its values if its batch is legal; otherwise the number of a code."""


class Ranks(Protocol):
    """One group of ranks as one of them sees it. `collective` names the exchange in errors.

    An exchange in which another rank refuses its batch raises PeerError (U720) on every rank.
    """

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

    def refuse(self, refusal: UllageRuntimeError, values: int, *, collective: str = "") -> None:
        """Enter the exchange of so many values only to say that this rank's batch is refused."""
        ...


class GatheringRanks(ABC):
    """Refusals and reductions on the host, from the one exchange that a subclass provides.

    Reducing here keeps it to one kind of collective, so that no rank can be in another one.
    """

    rank: int
    count: int

    @abstractmethod
    def exchange(self, message: tuple[int, ...], collective: str) -> Gathered:
        """The messages of all ranks, in rank order; they are of one length."""

    def gather(self, *values: int, collective: str = "") -> Gathered:
        rows = self.exchange((ACCEPTED, *values), collective)
        refused = {rank: f"U{row[0]}" for rank, row in enumerate(rows) if row[0] != ACCEPTED}
        if refused:
            raise PeerError(refused, collective)
        return tuple(row[1:] for row in rows)

    def refuse(self, refusal: UllageRuntimeError, values: int, *, collective: str = "") -> None:
        self.exchange((int(refusal.code[1:]), *(0,) * values), collective)

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

    def refuse(self, refusal: UllageRuntimeError, values: int, *, collective: str = "") -> None:
        """Nobody has to be told."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a rank contributes to an exchange when its batch is refused, by the error's code."""

    code: str


class RecordedRanks(GatheringRanks):
    """Stands for one rank of a group whose peers' values are known, for tests and replays.

    `rounds`: for each exchange in turn, what the other ranks contribute in rank order, values or
    a Refusal. `entered` records what this rank contributed: the collective's name, and the same.
    """

    def __init__(
        self, rank: int, rounds: Iterable[Sequence[Sequence[int] | Refusal]], count: int
    ) -> None:
        if not 0 <= rank < count:
            raise ValueError(f"Rank {rank} is not one of {count} ranks.")
        self.rank = rank
        self.count = count
        self.entered: list[tuple[str, tuple[int, ...] | Refusal]] = []
        self._rounds = iter(rounds)

    def exchange(self, message: tuple[int, ...], collective: str) -> Gathered:
        """ValueError if no round is left or the round does not match this exchange."""
        number, width = len(self.entered), len(message) - 1
        peers = next(self._rounds, None)
        if peers is None:
            raise ValueError(f"Only {number} rounds are recorded, and {collective!r} is one more.")
        widths = {len(row) for row in peers if not isinstance(row, Refusal)}
        if len(peers) != self.count - 1 or not widths <= {width}:
            raise ValueError(f"Round {number} does not fit {width} values of {self.count} ranks.")
        status, *values = message
        own = tuple(values) if status == ACCEPTED else Refusal(f"U{status}")
        self.entered.append((collective, own))
        rows = [_message_of(row, width) for row in peers]
        rows.insert(self.rank, message)
        return tuple(rows)


def _message_of(contribution: Sequence[int] | Refusal, width: int) -> tuple[int, ...]:
    if isinstance(contribution, Refusal):
        return int(contribution.code[1:]), *(0,) * width
    return ACCEPTED, *contribution


class DistributedRanks(GatheringRanks):
    """A group of torch.distributed: gloo with device cpu, NCCL with this rank's CUDA device.

    Buffers are allocated once for each number of values. `check_order` (debug mode, the same on all
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

    def exchange(self, message: tuple[int, ...], collective: str) -> Gathered:
        width = len(message)
        if self._check_order:
            noun = "value" if width == 2 else "values"
            self._require_same_collective(f"{collective or 'unnamed'} ({width - 1} {noun})")
        exchange = self._exchanges.get(width)
        if exchange is None:
            exchange = _Exchange(width, self.count, self._device)
            self._exchanges[width] = exchange
        return exchange.run(message, self._group)

    def _require_same_collective(self, entered: str) -> None:
        everyone: list[str] = [""] * self.count
        dist.all_gather_object(everyone, entered, group=self._group)
        if len(set(everyone)) > 1:
            listed = ", ".join(f"rank {rank}: {name}" for rank, name in enumerate(everyone))
            raise DebugError("U734", f"The ranks entered different collectives ({listed}).")


class _Exchange:
    """Preallocated int64 buffers for one all-gather of `width` numbers from `count` ranks."""

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
        _gather_into(self._all, self._mine, group)
        flat: list[int] = self._all.tolist()
        width = self._width
        return tuple(tuple(flat[rank * width : (rank + 1) * width]) for rank in range(self._count))
