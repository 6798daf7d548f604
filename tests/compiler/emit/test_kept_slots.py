"""Slots that keep what they hold, where runners share all other storage."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from support.generated import package
from ullage_runtime.errors import BatchError

# Any: the package exists only once the test has generated it.
Drawn = Any


@pytest.fixture(params=[False, True], ids=["plain", "debug"])
def runners(request: pytest.FixtureRequest) -> tuple[Drawn, Drawn]:
    """Both runners in the arenas of one process."""
    ladle = package("ladle")
    config, debug = ladle.Config.of(), bool(request.param)
    arenas = ladle.Arenas.allocate(config, device="cpu", debug=debug)
    return (
        ladle.PlainMainRunner(config, device="cpu", debug=debug, arenas=arenas),
        ladle.SecondMainRunner(config, device="cpu", debug=debug, arenas=arenas),
    )


def batch(mode: str, size: int, picked: torch.Tensor | None = None) -> Drawn:
    ladle = package("ladle")
    ids = torch.arange(11, 11 + size)
    return ladle.LiveBatch(mode=ladle.Mode[mode], size=size, ids=ids, picked=picked)


def scored(plain: Drawn) -> torch.Tensor:
    """Scores as a step leaves them after a load."""
    scores = torch.Tensor(plain.load(batch("POUR", 5)).scores)
    scores.copy_(torch.linspace(0.1, 0.9, scores.numel()).reshape(scores.shape))
    return scores


def test_what_is_kept_outlives_the_loads_of_other_runners(runners: tuple[Drawn, Drawn]) -> None:
    plain, second = runners
    scores = scored(plain)
    before = scores.clone()
    for size in (6, 3):
        second.load(batch("CHOOSE", size, torch.full((size,), 0.5)))
    assert torch.equal(scores, before)
    plain.registry.regions.check_canaries()


def test_what_is_not_kept_shares_storage(runners: tuple[Drawn, Drawn]) -> None:
    plain, second = runners
    ids, other = plain.registry.ids, second.registry.ids
    assert ids.data_ptr() == other.data_ptr()


def test_what_is_kept_may_be_the_source_of_another_runner(runners: tuple[Drawn, Drawn]) -> None:
    plain, second = runners
    best = scored(plain).flatten()[3:8]
    loaded = second.load(batch("CHOOSE", 5, best))
    assert torch.equal(loaded.picked[:5], best)


def test_what_a_runner_keeps_is_no_source_of_its_own_slots() -> None:
    ladle = package("ladle")
    plain = ladle.PlainMainRunner(ladle.Config.of(), device="cpu")
    own = plain.registry.scores.flatten()[:10].view(torch.int64)
    live = ladle.LiveBatch(mode=ladle.Mode.POUR, size=5, ids=own, picked=None)
    with pytest.raises(BatchError, match="U718"):
        plain.load(live)


def test_what_is_kept_is_no_source_once_it_is_not_kept(runners: tuple[Drawn, Drawn]) -> None:
    plain, second = runners
    plain.load(batch("POUR", 5))
    lost = plain.registry.table.flatten()[1:6].view(torch.float32)
    with pytest.raises(BatchError, match="U718"):
        second.load(batch("CHOOSE", 5, lost))
