"""A second worker that computes each batch of another one, and is compared with it.

It is taught the tokens of the first: whatever it would have chosen, the next batch is the first
one's, so that every step of a run can be compared and not only those before the first difference.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ullage_demo.checks import Check
from ullage_demo.engine import LayerGroup
from ullage_demo.paged_kv import Device, RequestTable
from ullage_generated.sglang import LiveBatch, Mode

if TYPE_CHECKING:
    from ullage_demo.worker import Worker

TOLERANCE = 0.05
"""Logits of the demo's model are within a few tens; half precision moves them so far."""


@dataclass(slots=True)
class Agreement:
    """What came of the rows of one mode: how many, and where the two did not agree.

    `clear`: rows whose best logit leads by more than twice the tolerance, so that both must choose
    the same token; `different`: those of them where they do not.
    """

    rows: int = 0
    worst: float = 0.0
    clear: int = 0
    different: int = 0

    def add(self, expected: Tensor, given: Tensor) -> None:
        """Both [rows, vocabulary] on one device, float32."""
        self.rows += expected.shape[0]
        difference = (expected - given).abs().nan_to_num(nan=torch.inf)
        self.worst = max(self.worst, float(difference.max()))
        best = expected.topk(2).values
        clear = best[:, 0] - best[:, 1] > 2 * TOLERANCE
        same = expected.argmax(-1) == given.argmax(-1)
        self.clear += int(clear.sum())
        self.different += int((clear & ~same).sum())

    @property
    def passed(self) -> bool:
        return self.clear > 0 and self.different == 0 and self.worst <= TOLERANCE


@dataclass(slots=True)
class Student:
    """`worker` computes what another one has computed; `agreements`: by mode."""

    worker: Worker
    agreements: dict[Mode, Agreement] = field(default_factory=lambda: defaultdict(Agreement))
    _hidden: Tensor | None = None

    def follow(
        self, table: RequestTable, live: LiveBatch, logits: Tensor, *, tree: Tensor | None
    ) -> None:
        """Compute a batch of the other worker, which has these `logits` [tokens, vocabulary]."""
        self._see(table)
        given = self.worker.forward(moved(live, self._device), tree=tree)
        self._compare(live, logits, given)

    def follow_layers(
        self, table: RequestTable, live: LiveBatch, group: LayerGroup, states: Tensor
    ) -> None:
        """The same of a group of layers, from what this worker's layers before them gave."""
        self._see(table)
        hidden = None if group.hidden is None else self._hidden
        own = replace(group, hidden=hidden)
        self._hidden = self.worker.forward_layers(moved(live, self._device), own)
        if group.layers.stop == len(self.worker.model.model.layers):
            self._compare(live, states, self._hidden)

    @property
    def _device(self) -> torch.device:
        return self.worker.table.device

    def _see(self, table: RequestTable) -> None:
        """Sequences lie in the same slots of this worker's pool."""
        self.worker.table.req_to_token.copy_(table.req_to_token)

    def _compare(self, live: LiveBatch, expected: Tensor, given: Tensor) -> None:
        if expected.shape[0]:
            self.agreements[live.mode].add(expected.float(), given.to(expected.device).float())


def agrees(*workers: Worker) -> tuple[Check, ...]:
    """A check for each mode that a student has followed."""
    return tuple(
        Check(
            f"{mode.value} agrees with the first",
            agreement.passed,
            f"{agreement.rows} rows, logits within {agreement.worst:.1e} of {TOLERANCE:g}; "
            f"{agreement.different} of {agreement.clear} clear choices differ",
        )
        for worker in workers
        if worker.student is not None
        for mode, agreement in worker.student.agreements.items()
    )


def moved(live: LiveBatch, device: Device) -> LiveBatch:
    """The batch with its tensors on `device`, but for those that every engine keeps on the host."""
    copied = copy(live)
    for each in fields(live):
        value = getattr(live, each.name)
        if isinstance(value, Tensor) and not each.name.endswith("_cpu"):
            object.__setattr__(copied, each.name, value.to(device))  # frozen, and has no other way
    return copied
