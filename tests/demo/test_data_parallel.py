from __future__ import annotations

import pytest

from ullage_demo.checks import equals_generate
from ullage_demo.data_parallel import (
    RANKS,
    beside_others,
    main,
    rank_requests,
    serve_in_rounds,
    serve_on_all_ranks,
    went_beside_extends,
)
from ullage_demo.scenarios import Demo, target_worker
from ullage_demo.schedule import Scheduler, Step
from ullage_demo.seam import Mode
from ullage_demo.sizes import Sizes
from ullage_runtime.ranks import RecordedRanks, SingleRank


def test_ranks_have_uneven_work() -> None:
    counts = [len(rank_requests(rank, 12)) for rank in range(RANKS)]
    assert len(set(counts)) == RANKS


@pytest.mark.parametrize(
    ("mode", "extend", "runs_as"),
    [
        (Mode.DECODE, False, Mode.DECODE),
        (Mode.DECODE, True, Mode.DECODE_BESIDE_EXTEND),
        (Mode.IDLE, True, Mode.IDLE_BESIDE_EXTEND),
        (Mode.EXTEND, True, Mode.EXTEND),
    ],
)
def test_a_step_runs_as_its_round_demands(mode: Mode, extend: bool, runs_as: Mode) -> None:
    assert beside_others(Step(mode), extend=extend).mode is runs_as


def test_rounds_of_one_rank_serve_like_a_scheduler(demo: Demo) -> None:
    sizes = Sizes()
    worker = target_worker(sizes)
    requests = rank_requests(0, 4)
    scheduler = Scheduler(requests, worker.table, sizes.max_running, sizes.chunk)
    serve_in_rounds(worker, scheduler, SingleRank())
    assert equals_generate(demo.reference, requests, scheduler.results()).passed


def test_a_rank_without_work_stays_until_nobody_has_any() -> None:
    sizes = Sizes()
    worker = target_worker(sizes)
    scheduler = Scheduler([], worker.table, sizes.max_running, sizes.chunk)
    ranks = RecordedRanks(1, rounds=[[(1, 1)], [(1, 0)], [(0, 0)]], count=2)
    assert serve_in_rounds(worker, scheduler, ranks) == 2
    assert set(worker.runner.statistics) == {Mode.IDLE_BESIDE_EXTEND, Mode.IDLE}


@pytest.mark.slow
def test_two_processes_serve_in_step() -> None:
    outcomes = serve_on_all_ranks(8)
    assert [check for each in outcomes for check in each.checks if not check.passed] == []
    assert went_beside_extends(outcomes).passed
    rounds = {sum(row.steps for row in outcome.rows) for outcome in outcomes}
    assert len(rounds) == 1


@pytest.mark.slow
def test_the_command_shows_every_rank(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--requests", "9"]) == 0
    text = capsys.readouterr().out
    assert all(f"rank {rank}" in text for rank in range(RANKS))
