"""A rank whose batch is refused keeps nobody waiting, whatever groups agree in whatever order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import pytest
import torch

from support.generated import package
from support.rank_threads import Meeting, ThreadRanks, at_once
from ullage_runtime.errors import BatchError, CapacityError, PeerError

# Any: the package exists only once the test has generated it.
Drawn = Any

SIDE = 2
"""Ranks of a group: one in each row of near ones crosses one in each column of far ones."""


def mesh(*, near: bool) -> tuple[list[Drawn], list[Meeting]]:
    """A runner for each rank, and the groups that meet."""
    cask = package("cask")
    config = cask.Config.of(ranks=SIDE, near=near)
    rows = [Meeting(SIDE) for _ in range(SIDE)]
    columns = [Meeting(SIDE) for _ in range(SIDE)]
    runners = [
        cask.PlainMainRunner(
            config, *_groups(config, rows[row], columns[column], row, column), device="cpu"
        )
        for row in range(SIDE)
        for column in range(SIDE)
    ]
    return runners, rows + columns


def _groups(
    config: Drawn, row: Meeting, column: Meeting, row_index: int, column_index: int
) -> tuple[ThreadRanks, ThreadRanks]:
    """In the order of the runner's arguments: of that in which its modes first use the groups."""
    return ThreadRanks(row, column_index), ThreadRanks(column, row_index)


def batch(rows: int, *, cells: int = 2) -> Drawn:
    cask = package("cask")
    return cask.LiveBatch(
        mode=cask.Mode.STEP,
        size=rows,
        ids=torch.arange(1, rows + 1),
        lengths=torch.tensor([2] * rows),
        table=torch.arange(1, cells + 1, dtype=torch.int32),
    )


def loads(runners: list[Drawn], refused: Collection[int], illegal: Drawn) -> list[object]:
    """What comes out of a load on each rank, where some bring an illegal batch."""
    return at_once(
        [
            partial(runner.load, illegal if rank in refused else batch(1 + rank))
            for rank, runner in enumerate(runners)
        ]
    )


EVERY_CHOICE = [
    refused for count in range(1, SIDE * SIDE + 1) for refused in combinations(range(4), count)
]


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("refused", EVERY_CHOICE, ids=str)
def test_every_rank_of_every_group_hears_of_a_refusal_and_goes_on(
    refused: tuple[int, ...], near: bool
) -> None:
    runners, meetings = mesh(near=near)
    before = [slot.clone() for runner in runners for slot in runner.registry.slots]
    found = loads(runners, refused, batch(60))
    for rank, outcome in enumerate(found):
        assert type(outcome) is (BatchError if rank in refused else PeerError), outcome
    after = [slot for runner in runners for slot in runner.registry.slots]
    assert all(map(torch.equal, before, after))
    assert all(meeting.exchanges <= 2 for meeting in meetings)
    again = loads(runners, (), None)
    assert [outcome.rows for outcome in again] == [4] * 4  # type: ignore[attr-defined]  # loaded


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize(
    "wrong",
    [{"ids": None}, {"ids": torch.arange(1, 5)}, {"table": torch.tensor([2.5, 3.5])}],
    ids=str,
)
def test_every_rank_hears_of_a_wrong_source(near: bool, wrong: dict[str, object]) -> None:
    runners, meetings = mesh(near=near)
    before = [slot.clone() for runner in runners for slot in runner.registry.slots]
    found = loads(runners, (1,), replace(batch(2), **wrong))
    for rank, outcome in enumerate(found):
        assert type(outcome) is (BatchError if rank == 1 else PeerError), outcome
    after = [slot for runner in runners for slot in runner.registry.slots]
    assert all(map(torch.equal, before, after))
    assert all(meeting.exchanges <= 2 for meeting in meetings)
    again = loads(runners, (), None)
    assert [outcome.rows for outcome in again] == [4] * 4  # type: ignore[attr-defined]  # loaded


def test_an_extent_that_only_the_source_shows_is_refused_before_the_exchange() -> None:
    runners, _ = mesh(near=True)
    capacity = runners[0].capacities.table_0
    found = loads(runners, (2,), batch(1, cells=capacity + 1))
    assert isinstance(found[2], CapacityError)
    message = "The batch of rank 0 (U711) was refused in first"
    assert message in str(found[3])
    assert all(isinstance(found[rank], PeerError) for rank in (0, 1, 3))


def test_a_batch_that_nothing_pads_is_refused_without_an_exchange() -> None:
    runners, meetings = mesh(near=True)
    with pytest.raises(BatchError):
        runners[0].load(batch(60), pad=False)
    assert [meeting.exchanges for meeting in meetings] == [0] * 4


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        ({"size": 6}, "rows is 6, outside [1, 5]; the upper end is usable = 5 with most = 8, "),
        ({"size": 0}, "rows is 0, outside [1, 5] ("),
        (
            {"size": 2, "more": 4},
            "more is 4, outside [0, 3]; the upper end is usable - rows = 3 with usable = 5, "
            "rows = 2, most = 8, spare = 3, near = true (",
        ),
        (
            {"size": 2, "lengths": torch.tensor([2, 9])},
            "length is 9, outside [1, 8]; the upper end is most = 8 (",
        ),
        (
            {"size": 5, "lengths": torch.tensor([8] * 5)},
            "sum_requests(length + 1) <= cells does not hold with sum_requests(length + 1) = 45, "
            "cells = 40 (",
        ),
    ],
)
def test_a_bound_is_shown_as_the_spec_has_it_with_what_it_depends_on(
    live: dict[str, object], expected: str
) -> None:
    cask = package("cask")
    (runner, *_), _ = mesh(near=True)
    with pytest.raises(BatchError) as caught:
        runner.load(cask.LiveBatch(mode=cask.Mode.STEP, **live), pad=False)
    assert expected in str(caught.value)
