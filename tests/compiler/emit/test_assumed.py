"""What load only assumes of a batch is checked in debug mode, where the spec says where it is."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.generated import generated, package
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import BatchError, PeerError
from ullage_runtime.ranks import RecordedRanks, Refusal, SingleRank

# Any: the package exists only once the test has generated it.
Drawn = Any


def runner(debug: bool | DebugOptions, *ranks: SingleRank | RecordedRanks) -> Drawn:
    cask = package("cask")
    near, far = ranks or (SingleRank(), SingleRank())
    config = cask.Config.of(ranks=near.count)
    return cask.PlainMainRunner(config, near, far, device="cpu", debug=debug)


def batch(**fields: torch.Tensor | int | None) -> Drawn:
    cask = package("cask")
    given = {
        "size": 3,
        "ids": torch.arange(1, 4),
        "lengths": torch.tensor([2, 3, 4]),
        "table": torch.arange(1, 7, dtype=torch.int32),
        "sizes": torch.tensor([1, 2, 3]),
        "depth": torch.tensor([4]),
        "grid": torch.ones(5, 2),
    }
    return cask.LiveBatch(mode=cask.Mode.STEP, **{**given, **fields})


ILLEGAL: list[tuple[dict[str, Drawn], str]] = [
    ({"sizes": torch.tensor([1, 10, 3])}, "U712: Mode 'step': size is 10, outside [1, 9] ("),
    ({"sizes": torch.tensor([1, 2])}, "U712: Mode 'step': number of size is 2, outside [3, 3]; "),
    ({"sizes": None}, "U712: Mode 'step': number of size is 0, outside [3, 3]; "),
    ({"depth": torch.tensor([9])}, "depth is 9, outside [0, 8]; the upper end is most = 8 ("),
    ({"depth": torch.tensor([1, 2])}, "U716: Mode 'step': depth has a source of shape (2,), but "),
    ({"depth": None}, "U713: Mode 'step': depth has no source in the batch ("),
    ({"grid": torch.ones(2, 5)}, "width is 5, outside [0, 4]; the upper end is depth = 4 ("),
    (
        {"depth": torch.tensor([6]), "grid": torch.ones(1, 3)},
        "depth + width <= most does not hold with depth = 6, width = 3, most = 8 (",
    ),
]
"""Each with what is wrong with it, and the beginning of what is said."""


@pytest.mark.parametrize(("wrong", "expected"), ILLEGAL, ids=lambda each: str(each)[:40])
@pytest.mark.slow
def test_what_is_assumed_wrongly_is_refused_in_debug_mode(
    wrong: dict[str, Drawn], expected: str
) -> None:
    with pytest.raises(BatchError) as caught:
        runner(True).load(batch(**wrong))
    assert expected in str(caught.value)


@pytest.mark.parametrize("wrong", [wrong for wrong, _ in ILLEGAL], ids=lambda each: str(each)[:40])
@pytest.mark.slow
def test_nothing_is_asked_of_what_is_assumed_without_debug_mode(wrong: dict[str, Drawn]) -> None:
    assert runner(False).load(batch(**wrong)).rows == 4
    assert runner(DebugOptions(canaries=True)).load(batch(**wrong)).rows == 4


@pytest.mark.slow
def test_a_relation_over_requests_is_checked_in_debug_mode() -> None:
    cask = package("cask")
    config = cask.Config.of(cells=14, ranks=1)
    checking = cask.PlainMainRunner(config, SingleRank(), SingleRank(), device="cpu", debug=True)
    with pytest.raises(BatchError, match=r"sum_requests\(size\) = 15, cells = 14"):
        checking.load(batch(sizes=torch.tensor([9, 5, 1])))
    assert checking.load(batch(sizes=torch.tensor([9, 4, 1]))).rows == 4


def test_a_wrong_assumption_enters_the_exchange_as_a_refusal() -> None:
    near, far = (RecordedRanks(0, [[(3,)], [(4,)]], count=2) for _ in range(2))
    checking = runner(True, near, far)
    with pytest.raises(BatchError, match="size is 10"):
        checking.load(batch(sizes=torch.tensor([1, 10, 3])))
    assert near.entered == [("first", Refusal("U712"))]
    assert far.entered == [("second", Refusal("U712"))]


def test_a_rank_hears_of_a_wrong_assumption_of_another() -> None:
    near, far = (RecordedRanks(0, [[Refusal("U712")]], count=2) for _ in range(2))
    with pytest.raises(PeerError, match="rank 1"):
        runner(True, near, far).load(batch())


def test_the_batch_to_warm_up_with_is_legal_in_debug_mode() -> None:
    cask = package("cask")
    config, alone = cask.Config.of(ranks=1), SingleRank()
    checking = cask.PlainMainRunner(config, alone, alone, device="cpu", debug=True)
    live = checking.largest_batch()
    assert checking.load(live).live_rows == checking.capacities.rows - 3
    assert live.sizes.tolist() == live.lengths.tolist() == [1] * live.size


def test_what_is_assumed_is_still_an_assumption_of_the_certificate() -> None:
    assert generated("cask")[0].certificate.assumed == ("step.size", "step.depth", "step.width")


@given(st.data())
@pytest.mark.slow
def test_every_legal_batch_is_loaded_in_debug_mode(data: st.DataObject) -> None:
    cask, strategies = package("cask"), package("cask", "strategies")
    config = data.draw(strategies.configs(span=6))
    live = data.draw(strategies.plain_main_batches(config, cask.Mode.STEP))
    ranks = SingleRank()
    if config.ranks == 1:
        cask.PlainMainRunner(config, ranks, ranks, device="cpu", debug=True).load(live)
