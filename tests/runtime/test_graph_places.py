"""Places of a batch are looked at once for each set of views, and always where there are others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from ullage_runtime.graph_places import KNOWN, Place, Places

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Batch:
    """Two slots, as some mode sees them."""

    ids: Tensor
    lens: Tensor | None


def views(ids: Tensor, lens: Tensor) -> Batch:
    """Views of their own at the same places."""
    return Batch(ids[:3], lens[:3])


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Every tensor whose place is worked out."""
    found: list[Tensor] = []
    of = Place.of

    def counted(tensor: Tensor) -> Place:
        found.append(tensor)
        return of(tensor)

    monkeypatch.setattr(Place, "of", counted)
    return found


def test_batches_of_modes_that_take_turns_are_looked_at_once(looked_at: list[Tensor]) -> None:
    ids, lens = torch.zeros(8), torch.zeros(8)
    modes = [views(ids, lens) for _ in range(KNOWN)]
    places = Places(modes[0], CPU)
    assert len(looked_at) == 2
    for _ in range(3):
        for mode in modes:
            assert places.problem(Batch(mode.ids, mode.lens), has_rows=True) is None
    assert len(looked_at) == 2 * KNOWN


def test_views_that_moved_are_found_whatever_was_seen_before(looked_at: list[Tensor]) -> None:
    ids, lens = torch.zeros(8), torch.zeros(8)
    places = Places(views(ids, lens), CPU)
    for _ in range(2 * KNOWN):
        assert places.problem(views(ids, lens), has_rows=True) is None
        problem = places.problem(Batch(ids[1:4], lens[:3]), has_rows=True)
        assert problem is not None
        assert problem.startswith("ids has the address")
    lacking = places.problem(Batch(ids[:3], None), has_rows=True)
    assert lacking == "lens is not in the batch, but was when its graph was captured"


def test_what_was_not_captured_is_no_matter_of_a_batch_without_rows_alone() -> None:
    ids, lens = torch.zeros(8), torch.zeros(8)
    places = Places(Batch(ids[:3], None), CPU)
    both = views(ids, lens)
    for _ in range(2):
        assert places.problem(Batch(both.ids, both.lens), has_rows=False) is None
        problem = places.problem(Batch(both.ids, both.lens), has_rows=True)
        assert problem == "lens is in the batch, but was not when its graph was captured"
