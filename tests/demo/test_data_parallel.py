from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO

import pytest

from ullage_demo import data_parallel
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
from ullage_demo.report import Outcome
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


@dataclass(frozen=True, slots=True)
class Ran:
    """What the command answered and showed, and what the processes of its ranks found."""

    code: int
    text: str
    outcomes: list[Outcome]


@pytest.fixture(scope="module")
def ran() -> Ran:
    """One run of the command, with two processes."""
    outcomes: list[Outcome] = []

    def noted(count: int) -> list[Outcome]:
        outcomes.extend(serve_on_all_ranks(count))
        return outcomes

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as shown:
        patch.setattr(data_parallel, "serve_on_all_ranks", noted)
        code = main(["--requests", "9"])
    return Ran(code, shown.getvalue(), outcomes)


@pytest.mark.slow
def test_two_processes_serve_in_step(ran: Ran) -> None:
    outcomes = ran.outcomes
    assert len(outcomes) == RANKS
    assert [check for each in outcomes for check in each.checks if not check.passed] == []
    assert went_beside_extends(outcomes).passed
    rounds = {sum(row.steps for row in outcome.rows) for outcome in outcomes}
    assert len(rounds) == 1
    assert all(row.tokens % ALIGNMENT == 0 for outcome in outcomes for row in outcome.rows)


@pytest.mark.slow
def test_the_command_shows_every_rank(ran: Ran) -> None:
    assert ran.code == 0
    assert all(f"rank {rank}" in ran.text for rank in range(RANKS))
