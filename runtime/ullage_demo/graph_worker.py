"""A target whose rounds of one width are padded to buckets and replayed, where a graph takes them.

Every padded replay is computed twice: over buffers that held one kind of garbage before the load,
then over another, and with other tokens wherever the readers of a tail take any. What the live
rows give must be the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from ullage_demo.attention import Attention, TorchAttention
from ullage_demo.batches import integers
from ullage_demo.engine import UnsupportedStepError
from ullage_demo.flashinfer_attention import FlashInferAttention
from ullage_demo.graph_engine import GraphEngine, TargetGraphs
from ullage_demo.measuring import LoadStatistics, Statistics
from ullage_demo.model import VOCABULARY, build_target, route_through_pool
from ullage_demo.paged_kv import Device
from ullage_demo.place import CPU, AttentionLibrary, Place
from ullage_demo.runners import GraphRunner, MeasuredRunners
from ullage_demo.sizes import Sizes
from ullage_demo.worker import Worker, build_pool, build_table, taught
from ullage_generated.sglang import (
    DecodeGraphTargetBatch,
    DecodeGraphTargetRegistry,
    EagerTargetRunner,
    LiveBatch,
    Mode,
    Offer,
)
from ullage_runtime.debug import differences, require_same_outputs
from ullage_runtime.graph_launch import GraphPool
from ullage_runtime.graphs import GraphSet

GARBAGE = (8, 64)
"""Lengths and positions that there are, so that whoever read them would be led astray."""


GARBAGE_PERIOD = 1009
"""It repeats after so many elements, a prime: workspaces are large, and drawing is slow."""


@dataclass(slots=True)
class TailTrials:
    """Padded replays, and how many of them came out otherwise over other tails."""

    padded: int = 0
    different: int = 0
    first: str = ""
    generator: Generator = field(default_factory=lambda: Generator().manual_seed(11))

    def scramble(self, registry: DecodeGraphTargetRegistry, rows: int, slots: int) -> None:
        """Overwrite whole buffers; `rows`: of the request table, `slots`: of the pool."""
        for buffer in registry.slots:
            low, high = GARBAGE
            if buffer is registry.req_pool_indices:
                low, high = 1, rows
            elif buffer is registry.out_cache_loc:
                low, high = 1, slots
            garbage = torch.randint(low, high, (GARBAGE_PERIOD,), generator=self.generator)
            repeated = garbage.to(buffer.device, buffer.dtype).repeat(
                -(-buffer.numel() // GARBAGE_PERIOD)
            )
            buffer.copy_(repeated[: buffer.numel()].view(buffer.shape))

    def fill(self, batch: DecodeGraphTargetBatch) -> None:
        """Other tokens behind the live ones: of all tails, theirs alone may hold any value."""
        if batch.input_ids is not None:
            tail = batch.input_ids[batch.live_tokens :]
            tail.copy_(torch.randint(VOCABULARY, tail.shape, generator=self.generator))

    def compare(self, one: Tensor, other: Tensor) -> None:
        """Count a replay whose live rows are `one` over some tails and `other` over others."""
        self.padded += 1
        if not torch.equal(one.view(torch.int32), other.view(torch.int32)):
            self.different += 1
            self.first = self.first or "; ".join(map(str, differences(one, other)))


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphWorker(Worker):
    """`runner` is the eager one among `runners`; `trials` is what came of the tails."""

    runners: MeasuredRunners
    graphs: TargetGraphs
    trials: TailTrials

    @torch.inference_mode()
    def compute(self, live: LiveBatch, tree: Tensor | None) -> Tensor:
        """Logits [live tokens, vocabulary], by whichever runner the generated choice names."""
        engine = self._graph_engine(tree)
        runner, offer = self.runners.select(live, engine)
        if isinstance(runner, EagerTargetRunner):
            return runner.execute(live, engine, pad=offer)
        if not isinstance(runner, GraphRunner):
            raise UnsupportedStepError("The demo captures no graphs of prompts.")
        output = self._replay(runner, live, offer, tree).clone()
        extents = runner.extents(live, pad=offer)
        if extents.rows != extents.padded:
            with unmeasured(runner):
                self.trials.compare(self._replay(runner, live, offer, tree), output)
        if runner.debug.compare:
            self._compare_with_eager(live, output, tree)
        return output

    @property
    def buckets(self) -> tuple[int, ...]:
        """Requests of the graphs that the configuration has."""
        return self.runners.config.captured or ()

    @torch.inference_mode()
    def capture(self, width: int) -> None:
        """Capture a graph for each bucket, if that is not done; `width`: tokens of a request."""
        engine, device = self._graph_engine(None), self.table.device
        lives = [capture_batch(bucket, width, device) for bucket in self.buckets]
        runner = self.runners.decode_graph
        self.graphs.graphs.capture_all(runner, lives, engine, reads=engine.storages)

    def _graph_engine(self, tree: Tensor | None) -> GraphEngine:
        return GraphEngine(
            self.model,
            self.pool,
            self.table,
            self.attention,
            self.graphs,
            tree=tree,
            fill_tails=self.trials.fill,
        )

    def _replay(
        self, runner: GraphRunner, live: LiveBatch, offer: Offer, tree: Tensor | None
    ) -> Tensor:
        if not runner.debug.poison:  # which poisons the same slots, and guards those of others
            rows, slots = self.table.req_to_token.shape[0], self.pool.keys[0].shape[0]
            self.trials.scramble(runner.registry, rows, slots)
        return runner.execute(live, self._graph_engine(tree), pad=offer)

    def _compare_with_eager(self, live: LiveBatch, output: Tensor, tree: Tensor | None) -> None:
        eager = self.runners.eager
        expected = eager.execute(live, self._graph_engine(tree), pad=False)
        require_same_outputs(live.mode.value, output, expected, eager.debug, place="the demo")


@contextmanager
def unmeasured(runner: GraphRunner) -> Iterator[None]:
    """Loads inside leave no trace in the runner's statistics."""
    kept = runner.statistics
    runner.statistics = Statistics(LoadStatistics)
    try:
        yield
    finally:
        runner.statistics = kept


