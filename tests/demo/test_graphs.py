"""Rounds in graphs: what may go wrong with buckets, tails and static buffers is seen."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor

from ullage_demo.attention import AttentionPlan, TorchAttention, TorchPlan
from ullage_demo.batches import Window, window_batch
from ullage_demo.graph_engine import GraphEngine
from ullage_demo.graph_worker import GraphWorker, TailTrials, graph_worker, unmeasured
from ullage_demo.graphs import captured_in_turn, equals_eager, falls_back, ignores_tails
from ullage_demo.schedule import Request, RunningSequence
from ullage_demo.seam import Batch, present
from ullage_demo.sizes import Sizes, Speculation
from ullage_demo.speculation import verify_batch
from ullage_demo.tree import ROOT, DraftTree
from ullage_demo.worker import target_worker
from ullage_generated.sglang import DecodeGraphTargetBatch, LiveBatch, Mode
from ullage_runtime.errors import BatchError, ConfigurationError, GraphError
from ullage_runtime.recipe import Recipes
from ullage_runtime.slots import SlotGroup, SlotTable

SIZES = Sizes(buckets=(2, 5), max_running=7, context=24)
TREES = Sizes(buckets=(3,), max_running=4, speculation=Speculation(steps=2, topk=2, draft_tokens=4))
SPECS = Path(__file__).parents[2] / "specs" / "sglang"


@pytest.fixture
def worker() -> GraphWorker:
    return graph_worker(SIZES)


def decode_batch(worker: GraphWorker, requests: int) -> LiveBatch:
    """Decodes of requests with prefixes of uneven lengths, whose keys and values are random."""
    generator = torch.Generator().manual_seed(requests)
    for stored in (*worker.pool.keys, *worker.pool.values):
        stored.copy_(torch.randn(stored.shape, generator=generator))
    windows = [Window(worker.table.admit(24), 23 - 2 * n, (40 + n,)) for n in range(requests)]
    return window_batch(Mode.DECODE, worker.table, windows)


def padded_tree(worker: GraphWorker) -> tuple[LiveBatch, Tensor]:
    tokens = [31, 32, 33, 34]
    sequence = RunningSequence(Request((31, 32, 33), 9), worker.table.admit(30), tokens, 3)
    tree = DraftTree((34, 7, 8, 9), (ROOT, 0, 0, 2), (0, 1, 1, 2))
    return verify_batch(worker.table, [sequence], [tree]), tree.ancestors()


# Which runner takes a batch, and in which shape.


@pytest.mark.parametrize(
    ("requests", "bucket"), [(1, 2), (2, 2), (3, 5), (5, 5), (6, None), (7, None)]
)
def test_a_batch_takes_the_smallest_graph_that_holds_it(
    worker: GraphWorker, requests: int, bucket: int | None
) -> None:
    worker.forward(decode_batch(worker, requests))
    graphs, eager = (
        runner.statistics.get(Mode.DECODE)
        for runner in (worker.runners.decode_graph, worker.runners.eager)
    )
    if bucket is None:
        assert graphs is None
        assert eager is not None
        assert eager.shapes == [(requests, requests)]
    else:
        assert eager is None
        assert graphs is not None
        assert graphs.shapes == [(bucket, bucket)]
    assert worker.trials.padded == (bucket is not None and bucket > requests)


def test_a_batch_without_requests_is_padded_to_the_smallest_graph(worker: GraphWorker) -> None:
    output = worker.forward(window_batch(Mode.IDLE, worker.table, []))
    assert output.shape[0] == 0
    assert worker.runners.decode_graph.statistics[Mode.IDLE].shapes == [(2, 2)]


def test_a_batch_with_embeddings_is_left_to_the_eager_runner(worker: GraphWorker) -> None:
    live = replace(decode_batch(worker, 2), input_embeds=torch.ones(2, 64))
    worker.forward(live)
    assert Mode.DECODE not in worker.runners.decode_graph.statistics
    assert worker.runners.eager.statistics[Mode.DECODE].steps == 1


@pytest.mark.parametrize("requests", range(1, 8))
def test_a_replay_gives_what_the_unpadded_forward_gives(requests: int) -> None:
    worker = graph_worker(SIZES)
    live = decode_batch(worker, requests)
    expected = worker.runners.eager.execute(live, worker._graph_engine(None), pad=False)
    torch.testing.assert_close(worker.forward(live), expected, rtol=1e-4, atol=1e-4)


def test_a_padded_verify_gives_what_the_unpadded_one_gives() -> None:
    worker = graph_worker(TREES)
    live, tree = padded_tree(worker)
    expected = worker.runners.eager.execute(live, worker._graph_engine(tree), pad=False)
    torch.testing.assert_close(worker.forward(live, tree=tree), expected, rtol=1e-4, atol=1e-4)
    assert worker.runners.decode_graph.statistics[Mode.TARGET_VERIFY].shapes == [(3, 12)]
    assert (worker.trials.padded, worker.trials.different) == (1, 0)


# Capture and replay.


def test_graphs_are_captured_largest_first(worker: GraphWorker) -> None:
    assert worker.graphs.graphs.shapes == ((5, 5), (2, 2))


def test_graphs_are_captured_once_until_something_moves(worker: GraphWorker) -> None:
    runner = worker.runners.decode_graph
    loads = runner.statistics[Mode.CAPTURE].steps
    worker.capture(1)
    assert runner.statistics[Mode.CAPTURE].steps == loads
    worker.pool.keys[1] = worker.pool.keys[1].clone()
    worker.capture(1)
    assert runner.statistics[Mode.CAPTURE].steps == 2 * loads


def test_both_runners_write_to_the_same_addresses(worker: GraphWorker) -> None:
    graphs, eager = worker.runners.decode_graph, worker.runners.eager
    assert [each.storage.data_ptr() for each in graphs.registry.arenas] == [
        each.storage.data_ptr() for each in eager.registry.arenas
    ]


@torch.inference_mode()
def test_a_replay_reads_where_its_graph_was_captured(worker: GraphWorker) -> None:
    live = decode_batch(worker, 2)
    engine = worker._graph_engine(None)
    batch = worker.runners.decode_graph.load(live)
    engine.plan_replay(batch)
    moved = replace(batch, positions=present(batch.positions, "positions").clone())
    engine.replay(batch)
    with pytest.raises(GraphError, match="positions has the address"):
        engine.replay(moved)


def test_a_plan_is_held_at_one_address_and_sees_nothing_else(worker: GraphWorker) -> None:
    static = TorchAttention((5, 6))
    slots, visible = static.storages
    slots.fill_(9)
    visible.fill_(True)
    plan = TorchPlan(worker.pool, torch.ones(2, 4), torch.ones(2, 4, dtype=torch.bool), None)
    held = static.hold(plan)
    assert held.slots.tolist() == [[1, 1, 1, 1, 0, 0]] * 2
    assert held.visible.tolist() == [[True] * 4 + [False] * 2] * 2
    assert held.slots.data_ptr() == slots.data_ptr()
    assert held.visible.data_ptr() == visible.data_ptr()


def test_a_shape_that_was_not_captured_is_refused(worker: GraphWorker) -> None:
    live = decode_batch(worker, 3)
    with pytest.raises(GraphError, match="of 3 requests, 3 tokens"):
        worker.runners.decode_graph.execute(live, worker._graph_engine(None), pad=False)


def test_a_capture_is_of_the_buckets_of_the_configuration(worker: GraphWorker) -> None:
    assert worker.buckets == SIZES.buckets
    with pytest.raises(BatchError, match="requests is 6"):
        worker.runners.decode_graph.load(replace(capture(6), batch_size=6))


def capture(requests: int) -> LiveBatch:
    tokens = torch.arange(requests)
    return LiveBatch(
        mode=Mode.CAPTURE,
        batch_size=requests,
        input_ids=tokens,
        positions=tokens,
        out_cache_loc=tokens,
        req_pool_indices=tokens,
        seq_lens=tokens + 1,
        seq_lens_cpu=tokens + 1,
    )


def test_buckets_that_no_graph_can_have_are_refused() -> None:
    with pytest.raises(ConfigurationError):
        graph_worker(replace(SIZES, alignment=3))  # neither 2 nor 5 rows can be split among 3


# Tails.


@pytest.mark.slow
def test_of_all_tails_those_that_any_value_serves_are_the_tokens() -> None:
    sections = [yaml.safe_load(path.read_text()) for path in sorted(SPECS.rglob("*.yaml"))]
    reads = [
        (slot, read)
        for section in sections
        for reader in section.get("readers", {}).values()
        for slot, read in reader["reads"].items()
    ]
    (loaded,) = (each["slots"] for each in sections if each.get("runner") == "decode_graph")
    assert {slot for slot, read in reads if "range" in read} & set(loaded) == {"input_ids"}


def test_tails_hold_other_tokens_at_each_replay(
    worker: GraphWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []
    compute = GraphEngine.compute

    def record(engine: GraphEngine, batch: DecodeGraphTargetBatch, plan: AttentionPlan) -> Tensor:
        seen.append(present(batch.input_ids, "input_ids").tolist())
        return compute(engine, batch, plan)

    monkeypatch.setattr(GraphEngine, "compute", record)
    worker.forward(decode_batch(worker, 3))
    one, other = seen
    assert one[:3] == other[:3] == [40, 41, 42]
    assert one[3:] != other[3:]


def _left(group: SlotGroup[LiveBatch, Any], field: str) -> SlotGroup[LiveBatch, Any]:
    """The group, where loads leave the padded rows of one slot as they are."""
    slots = (replace(each, fill=None) if each.field == field else each for each in group.slots)
    return SlotGroup(group.shapes, *slots)


def test_padded_rows_that_write_anywhere_are_seen(
    worker: GraphWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = worker.runners.decode_graph
    live = decode_batch(worker, 3)
    expected = worker.forward(live)
    recipes, tables = runner.plans.recipes, runner.plans.recipes.tables
    without_a_tail = {
        mode: SlotTable(*(_left(group, "out_cache_loc") for group in table.groups))
        for mode, table in tables.items()
    }
    monkeypatch.setattr(
        runner.plans, "recipes", Recipes(recipes.batch_class, without_a_tail, recipes.writer)
    )
    runner.plans.kept.clear()
    changed = [worker.forward(live) for _ in range(12)]
    assert any(not torch.equal(each, expected) for each in changed)
    assert worker.trials.different > 0
    assert not ignores_tails(worker.trials).passed


def test_a_model_that_mixes_rows_is_seen(
    worker: GraphWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = GraphEngine.compute

    def mix(engine: GraphEngine, batch: Batch, plan: AttentionPlan) -> Tensor:
        logits = compute(engine, batch, plan)
        return logits + 1e-3 * logits.mean(dim=0)

    monkeypatch.setattr(GraphEngine, "compute", mix)
    worker.forward(decode_batch(worker, 3))
    check = ignores_tails(worker.trials)
    assert not check.passed
    assert "differs in" in check.detail


def test_a_second_look_at_tails_leaves_no_trace_in_the_statistics(worker: GraphWorker) -> None:
    runner = worker.runners.decode_graph
    live = decode_batch(worker, 3)
    with unmeasured(runner):
        runner.load(live)
    assert Mode.DECODE not in runner.statistics
    worker.forward(live)
    assert runner.statistics[Mode.DECODE].steps == 1


# The checks of the scenario, each with a run that it must not pass.


def test_a_run_without_padding_proves_nothing_about_tails() -> None:
    assert not ignores_tails(TailTrials()).passed
    assert ignores_tails(TailTrials(padded=1)).passed
    assert not ignores_tails(TailTrials(padded=9, different=1, first="row 2")).passed


@pytest.mark.parametrize(
    ("captured", "replayed", "passes"),
    [
        ((5, 2), (2, 5), True),
        ((2, 5), (2, 5), False),
        ((5,), (5,), False),
        ((5, 2), (5,), False),
        ((5, 2), (), False),
    ],
)
def test_a_bucket_that_is_left_out_is_seen(
    captured: tuple[int, ...], replayed: tuple[int, ...], passes: bool
) -> None:
    shapes = [(each, each) for each in captured]
    replays = Counter((each, each) for each in replayed)
    assert captured_in_turn(shapes, replays, SIZES.buckets).passed is passes


@pytest.mark.parametrize(
    ("requests", "passes"), [((3, 7), True), ((3, 5), False), ((6,), True), ((), False)]
)
def test_a_run_that_never_falls_back_is_seen(
    worker: GraphWorker, requests: tuple[int, ...], passes: bool
) -> None:
    for count in requests:
        live = decode_batch(worker, count)
        worker.forward(live)
        for row in present(live.req_pool_indices, "req_pool_indices").tolist():
            worker.table.release(row)
    assert falls_back(worker.runners, Mode.DECODE, SIZES.buckets).passed is passes


def test_a_small_batch_that_ran_eagerly_is_seen(worker: GraphWorker) -> None:
    live = decode_batch(worker, 3)
    worker.runners.eager.execute(live, worker._graph_engine(None))
    assert not falls_back(worker.runners, Mode.DECODE, SIZES.buckets).passed


def test_one_token_that_differs_from_the_eager_run_is_seen() -> None:
    assert equals_eager([(4, 5), (6,)], [(4, 5), (6,)]).passed
    check = equals_eager([(4, 5), (6,)], [(4, 5), (7,)])
    assert (check.passed, check.detail) == (False, "different in requests [1]")


def test_an_engine_without_buckets_has_no_graphs() -> None:
    assert target_worker(Sizes()).runner.config.captured is None
