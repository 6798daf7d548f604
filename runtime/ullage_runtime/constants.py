"""Slots that are written once, when their runner is made, and then left."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ullage_runtime.debug import unchanged
from ullage_runtime.errors import DebugError


class Constant(NamedTuple):
    """One slot, what each of its elements is by its position from 0 on, and where that is said."""

    name: str
    slot: Tensor
    element: Callable[[int], int]
    place: str

    def write(self) -> None:
        """Write every element."""
        self.slot.copy_(self._elements())

    def require_unchanged(self) -> None:
        """Debug mode: the slot still holds what was written. DebugError (U739) if not."""
        if not unchanged(self.slot, self._elements().to(self.slot.device)):
            raise DebugError(
                "U739",
                f"Slot {self.name} no longer holds what was written into it at the start "
                f"({self.place}).",
            )

    def _elements(self) -> Tensor:
        """What the slot holds, on the host."""
        values = [self.element(position) for position in range(self.slot.numel())]
        return torch.tensor(values, dtype=self.slot.dtype).view(self.slot.shape)
