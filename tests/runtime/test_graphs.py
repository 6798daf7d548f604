"""Graphs by their logic, which is the same on every device: on a CPU a launch is the forward."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from support.decode_graphs import (
    BUCKETS,
    DecodeEngine,
    capture_batches,
    captured_engine,
    decode_runner,
    fill_token_tail,
    live_batch,
    scramble,
)
from ullage_generated.sglang import DecodeGraphTargetBatch, DecodeGraphTargetRunner, Mode
from ullage_runtime.arena import Arena
from ullage_runtime.debug import DebugOptions
from ullage_runtime.errors import DebugError, GraphError
from ullage_runtime.graph_launch import GraphPool
from ullage_runtime.graph_places import digest_of_storages
from ullage_runtime.graphs import GraphSet

CPU = "cpu"
COMPARE = DebugOptions(compare=True)


@pytest.fixture
def runner() -> DecodeGraphTargetRunner:
    return decode_runner(CPU)


@pytest.fixture
def engine(runner: DecodeGraphTargetRunner) -> DecodeEngine:
    return captured_engine(runner, CPU)


# Capture.


def test_graphs_are_captured_the_largest_first(engine: DecodeEngine) -> None:
    assert engine.captured == [(8, 8), (5, 5), (2, 2)]
    assert engine.graphs.shapes == tuple(engine.captured)


def test_a_forward_runs_before_it_is_captured(runner: DecodeGraphTargetRunner) -> None:
    engine = DecodeEngine(CPU, GraphSet(GraphPool(CPU), warm_ups=3))
    batch = runner.load(live_batch(Mode.CAPTURE, 5, CPU))
    engine.graphs.capture(batch, engine.forward)
    assert engine.forwards == 3


def test_an_engine_that_captures_nothing_is_refused(runner: DecodeGraphTargetRunner) -> None:
    class Forgetful(DecodeEngine):
        def capture(self, batch: DecodeGraphTargetBatch, /) -> None:
            if batch.requests != 5:
                super().capture(batch)

        def replay(self, batch: DecodeGraphTargetBatch, /) -> Tensor:
            return self.forward(batch)

    graphs: GraphSet[DecodeGraphTargetBatch, Tensor] = GraphSet(GraphPool(CPU))
    with pytest.raises(GraphError, match="no graph was captured of 5 requests, 5 tokens"):
        graphs.capture_all(runner, capture_batches(CPU), Forgetful(CPU, graphs))


def test_nothing_is_captured_again_while_nothing_moved(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    assert not engine.graphs.capture_all(runner, capture_batches(CPU), engine)
    assert len(engine.captured) == 3


def test_a_graph_that_was_captured_alone_is_not_taken_for_all(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    batch = decode_runner(CPU).load(live_batch(Mode.CAPTURE, 2, CPU))
    engine.graphs.capture(batch, engine.forward)
    assert engine.graphs.capture_all(runner, capture_batches(CPU), engine)


def test_other_buckets_are_captured_anew(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    assert engine.graphs.capture_all(runner, capture_batches(CPU, (5, 8)), engine)
    assert engine.graphs.shapes == ((8, 8), (5, 5))


@pytest.mark.parametrize("moved", ["arena", "pool"])
def test_graphs_are_captured_again_when_storage_has_moved(
    runner: DecodeGraphTargetRunner, moved: str
) -> None:
    engine = DecodeEngine(CPU, GraphSet(GraphPool(CPU)))
    lives = capture_batches(CPU)
    assert engine.graphs.capture_all(runner, lives, engine, reads=[engine.pool])
    before = engine.pool
    if moved == "pool":
        engine.pool = before.clone()
    else:
        runner = decode_runner(CPU)
    assert engine.graphs.capture_all(runner, lives, engine, reads=[engine.pool])
    assert engine.captured == [(8, 8), (5, 5), (2, 2)] * 2
    assert not engine.graphs.capture_all(runner, lives, engine, reads=[engine.pool])


def test_a_capture_that_failed_is_made_up_for(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(DecodeEngine, "forward", lambda *_: torch.ones(3).view(2))
        with pytest.raises(RuntimeError, match="invalid for input"):
            engine.graphs.capture_all(decode_runner(CPU), capture_batches(CPU), engine)
    assert engine.graphs.shapes == ()
    assert engine.graphs.capture_all(runner, capture_batches(CPU), engine)


def test_storages_have_another_digest_once_one_of_them_is_another() -> None:
    one, other = torch.zeros(8), torch.zeros(8)
    assert digest_of_storages([one, other]) == digest_of_storages([one[2:], other.view(2, 4)])
    memory = bytearray(8)
    shorter, longer = (torch.frombuffer(memory, dtype=torch.int8, count=n) for n in (4, 8))
    assert shorter.data_ptr() == longer.data_ptr()
    assert digest_of_storages([shorter]) != digest_of_storages([longer])
    different = {digest_of_storages(each) for each in ([one], [other], [one, other], [other, one])}
    assert len(different) == 4


# Replay.


@pytest.mark.parametrize("requests", range(1, 9))
def test_a_replay_gives_the_bits_of_the_forward(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine, requests: int
) -> None:
    live = live_batch(Mode.DECODE, requests, CPU, seed=7)
    found = runner.execute(live, engine).clone()
    assert torch.equal(found, engine.forward(runner.load(live))[:requests])


@given(
    requests=st.integers(1, max(BUCKETS)),
    tails=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
)
def test_outputs_have_the_same_bits_over_any_two_tails(
    requests: int, tails: tuple[int, int]
) -> None:
    runner = decode_runner(CPU)
    engine = captured_engine(runner, CPU)
    live = live_batch(Mode.DECODE, requests, CPU, seed=3)
    outputs: list[Tensor] = []
    for seed in tails:
        scramble(runner, seed)
        batch = runner.load(live)
        fill_token_tail(batch, seed)
        outputs.append(engine.graphs.replay_live(batch).clone())
    assert torch.equal(*outputs)
    assert outputs[0].shape[0] == requests


def test_a_replay_computes_from_the_addresses_of_its_capture(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    expected = runner.execute(live_batch(Mode.DECODE, 4, CPU, seed=2), engine).clone()
    batch = runner.load(live_batch(Mode.CAPTURE, 5, CPU, seed=5))
    runner.load(live_batch(Mode.DECODE, 4, CPU, seed=2))
    assert torch.equal(engine.graphs.replay(batch)[:4], expected)


def test_outputs_of_a_replay_keep_their_padding_until_they_are_cut(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    batch = runner.load(live_batch(Mode.DECODE, 3, CPU))
    assert engine.graphs.replay(batch).shape[0] == 5
    assert engine.graphs.replay_live(batch).shape[0] == 3


def test_a_replay_allocates_nothing(
    runner: DecodeGraphTargetRunner,
    forbid_allocation: Callable[[], AbstractContextManager[object]],
) -> None:
    def forward(batch: DecodeGraphTargetBatch) -> Tensor:
        assert batch.graph_logits is not None
        return batch.graph_logits.add_(1)

    graphs: GraphSet[DecodeGraphTargetBatch, Tensor] = GraphSet(GraphPool(CPU))
    graphs.capture(runner.load(live_batch(Mode.CAPTURE, 5, CPU)), forward)
    batch = runner.load(live_batch(Mode.DECODE, 3, CPU))
    with forbid_allocation():
        graphs.replay_live(batch)


# What is refused before anything is launched.


def test_a_shape_that_was_not_captured_is_refused(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    before = engine.forwards
    with pytest.raises(GraphError) as caught:
        runner.execute(live_batch(Mode.DECODE, 3, CPU), engine, pad=False)
    assert caught.value.code == "U737"
    assert str(caught.value) == (
        "U737: Mode 'decode': no graph was captured of 3 requests, 3 tokens; there are graphs of "
        "8 requests, 8 tokens; 5 requests, 5 tokens; 2 requests, 2 tokens. Nothing was launched."
    )
    assert engine.forwards == before


def test_without_any_capture_the_refusal_says_so(runner: DecodeGraphTargetRunner) -> None:
    engine = DecodeEngine(CPU, GraphSet(GraphPool(CPU)))
    with pytest.raises(GraphError, match="of 2 requests, 2 tokens; there are none"):
        runner.execute(live_batch(Mode.DECODE, 2, CPU), engine)


def test_a_batch_that_moved_is_refused_with_both_addresses_until_it_is_captured_again(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    moved = decode_runner(CPU)
    before = engine.forwards
    with pytest.raises(GraphError) as caught:
        moved.execute(live_batch(Mode.DECODE, 3, CPU), engine)
    assert caught.value.code == "U738"
    slots = (each.registry.graph_input_embeds for each in (moved, runner))
    ours, theirs = (hex(slot.data_ptr()) for slot in slots if slot is not None)
    assert f"graph_input_embeds has the address {ours}" in str(caught.value)
    assert f"captured with {theirs}, of 5 requests, 5 tokens" in str(caught.value)
    assert engine.forwards == before
    assert engine.graphs.capture_all(moved, capture_batches(CPU), engine)
    moved.execute(live_batch(Mode.DECODE, 3, CPU), engine)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda slot: slot[:4], r"shape \(4,\), but its graph was captured with \(5,\)"),
        (lambda slot: slot.view(torch.float64), "dtype torch.float64, but .* torch.int64"),
        (lambda slot: slot.as_strided((5,), (0,)), r"strides \(0,\), but .* \(1,\)"),
        (lambda slot: slot.clone(), "address 0x.*, but .* 0x"),
    ],
)
def test_every_view_has_to_be_the_one_that_was_captured(
    runner: DecodeGraphTargetRunner,
    engine: DecodeEngine,
    change: Callable[[Tensor], Tensor],
    difference: str,
) -> None:
    batch = runner.load(live_batch(Mode.DECODE, 4, CPU))
    assert batch.positions is not None
    with pytest.raises(GraphError, match=f"positions has the {difference}") as caught:
        engine.graphs.replay(replace(batch, positions=change(batch.positions)))
    assert caught.value.code == "U738"


def test_equal_views_that_were_made_anew_are_replayed(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    batch = runner.load(live_batch(Mode.DECODE, 4, CPU))
    again = {
        each.name: value.view(value.shape)
        for each in fields(batch)
        if isinstance(value := getattr(batch, each.name), Tensor)
    }
    engine.graphs.replay(replace(batch, **again))


def test_a_source_that_was_absent_at_capture_is_refused(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    live = replace(
        live_batch(Mode.DECODE, 4, CPU), mrope_positions=torch.ones(3, 4, dtype=torch.int64)
    )
    with pytest.raises(GraphError, match="mrope_positions is in the batch, but was not when"):
        runner.execute(live, engine)


def test_what_was_captured_and_is_lacking_is_refused_for_it_holds_rows_of_an_earlier_batch(
    runner: DecodeGraphTargetRunner, engine: DecodeEngine
) -> None:
    live = replace(live_batch(Mode.DECODE, 4, CPU), out_cache_loc=None)
    lacking = "out_cache_loc is not in the batch, but was when its graph was captured"
    with pytest.raises(GraphError, match=lacking) as caught:
        runner.execute(live, engine)
    assert caught.value.code == "U738"


# Debug mode.


def test_debug_mode_compares_each_replay_with_the_forward(
    runner: DecodeGraphTargetRunner,
) -> None:
    engine = captured_engine(runner, CPU, debug=COMPARE)
    before = engine.forwards
    live = live_batch(Mode.DECODE, 3, CPU)
    found = runner.execute(live, engine)
    assert engine.forwards == before + 2
    assert torch.equal(found, engine.forward(runner.load(live))[:3])


def test_a_forward_that_is_another_at_each_run_is_found(runner: DecodeGraphTargetRunner) -> None:
    """Such as one that follows a number of the host, which a graph has for good."""
    runs = iter(range(9))

    def forward(batch: DecodeGraphTargetBatch) -> Tensor:
        return torch.full((batch.tokens,), float(next(runs)))

    graphs: GraphSet[DecodeGraphTargetBatch, Tensor] = GraphSet(GraphPool(CPU), debug=COMPARE)
    batch = runner.load(live_batch(Mode.CAPTURE, 5, CPU))
    graphs.capture(batch, forward)
    with pytest.raises(DebugError, match="a graph of 5 requests, 5 tokens") as caught:
        graphs.replay(batch)
    assert caught.value.code == "U731"


def test_what_padded_rows_give_is_not_compared(runner: DecodeGraphTargetRunner) -> None:
    runs = iter(range(9))

    def forward(batch: DecodeGraphTargetBatch) -> Tensor:
        output = torch.zeros(batch.tokens)
        output[3:] = next(runs)
        return output

    graphs: GraphSet[DecodeGraphTargetBatch, Tensor] = GraphSet(GraphPool(CPU), debug=COMPARE)
    graphs.capture(runner.load(live_batch(Mode.CAPTURE, 5, CPU)), forward)
    output = graphs.replay(runner.load(live_batch(Mode.DECODE, 3, CPU)))
    assert output.tolist() == [0, 0, 0, 2, 2]


# Other axes than those of SGLang.


class Step(Enum):
    WRITE = "write"


class Extent(NamedTuple):
    cells: int
    columns: int = 1


@dataclass(frozen=True)
class Cells:
    mode: Step
    live: Extent
    padded: Extent
    cells: Tensor


class CellRunner:
    """Hands every batch on as it is, and has no buffers."""

    arenas: tuple[Arena, ...] = ()

    @property
    def registry(self) -> CellRunner:
        return self

    def extents(self, live: Cells) -> Cells:
        return live

    def execute(self, live: Cells, engine: Callable[[Cells], None]) -> None:
        engine(live)


def test_the_largest_graph_is_that_with_the_most_rows_of_any_axis() -> None:
    graphs: GraphSet[Cells, Tensor] = GraphSet(GraphPool(CPU), axes=("cells", "columns"))
    extents = Extent(2, 3), Extent(4, 5), Extent(7, 7), Extent(9, 2), Extent(4, 6)
    lives = [Cells(Step.WRITE, each, each, torch.zeros(9)) for each in extents]
    graphs.capture_all(
        CellRunner(), lives, lambda batch: graphs.capture(batch, lambda held: held.cells)
    )
    assert graphs.shapes == ((9, 2), (7, 7), (4, 6), (4, 5), (2, 3))


def test_graphs_are_chosen_and_cut_by_the_axes_of_the_engine() -> None:
    buffer = torch.arange(8.0)
    graphs: GraphSet[Cells, Tensor] = GraphSet(GraphPool(CPU), axes=("cells",))
    graphs.capture(
        Cells(Step.WRITE, Extent(6), Extent(6), buffer[:6]), lambda batch: 2 * batch.cells
    )
    batch = Cells(Step.WRITE, Extent(4), Extent(6), buffer[:6])
    assert graphs.shapes == ((6,),)
    assert graphs.replay_live(batch).tolist() == [0, 2, 4, 6]
    with pytest.raises(GraphError, match=r"no graph was captured of 8 cells; .* 6 cells"):
        graphs.replay(replace(batch, padded=Extent(8)))
