from __future__ import annotations

import pytest

from ullage_demo.checks import equals_generate
from ullage_demo.data_parallel import (
    ALIGNMENT,
    RANKS,
    beside_others,
    main,
    rank_requests,
    serve_in_rounds,
    serve_on_all_ranks,
    went_beside_extends,
)
from ullage_demo.scenarios import Demo
from ullage_demo.schedule import Scheduler, Step
from ullage_demo.sizes import Sizes
from ullage_demo.worker import target_worker
from ullage_generated.sglang import Mode
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
    sizes = Sizes(ranks=2, alignment=2)
    warm_up, busy_extends, loads_extend = [(8, 8, 8)], [(1, 1)], [(0, 30)]
    busy_decodes, loads_decode, nobody = [(1, 0)], [(4, 4, 4)], [(0, 0)]
    ranks = RecordedRanks(
        1,
        rounds=[warm_up, busy_extends, loads_extend, busy_decodes, loads_decode, nobody],
        count=2,
    )
    worker = target_worker(sizes, ranks=ranks)
    scheduler = Scheduler([], worker.table, sizes.max_running, sizes.chunk)
    assert serve_in_rounds(worker, scheduler, ranks) == 2
    beside, idle = Mode.IDLE_BESIDE_EXTEND, Mode.IDLE
    assert {
        mode: (each.largest_requests, each.largest_tokens)
        for mode, each in worker.runner.statistics.items()
    } == {beside: (1, 30), idle: (4, 4)}
    assert [name for name, _ in ranks.entered] == [
        "mlp_sync_rows",
        "round",
        "mlp_sync_tokens",
        "round",
        "mlp_sync_rows",
        "round",
    ]


@pytest.mark.slow
def test_two_processes_serve_in_step() -> None:
    outcomes = serve_on_all_ranks(8)
    assert [check for each in outcomes for check in each.checks if not check.passed] == []
    assert went_beside_extends(outcomes).passed
    rounds = {sum(row.steps for row in outcome.rows) for outcome in outcomes}
    assert len(rounds) == 1
    assert all(row.tokens % ALIGNMENT == 0 for outcome in outcomes for row in outcome.rows)


@pytest.mark.slow
def test_the_command_shows_every_rank(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--requests", "9"]) == 0
    text = capsys.readouterr().out
    assert all(f"rank {rank}" in text for rank in range(RANKS))