def capture_batch(requests: int, width: int, device: Device) -> LiveBatch:
    """Rows before anybody is served: they write slot 1, read row 0, and see one key."""
    tokens = integers([0] * requests * width, device)
    lengths = integers([1] * requests)
    return LiveBatch(
        mode=Mode.CAPTURE,
        batch_size=requests,
        input_ids=tokens,
        positions=tokens,
        out_cache_loc=torch.ones_like(tokens),
        req_pool_indices=integers([0] * requests, device),
        seq_lens=lengths.to(device),
        seq_lens_cpu=lengths,
    )


def graph_worker(sizes: Sizes, *, place: Place = CPU, student: Place | None = None) -> GraphWorker:
    """A fresh target, warmed up, with a graph for each of the buckets.

    `student`: where another one replays each batch, see `Worker`.
    """
    served = route_through_pool(build_target(place.head_dim, device=place.device))
    runners = MeasuredRunners(sizes, place)
    pool = build_pool(served, sizes.pool_slots, place)
    worker = GraphWorker(
        place=place,
        model=served,
        pool=pool,
        table=build_table(sizes, place),
        runner=runners.eager,
        attention=_build_attention(runners, sizes, place),
        student=taught(pool, graph_worker(sizes, place=student)) if student else None,
        runners=runners,
        graphs=TargetGraphs(GraphSet(GraphPool(place.device), debug=runners.decode_graph.debug)),
        trials=TailTrials(),
    )
    worker.warm_up()
    worker.capture(sizes.speculation.draft_tokens if sizes.speculation else 1)
    return worker


def _build_attention(runners: MeasuredRunners, sizes: Sizes, place: Place) -> Attention:
    """Plans of eager batches and of graphs."""
    if place.library is AttentionLibrary.FLASHINFER:
        return FlashInferAttention(runners.config, place.head_dim)
    largest = runners.decode_graph.capacities.tokens, sizes.row_width
    return TorchAttention(largest, place.device)
