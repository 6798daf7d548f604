"""What a runner demands before it places anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from ullage_runtime.errors import ConfigurationError
from ullage_runtime.ranks import Ranks, SingleRank
from ullage_runtime.requirements import (
    require_capacities,
    require_ranks,
    require_same_configuration,
)

PLACE = "specs/engine/engine.yaml:3"


@dataclass(frozen=True)
class Capacities:
    rows: int
    cells: int


def test_ranks_are_as_many_as_the_configuration_says() -> None:
    require_ranks("ranks", SingleRank(), "dp", 1, place=PLACE)
    with pytest.raises(ConfigurationError) as caught:
        require_ranks("ranks", SingleRank(), "dp", 2, place=PLACE)
    assert caught.value.code == "U702"
    assert "count of the ranks given, which is 1; give those of group dp" in str(caught.value)


@pytest.mark.parametrize("ranks", [None, 2, [0, 1], SingleRank])
def test_what_are_no_ranks_is_refused_with_what_would_be_some(ranks: object) -> None:
    wrong = cast(Ranks, object() if ranks is SingleRank else ranks)
    with pytest.raises(ConfigurationError) as caught:
        require_ranks("dp_ranks", wrong, "dp", 2, place=PLACE)
    assert caught.value.code == "U701"
    assert "must be the ranks of group dp, such as DistributedRanks" in str(caught.value)


def test_capacities_may_be_larger_than_needed_and_not_smaller() -> None:
    require_capacities("eager", Capacities(9, 4), Capacities(8, 4))
    with pytest.raises(ValueError, match=r"runner eager .*: rows is 7, not 8, cells is 3, not 4"):
        require_capacities("eager", Capacities(7, 3), Capacities(8, 4))


def test_another_configuration_is_told_by_what_differs() -> None:
    require_same_configuration("arenas", Capacities(9, 4), Capacities(9, 4))
    with pytest.raises(ValueError, match=r"^The arenas are for another .*: cells is 3, not 4\.$"):
        require_same_configuration("arenas", Capacities(8, 3), Capacities(8, 4))
