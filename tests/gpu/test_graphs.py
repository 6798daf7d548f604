"""What only a device shows of graphs: captures in one pool, replays, and what they leave alone."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from support.decode_graphs import (
    BUCKETS,
    DecodeEngine,
    Graphs,
    capture_batches,
    captured_engine,
    decode_runner,
    fill_token_tail,
    live_batch,
    scramble,
)
from ullage_generated.sglang import DecodeGraphTargetBatch, DecodeGraphTargetRunner, Mode
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import DebugError, GraphError
from ullage_runtime.graph_launch import GraphPool
from ullage_runtime.graphs import GraphSet

CUDA = "cuda"
RUNTIME = Path(__file__).parents[2] / "runtime"
COMPARE = DebugOptions(compare=True)
LARGE = 8 << 20
"""Bytes that a forward may take for each token, so that it is seen in the pool."""


@pytest.fixture(scope="module")
def runner() -> DecodeGraphTargetRunner:
    return decode_runner(CUDA)


@pytest.fixture(scope="module")
def engine(runner: DecodeGraphTargetRunner) -> DecodeEngine:
    return captured_engine(runner, CUDA)


def logits_of(batch: DecodeGraphTargetBatch) -> Tensor:
    assert batch.graph_logits is not None
    return batch.graph_logits


# Capture and replay.


@pytest.mark.parametrize("requests", range(1, max(BUCKETS) + 1))
def test_a_replay_gives_the_bits_of_the_forward(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine, requests: int
) -> None:
    live = live_batch(Mode.DECODE, requests, CUDA, seed=7)
    before = engine.forwards
    found = runner.execute(live, engine).clone()
    assert engine.forwards == before
    assert torch.equal(found, engine.forward(runner.load(live))[:requests])


@given(
    requests=st.integers(1, max(BUCKETS)),
    tails=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
)
def test_outputs_have_the_same_bits_over_any_two_tails(
    runner: DecodeGraphTargetRunner,
    engine: DecodeEngine,
    requests: int,
    tails: tuple[int, int],
) -> None:
    live = live_batch(Mode.DECODE, requests, CUDA, seed=3)
    outputs: list[Tensor] = []
    for seed in tails:
        scramble(runner, seed)
        batch = runner.load(live)
        fill_token_tail(batch, seed)
        outputs.append(engine.graphs.replay_live(batch).clone())
    assert torch.equal(*outputs)
    assert outputs[0].shape[0] == requests


def test_a_replay_waits_for_the_load_on_its_stream(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    live, other = (live_batch(Mode.DECODE, 5, CUDA, seed=seed) for seed in (2, 9))
    expected = runner.execute(live, engine).clone()
    runner.load(other)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        found = runner.execute(live, engine).clone()
    stream.synchronize()
    assert torch.equal(found, expected)


def test_a_replay_allocates_nothing(runner: DecodeGraphTargetRunner, engine: DecodeEngine) -> None:
    batch = runner.load(live_batch(Mode.DECODE, 3, CUDA))
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    for _ in range(9):
        engine.graphs.replay_live(batch)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before
    logits_of(batch).clone()
    assert torch.cuda.memory_stats()["allocation.all.allocated"] > before


def test_debug_mode_finds_what_a_graph_has_for_good(runner: DecodeGraphTargetRunner) -> None:
    """A number of the host is that of the capture, whatever it becomes later."""
    factor = [2.0]
    graphs: Graphs = GraphSet(GraphPool(CUDA), debug=COMPARE)
    batch = runner.load(live_batch(Mode.CAPTURE, 5, CUDA))
    graphs.capture(batch, lambda held: logits_of(held).fill_(factor[0]))
    graphs.replay(batch)
    factor[0] = 3.0
    with pytest.raises(DebugError, match=r"2\.0 instead of 3\.0"):
        graphs.replay(batch)


# What is refused.


def test_a_batch_that_moved_is_refused_until_it_is_captured_again(
    runner: DecodeGraphTargetRunner,
) -> None:
    engine = captured_engine(runner, CUDA)
    live = live_batch(Mode.DECODE, 3, CUDA)
    expected = runner.execute(live, engine).clone()
    moved = decode_runner(CUDA)
    with pytest.raises(GraphError, match="has the address 0x") as caught:
        moved.execute(live, engine)
    assert caught.value.code == "U738"
    assert engine.graphs.capture_all(moved, capture_batches(CUDA), engine)
    assert torch.equal(moved.execute(live, engine), expected)
    assert not engine.graphs.capture_all(moved, capture_batches(CUDA), engine)


def test_a_shape_that_was_not_captured_is_refused(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    with pytest.raises(GraphError, match="no graph was captured of 3 requests") as caught:
        runner.execute(live_batch(Mode.DECODE, 3, CUDA), engine, pad=False)
    assert caught.value.code == "U737"


WAITS = """
import torch
from ullage_runtime.graph_launch import GraphPool, record

