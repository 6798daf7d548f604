"""Extend, mixed, decode, idle and split-prefill steps of a model that serves alone."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ullage_demo.batches import Window, window_batch
from ullage_demo.engine import LayerGroup
from ullage_demo.paged_kv import RequestTable
from ullage_demo.schedule import Chunk, Scheduler, Step
from ullage_demo.worker import Worker
from ullage_generated.sglang import LiveBatch, Mode


def run_step(worker: Worker, step: Step) -> None:
    """Compute the step's chunks; a sequence with nothing left to cache gains a token."""
    logits = worker.forward(chunk_batch(worker.table, step))
    advance(step.chunks, logits)


def chunk_batch(table: RequestTable, step: Step) -> LiveBatch:
    """The live batch of a step: each chunk follows what its sequence has cached."""
    windows = [
        Window(chunk.sequence.row, chunk.sequence.cached, chunk.tokens) for chunk in step.chunks
    ]
    return window_batch(step.mode, table, windows, decodes=step.decodes)


def advance(chunks: Sequence[Chunk], logits: Tensor) -> None:
    """Account for computed chunks; `logits`: [tokens of all chunks, vocabulary]."""
    last = -1
    for chunk in chunks:
        last += chunk.length
        sequence = chunk.sequence
        sequence.cached += chunk.length
        if sequence.cached == len(sequence.tokens):
            sequence.tokens.append(int(logits[last].argmax()))


class SplitPrefill:
    """Runs each prefill a few layers at a time, with a decode step of the others in between."""

    def __init__(self, worker: Worker, scheduler: Scheduler, layers_at_once: int) -> None:
        self._worker = worker
        self._scheduler = scheduler
        depth = len(worker.model.model.layers)
        self._groups = [
            range(start, min(start + layers_at_once, depth))
            for start in range(0, depth, layers_at_once)
        ]

    def run_step(self, step: Step) -> None:
        if step.mode is Mode.EXTEND:
            self._prefill(step)
        else:
            run_step(self._worker, step)

    def _prefill(self, step: Step) -> None:
        live = chunk_batch(self._worker.table, Step(Mode.SPLIT_PREFILL, step.chunks))
        states: Tensor | None = None
        for group in self._groups:
            states = self._worker.forward_layers(live, LayerGroup(group, states))
            self._decode_others()
        if states is not None:
            advance(step.chunks, states)

    def _decode_others(self) -> None:
        decoding = self._scheduler.decoding()
        if decoding:
            chunks = tuple(Chunk(sequence, 1) for sequence in decoding)
            run_step(self._worker, Step(Mode.DECODE, chunks, len(chunks)))
