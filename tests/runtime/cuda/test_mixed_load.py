"""Slots on the host beside those on the device: both are written, or neither."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from ullage_runtime.cuda.writer import _MixedLoad


class Noted:
    """A load that answers one thing, and notes what it was given."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.given: list[Tensor] = []

    def __call__(self, sources: Sequence[Tensor]) -> bool:
        self.given = list(sources)
        return self.answer


@pytest.mark.parametrize("answer", [True, False])
def test_slots_on_the_host_are_written_from_their_own_sources_if_those_on_the_device_were(
    answer: bool,
) -> None:
    device, host = Noted(answer), Noted(True)
    sources = [torch.tensor([i]) for i in range(4)]
    assert _MixedLoad(device, host, [0, 3])(sources) is answer
    assert [int(each) for each in device.given] == [0, 1, 2, 3]
    assert [int(each) for each in host.given] == ([0, 3] if answer else [])