pool, slot = GraphPool("cuda"), torch.ones(4, device="cuda")
try:
    record(lambda: slot.fill_(slot.sum().item()), pool, warm_ups=1)
except RuntimeError:
    print("refused")
slot.fill_(1.0)
record(lambda: slot.add_(1.0), pool, warm_ups=1).replay()
print(slot.tolist())
"""


def test_a_forward_that_waits_for_the_device_is_refused_and_others_are_recorded() -> None:
    """In a process of its own, since torch's allocator frees nothing any more after that."""
    done = subprocess.run(
        [sys.executable, "-c", WAITS],
        env={**os.environ, "PYTHONPATH": str(RUNTIME)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["refused", "[3.0, 3.0, 3.0, 3.0]"]


# Memory.


def take_much(batch: DecodeGraphTargetBatch) -> Tensor:
    """A forward with a temporary of many bytes for each token."""
    much = torch.ones(batch.tokens, LARGE // 4, device=CUDA)
    return logits_of(batch).copy_(much.sum(dim=1, keepdim=True).expand_as(logits_of(batch)))


def bytes_after(
    buckets: Iterable[int], load: Callable[[int], DecodeGraphTargetBatch]
) -> tuple[Graphs, list[int]]:
    """Bytes of the pool after each capture."""
    graphs: Graphs = GraphSet(GraphPool(CUDA))
    taken = []
    for bucket in buckets:
        graphs.capture(load(bucket), take_much)
        taken.append(graphs.pool.bytes)
    return graphs, taken


def test_smaller_graphs_fit_into_what_the_largest_took(runner: DecodeGraphTargetRunner) -> None:
    def load(bucket: int) -> DecodeGraphTargetBatch:
        return runner.load(live_batch(Mode.CAPTURE, bucket, CUDA))

    assert GraphPool(CUDA).bytes == 0
    kept, taken = bytes_after(sorted(BUCKETS, reverse=True), load)
    others, upwards = bytes_after(sorted(BUCKETS), load)
    assert taken[0] >= max(BUCKETS) * LARGE
    assert taken == [taken[0]] * len(BUCKETS)
    assert upwards[-1] > taken[-1]
    kept.drop()
    others.drop()


def test_graphs_that_are_dropped_give_their_memory_back(runner: DecodeGraphTargetRunner) -> None:
    batch = runner.load(live_batch(Mode.CAPTURE, 8, CUDA))
    graphs: Graphs = GraphSet(GraphPool(CUDA))
    gc.collect()  # graphs of other tests, whose engines and forwards hold each other
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    for _ in range(2):
        graphs.capture(batch, take_much)
        assert torch.cuda.memory_reserved() >= before + 8 * LARGE
        graphs.drop()
        assert graphs.pool.bytes == 0
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() <= before


def test_sets_with_one_pool_take_its_memory_once(runner: DecodeGraphTargetRunner) -> None:
    batch = runner.load(live_batch(Mode.CAPTURE, 8, CUDA))
    pool = GraphPool(CUDA)
    sets: list[Graphs] = [GraphSet(pool) for _ in range(2)]
    taken = []
    for each in sets:
        each.capture(batch, take_much)
        taken.append(pool.bytes)
    assert taken[0] == taken[1]
    sets[0].drop()
    assert pool.bytes == taken[0]
    assert float(sets[1].replay(batch)[0, 0]) == LARGE // 4
    sets[1].drop()
    assert pool.bytes == 0
