"""What serves the demo is generated from the spec, and so is every capacity that it shows."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from ullage_demo.adaptive import adaptive_sizes
from ullage_demo.batches import Window, window_batch
from ullage_demo.engine import StepEngine
from ullage_demo.paged_kv import RequestTable
from ullage_demo.place import Place
from ullage_demo.report import rows_of
from ullage_demo.runners import (
    DraftRunner,
    GraphRunner,
    Role,
    TargetRunner,
    build_config,
    build_runner,
)
from ullage_demo.scenarios import CHAIN, FROZEN, SCENARIOS, TREE
from ullage_demo.seam import Batch, present
from ullage_demo.setting import Demo
from ullage_demo.sizes import Sizes, Speculation
from ullage_demo.worker import Worker, draft_worker, target_worker
from ullage_generated.sglang import (
    DecodeGraphTargetRunner,
    EagerDraftCapacities,
    EagerDraftRunner,
    EagerTargetCapacities,
    EagerTargetRunner,
    LiveBatch,
    Mode,
)
from ullage_runtime.errors import BatchError, CapacityError, ConfigurationError
from ullage_runtime.ranks import RecordedRanks

ALL_SIZES = [
    Sizes(),
    Sizes(mixes=True, alignment=3),
    Sizes(splits=True),
    Sizes(block=8),
    Sizes(ranks=2, alignment=2),
    *(Sizes(speculation=each, max_running=6) for each in (CHAIN, TREE, FROZEN)),
    adaptive_sizes(),
]


def batch(mode: Mode, *lengths: int) -> LiveBatch:
    """Requests of these numbers of new tokens, each behind a prefix of four or more."""
    table = RequestTable(len(lengths), 40, 5 * len(lengths) or 1, 8)
    windows = [
        Window(table.admit(30), 4 + number, tuple(range(7, 7 + length)))
        for number, length in enumerate(lengths)
    ]
    return window_batch(mode, table, windows)


def both_workers() -> list[Worker]:
    sizes = Sizes(speculation=TREE, max_running=3)
    target = target_worker(sizes)
    return [target, draft_worker(target, sizes, 0.03)]


def test_both_models_are_served_by_generated_runners() -> None:
    target, draft = both_workers()
    assert isinstance(target.runner, EagerTargetRunner)
    assert isinstance(draft.runner, EagerDraftRunner)


@pytest.mark.parametrize(
    ("ours", "generated"),
    [
        (TargetRunner, EagerTargetRunner),
        (DraftRunner, EagerDraftRunner),
        (GraphRunner, DecodeGraphTargetRunner),
    ],
)
def test_the_demo_only_measures_what_is_generated(
    ours: type[object],
    generated: type[object],
) -> None:
    overridden = {name for name, value in vars(ours).items() if callable(value)}
    assert ours.__bases__ == (generated,)
    assert overridden == {"__init__", "load"}


@pytest.mark.parametrize("sizes", ALL_SIZES)
def test_shown_capacities_are_those_of_the_configuration(sizes: Sizes) -> None:
    ranks = RecordedRanks(0, rounds=[[(1, 1, 1)]], count=2) if sizes.ranks > 1 else None
    runner = build_runner(Role.TARGET, sizes, ranks=ranks)
    width = sizes.block or (sizes.speculation.draft_tokens if sizes.speculation else 1)
    runner.load(batch(round_mode(sizes), width))
    (row,) = rows_of("any", "target", runner)
    expected = EagerTargetCapacities.of(build_config(sizes))
    assert (row.max_requests, row.max_tokens) == (expected.requests, expected.tokens)
    assert runner.registry.seq_lens.shape == (expected.requests,)
    assert runner.registry.positions.shape == (expected.tokens,)


def round_mode(sizes: Sizes) -> Mode:
    if sizes.speculation is not None:
        return Mode.ADAPTIVE_VERIFY if sizes.speculation.candidates else Mode.TARGET_VERIFY
    return Mode.DLLM_EXTEND if sizes.block else Mode.DECODE


@pytest.mark.parametrize("speculation", [CHAIN, TREE, FROZEN])
def test_the_draft_has_capacities_of_its_own(speculation: Speculation) -> None:
    sizes = Sizes(speculation=speculation, max_running=6)
    runner = build_runner(Role.DRAFT, sizes)
    assert runner.capacities == EagerDraftCapacities.of(build_config(sizes))


def test_every_worker_has_computed_its_largest_batch_before_it_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    largest: list[tuple[int, int]] = []
    autotune = StepEngine.autotune

    def record(engine: StepEngine, batch: Batch, /) -> None:
        largest.append((batch.requests, batch.tokens))
        autotune(engine, batch)

    monkeypatch.setattr(StepEngine, "autotune", record)
    workers = both_workers()
    assert largest == [(3, 3 * TREE.draft_tokens), (3, 3 * TREE.topk)]
    assert not any(worker.runner.statistics for worker in workers)


def test_the_head_is_copied_and_the_tail_is_filled() -> None:
    runner = build_runner(Role.TARGET, Sizes(alignment=4))
    runner.load(batch(Mode.EXTEND, 3, 3, 3, 3))
    live = batch(Mode.EXTEND, 2, 3)
    padded = runner.load(live)
    assert (padded.live_requests, padded.requests) == (2, 2)
    assert (padded.live_tokens, padded.tokens) == (5, 8)
    stored = present(live.out_cache_loc, "out_cache_loc").tolist()
    assert present(padded.out_cache_loc, "out_cache_loc").tolist() == [*stored, 0, 0, 0]
    assert present(padded.positions, "positions").tolist() == [4, 5, 5, 6, 7, 0, 0, 0]


def test_padded_rows_of_a_decode_have_one_key() -> None:
    padded = build_runner(Role.TARGET, Sizes(alignment=4)).load(batch(Mode.DECODE, 1, 1, 1))
    assert (padded.live_requests, padded.requests) == (3, 4)
    assert present(padded.seq_lens, "seq_lens").tolist() == [5, 6, 7, 1]
    assert present(padded.req_pool_indices, "req_pool_indices").tolist() == [1, 2, 3, 0]


def test_a_refused_batch_changes_nothing() -> None:
    runner = build_runner(Role.TARGET, Sizes(max_running=3))
    before = runner.load(batch(Mode.DECODE, 1, 1, 1))
    kept = present(before.seq_lens, "seq_lens").clone()
    with pytest.raises((BatchError, CapacityError)):
        runner.load(batch(Mode.DECODE, 1, 1, 1, 1))
    assert torch.equal(present(before.seq_lens, "seq_lens"), kept)


def test_requests_follow_from_the_tokens_of_the_busiest_rank() -> None:
    sizes = Sizes(speculation=CHAIN, ranks=2)
    ranks = RecordedRanks(0, rounds=[[(12, 3, 3)]], count=2)
    verify = build_runner(Role.TARGET, sizes, ranks=ranks).load(batch(Mode.TARGET_VERIFY, 4, 4))
    assert (verify.live_requests, verify.requests, verify.tokens) == (2, 3, 12)


def test_beside_an_extend_rows_stay_and_an_idle_rank_has_one() -> None:
    ranks = RecordedRanks(1, rounds=[[(0, 9)], [(0, 9)]], count=2)
    runner = build_runner(Role.TARGET, Sizes(ranks=2), ranks=ranks)
    decode = runner.load(batch(Mode.DECODE_BESIDE_EXTEND, 1, 1))
    assert (decode.requests, decode.tokens) == (2, 9)
    idle = runner.load(batch(Mode.IDLE_BESIDE_EXTEND))
    assert (idle.live_requests, idle.requests, idle.tokens) == (0, 1, 9)
    assert present(idle.seq_lens, "seq_lens").tolist() == [1]


def test_a_mixed_batch_says_how_it_is_made_up() -> None:
    table = RequestTable(3, 40, 15, 8)
    rows = [table.admit(30) for _ in range(3)]
    windows = [
        Window(rows[0], 0, (5, 6, 7)),
        Window(rows[1], 4, (8, 9)),
        Window(rows[2], 6, (3,)),
    ]
    live = window_batch(Mode.MIXED, table, windows, decodes=1)
    assert (live.running_requests, live.prefill_requests, live.prefill_tokens) == (1, 2, 5)
    loaded = build_runner(Role.TARGET, Sizes(mixes=True)).load(live)
    assert (loaded.requests, loaded.tokens) == (3, 6)


def test_multiplexed_batches_are_served_in_place() -> None:
    worker = target_worker(Sizes(splits=True))
    marked = worker.runner.registry.seq_lens.fill_(77)
    worker.forward(
        window_batch(Mode.DECODE, worker.table, [Window(worker.table.admit(9), 3, (5,))])
    )
    assert worker.runner.statistics[Mode.DECODE].steps == 1
    assert set(marked.tolist()) == {77}


def test_a_mode_that_the_configuration_excludes_is_refused() -> None:
    worker = target_worker(Sizes())
    listed = ", ".join(mode.value for mode in worker.runner.modes)
    with pytest.raises(BatchError, match=f"serves only {listed} "):
        worker.forward(batch(Mode.MIXED, 2, 1))


def test_sizes_that_no_engine_could_have_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="chain of steps"):
        build_config(Sizes(speculation=replace(CHAIN, draft_tokens=3)))


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_debug_mode_finds_nothing(demo: Demo, name: str) -> None:
    alignment = 1 if name in ("split", "adaptive") else 3
    outcome = SCENARIOS[name](replace(demo, alignment=alignment, place=Place(debug=True)))
    assert [check for check in outcome.checks if not check.passed] == []


@pytest.mark.slow
def test_the_command_serves_everything_and_exits_with_success() -> None:
    command = [sys.executable, "-m", "ullage_demo", "--requests", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "all checks passed" in done.stdout
    assert "one batch too many" in done.stdout
