"""`python -m ullage_demo.data_parallel`: ranks that serve their own requests in common rounds.

Every rank loads in every round, and the loads agree on a padded token count, so that the
collectives inside the model line up. A rank without work loads an idle batch.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from ullage_demo.checks import Check, Reference, equals_generate, saw_modes
from ullage_demo.model import build_reference, build_target
from ullage_demo.options import FEWEST_REQUESTS, request_count
from ullage_demo.plain import run_step
from ullage_demo.report import Outcome, make_console, rows_of, show
from ullage_demo.runners import Role, Runner
from ullage_demo.schedule import Request, Scheduler, Step
from ullage_demo.sizes import Sizes
from ullage_demo.tensor_parallel import shard_feed_forward
from ullage_demo.worker import Worker, target_worker
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode
from ullage_runtime.ranks import DistributedRanks, Ranks

RANKS = 2
ALIGNMENT = 2
"""Tensor-parallel ranks that each of them would have; token counts are multiples of it."""
BESIDE_EXTEND: Mapping[Mode, Mode] = {
    Mode.DECODE: Mode.DECODE_BESIDE_EXTEND,
    Mode.IDLE: Mode.IDLE_BESIDE_EXTEND,
}


def rank_requests(rank: int, count: int) -> list[Request]:
    """Rank 0 has `count` requests; each further one has fewer, and some come when 0 is done."""
    share = max(2, count // (rank + 1) ** 2)
    requests = make_requests(share, seed=10 + rank, new_tokens=(6, 16))
    late = 6 * rank, 20 + 3 * count
    return [
        replace(request, arrival=late[number == share - 1] if rank else 0)
        for number, request in enumerate(requests)
    ]


def serve_in_rounds(worker: Worker, scheduler: Scheduler, ranks: Ranks) -> int:
    """Serve until no rank has work left; returns the number of rounds."""
    rounds = 0
    while True:
        step = scheduler.next_step()
        extends = step is not None and step.mode is Mode.EXTEND
        busy, any_extends = ranks.max_of(step is not None, extends, collective="round")
        if not busy:
            return rounds
        run_step(worker, beside_others(step or Step(Mode.IDLE), extend=bool(any_extends)))
        rounds += 1


def beside_others(step: Step, *, extend: bool) -> Step:
    """The step as it runs in a round in which some rank extends, or none does."""
    if not extend or step.mode not in BESIDE_EXTEND:
        return step
    return replace(step, mode=BESIDE_EXTEND[step.mode])


def serve_rank(rank: int, count: int, folder: str) -> Outcome:
    """One process: join the others and serve the rank's requests."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=(Path(folder) / "rendezvous").as_uri(),
        rank=rank,
        world_size=RANKS,
        timeout=timedelta(seconds=120),
    )
    try:
        return rank_outcome(rank, count)
    finally:
        # A rank that failed must leave, or the others would wait for it until the timeout.
        dist.destroy_process_group()


def rank_outcome(rank: int, count: int) -> Outcome:
    sizes = Sizes(ranks=RANKS, alignment=ALIGNMENT)
    ranks = DistributedRanks(None, "cpu")
    worker = rank_worker(sizes, ranks)
    requests = rank_requests(rank, count)
    scheduler = Scheduler(requests, worker.table, sizes.max_running, sizes.chunk)
    rounds = serve_in_rounds(worker, scheduler, ranks)
    name = f"rank {rank}"
    outputs = scheduler.results()
    return Outcome(
        rows=rows_of(name, Role.TARGET.value, worker.runner),
        checks=(
            equals_generate(Reference(build_reference(build_target())), requests, outputs),
            saw_modes(worker.runner.statistics, (Mode.EXTEND, Mode.DECODE, Mode.IDLE)),
            Check("loaded in every round", *_loads(worker.runner, rounds)),
        ),
    )


def rank_worker(sizes: Sizes, ranks: Ranks) -> Worker:
    """This rank's model, with a share of each feed-forward layer and a runner kept in step."""
    model = shard_feed_forward(build_target(), ranks.rank, ranks.count)
    return target_worker(sizes, model=model, ranks=ranks)


def _loads(runner: Runner, rounds: int) -> tuple[bool, str]:
    loads = sum(statistics.steps for statistics in runner.statistics.values())
    return loads == rounds, f"{loads} loads in {rounds} rounds"


def serve_on_all_ranks(count: int) -> list[Outcome]:
    """Start a process for each rank and wait for their outcomes, or for the first error."""
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(RANKS, mp_context=context) as processes,
    ):
        serving = [processes.submit(serve_rank, rank, count, folder) for rank in range(RANKS)]
        return [each.result() for each in serving]


def went_beside_extends(outcomes: Sequence[Outcome]) -> Check:
    """Some rank decoded, and some rank idled, while another one extended."""
    seen = {Mode(row.mode): row for outcome in outcomes for row in outcome.rows}
    return saw_modes(seen, tuple(BESIDE_EXTEND.values()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every check passed on every rank."""
    parser = argparse.ArgumentParser(
        prog="python -m ullage_demo.data_parallel",
        description="Serve on two processes whose loads keep in step over gloo.",
    )
    parser.add_argument(
        "--requests",
        type=request_count,
        default=12,
        help=f"requests of rank 0, at least {FEWEST_REQUESTS} (default 12)",
    )
    options = parser.parse_args(arguments)
    console = make_console()
    with console.status(f"serving on {RANKS} ranks"):
        outcomes = serve_on_all_ranks(options.requests)
    return 0 if show(console, outcomes, went_beside_extends(outcomes)) else 1


if __name__ == "__main__":
    sys.exit(main())
