"""Slots on the host beside those on the device: both are written, or neither."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from ullage_runtime.native.writer import _MixedLoad


@pytest.mark.parametrize("answer", [True, False])
def test_slots_on_the_host_are_written_from_their_own_sources_if_those_on_the_device_were(
    answer: bool,
) -> None:
    seen: list[list[int]] = []

    def device(sources: Sequence[Tensor]) -> bool:
        seen.append([int(each) for each in sources])
        return answer

    def host(sources: Sequence[Tensor]) -> bool:
        seen.append([int(each) for each in sources])
        return True

    sources = [torch.tensor([i]) for i in range(4)]
    assert _MixedLoad(device, host, [0, 3])(sources) is answer
    assert seen == [[0, 1, 2, 3], *([[0, 3]] if answer else [])]
