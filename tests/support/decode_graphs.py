"""A small model behind the generated decode graph runner, whose rows all read and write memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetBatch,
    DecodeGraphTargetRunner,
    LiveBatch,
    Mode,
)
from ullage_runtime.debug import DebugOptions
from ullage_runtime.graph_launch import GraphPool
from ullage_runtime.graphs import GraphSet
from ullage_runtime.ranks import SingleRank

VOCABULARY, WIDTH, CONTEXT, REQUESTS = 96, 32, 24, 8
BUCKETS = (2, 5, 8)

Graphs = GraphSet[DecodeGraphTargetBatch, Tensor]


def decode_config(buckets: tuple[int, ...] = BUCKETS) -> Config:
    return Config.of(
        max_running_requests=REQUESTS,
        max_total_tokens_target=REQUESTS * CONTEXT,
        context_length=CONTEXT,
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        enable_decode_graph=True,
        capture_requests=buckets,
    )


def decode_runner(
    device: str, buckets: tuple[int, ...] = BUCKETS, debug: bool | DebugOptions = False
) -> DecodeGraphTargetRunner:
    return DecodeGraphTargetRunner(decode_config(buckets), SingleRank(), device=device, debug=debug)


def live_batch(mode: Mode, requests: int, device: str, seed: int = 0) -> LiveBatch:
    """Requests of uneven lengths, each in a row and slots of its own."""
    generator = Generator().manual_seed(seed)
    lengths = torch.randint(1, CONTEXT, (requests,), generator=generator)
    rows = torch.arange(1, requests + 1)
    return LiveBatch(
        mode=mode,
        batch_size=requests,
        input_ids=torch.randint(VOCABULARY, (requests,), generator=generator).to(device),
        positions=(lengths - 1).to(device),
        out_cache_loc=(rows * CONTEXT + lengths - 1).to(device),
        req_pool_indices=rows.to(device),
        seq_lens=lengths.to(device),
        seq_lens_cpu=lengths,
    )


def capture_batches(device: str, buckets: tuple[int, ...] = BUCKETS) -> list[LiveBatch]:
    """In the order of the configuration, which is that of their size."""
    return [live_batch(Mode.CAPTURE, bucket, device) for bucket in buckets]


@dataclass
class DecodeEngine:
    """Embeds each token, stores it in a pool, and attends over its request's slots of it.

    `captured`: shapes whose capture was asked for; `forwards`: of how many batches was computed
    by Python.
    """

    device: str
    graphs: Graphs
    captured: list[tuple[int, ...]] = field(default_factory=list)
    forwards: int = 0
    weights: tuple[Tensor, ...] = field(init=False)
    pool: Tensor = field(init=False)
    columns: Tensor = field(init=False)

    def __post_init__(self) -> None:
        generator = Generator().manual_seed(1)
        shapes = (VOCABULARY, WIDTH), (CONTEXT, WIDTH), (WIDTH, WIDTH), (WIDTH, VOCABULARY)
        self.weights = tuple(
            torch.randn(shape, generator=generator).to(self.device) for shape in shapes
        )
        slots = (REQUESTS + 1) * CONTEXT
        self.pool = torch.randn(slots, WIDTH, generator=generator).to(self.device)
        self.columns = torch.arange(CONTEXT, device=self.device)

    def timer(self, _batch: DecodeGraphTargetBatch, /) -> AbstractContextManager[object]:
        return nullcontext()

    def plan_replay(self, _batch: DecodeGraphTargetBatch, /) -> None:
        """Attention needs no plan."""

    def capture(self, batch: DecodeGraphTargetBatch, /) -> None:
        self.captured.append(self.graphs.shape_of(batch))
        self.graphs.capture(batch, self.forward)

    def replay(self, batch: DecodeGraphTargetBatch, /) -> Tensor:
        return self.graphs.replay(batch)

    def forward(self, batch: DecodeGraphTargetBatch) -> Tensor:
        """Logits [padded tokens, vocabulary] in their static buffer. Every padded row takes part.

        The reads of a row are those of the request table row that padding reserves, number 0.
        """
        self.forwards += 1
        ids, places, slots, rows, lengths = (
            batch.input_ids,
            batch.positions,
            batch.out_cache_loc,
            batch.req_pool_indices,
            batch.seq_lens,
        )
        assert ids is not None
        assert places is not None
        assert slots is not None
        assert rows is not None
        assert lengths is not None
        assert batch.graph_logits is not None
        embed, rotate, query, head = self.weights
        hidden = embed[ids] + rotate[places]
        self.pool[slots] = hidden
        keys = self.pool[rows[:, None] * CONTEXT + self.columns]
        hidden = hidden @ query
        scores = (keys * hidden[:, None]).sum(dim=-1)
        scores = scores.masked_fill(self.columns >= lengths[:, None], -torch.inf)
        seen = (scores.softmax(dim=-1)[..., None] * keys).sum(dim=1)
        return batch.graph_logits.copy_((hidden + seen) @ head)


def captured_engine(
    runner: DecodeGraphTargetRunner,
    device: str,
    *,
    debug: bool | DebugOptions = False,
) -> DecodeEngine:
    """An engine with a graph for each bucket of the runner."""
    engine = DecodeEngine(device, GraphSet(GraphPool(device), debug=debug))
    assert runner.config.captured is not None
    engine.graphs.capture_all(runner, capture_batches(device, runner.config.captured), engine)
    return engine


def scramble(runner: DecodeGraphTargetRunner, seed: int) -> None:
    """Overwrite all buffers with numbers that somebody could believe."""
    generator = Generator().manual_seed(seed)
    for slot in runner.registry.slots:
        slot.copy_(torch.randint(0, REQUESTS, slot.shape, generator=generator))


def fill_token_tail(batch: DecodeGraphTargetBatch, seed: int) -> None:
    """Other tokens behind the live ones: of all tails, theirs alone may hold any value."""
    generator = Generator().manual_seed(seed)
    assert batch.input_ids is not None
    tail = batch.input_ids[batch.live_tokens :]
    tail.copy_(torch.randint(VOCABULARY, tail.shape, generator=generator))
