"""A drafter with keys and values of its own, in the slots that the target uses too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ullage_demo.batches import Window, integers, join, window_batch
from ullage_demo.schedule import Chunk, RunningSequence
from ullage_demo.sizes import Speculation
from ullage_demo.tree import DraftTree, TreeGrowth
from ullage_demo.worker import Worker
from ullage_generated.sglang import LiveBatch, Mode


class EagleDrafter:
    """Draft steps of `topk` token rows a request; a fixed-width extend after each verify.

    The draft always knows one token more than the target: the root, from whose distribution
    the first branches come. So a tree of s levels takes s - 1 draft steps.
    """

    def __init__(self, draft: Worker) -> None:
        self._draft = draft
        self._cached: dict[RunningSequence, int] = {}
        self._after_root: dict[RunningSequence, Tensor] = {}

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """EXTEND: the same chunks that the target computes next."""
        windows = [
            Window(chunk.sequence.row, chunk.sequence.cached, chunk.tokens) for chunk in chunks
        ]
        self._draft.forward(window_batch(Mode.EXTEND, self._draft.table, windows))
        for chunk, window in zip(chunks, windows, strict=True):
            self._cached[chunk.sequence] = window.stop

    def catch_up(self, sequences: Sequence[RunningSequence], speculation: Speculation) -> None:
        """DRAFT_EXTEND, adaptive or not: `draft_tokens` rows a request, the new tokens first."""
        width = speculation.draft_tokens
        new = [each.tokens[self._cached[each] :] for each in sequences]
        windows = [
            Window(
                each.row, self._cached[each], tuple(tokens + tokens[-1:] * (width - len(tokens)))
            )
            for each, tokens in zip(sequences, new, strict=True)
        ]
        mode = Mode.ADAPTIVE_DRAFT_EXTEND if speculation.candidates else Mode.DRAFT_EXTEND
        live = window_batch(mode, self._draft.table, windows)
        live = replace(live, adaptive_draft_tokens=speculation.chosen_length)
        logits = self._draft.forward(live)
        self._forget_finished()
        for index, (sequence, tokens) in enumerate(zip(sequences, new, strict=True)):
            last = index * width + len(tokens) - 1
            self._after_root[sequence] = logits[last].softmax(dim=-1)
            self._cached[sequence] = len(sequence.tokens)

    def propose(
        self, sequences: Sequence[RunningSequence], speculation: Speculation
    ) -> list[DraftTree]:
        """EAGLE_DRAFT: every step computes the frontier of every tree in one batch."""
        topk = speculation.topk
        growths = [TreeGrowth(sequence.tokens[-1], topk) for sequence in sequences]
        for growth, sequence in zip(growths, sequences, strict=True):
            growth.start(self._after_root[sequence])
        for step in range(speculation.steps - 1):
            live = self._draft_batch(sequences, growths, step, topk)
            tree = torch.cat([growth.visible() for growth in growths])
            probabilities = self._draft.forward(live, tree=tree).softmax(dim=-1)
            branches = probabilities.reshape(len(growths), topk, -1).unbind()
            for growth, rows in zip(growths, branches, strict=True):
                growth.advance(rows)
        return [growth.finish(speculation.draft_tokens) for growth in growths]

    def _draft_batch(
        self,
        sequences: Sequence[RunningSequence],
        growths: Sequence[TreeGrowth],
        step: int,
        topk: int,
    ) -> LiveBatch:
        lengths = [len(sequence.tokens) for sequence in sequences]
        first = [length + step * topk for length in lengths]
        device = self._draft.table.device
        slots = [
            self._draft.table.slots(sequence.row, start, start + topk)
            for sequence, start in zip(sequences, first, strict=True)
        ]
        return LiveBatch(
            mode=Mode.EAGLE_DRAFT,
            batch_size=len(sequences),
            input_ids=integers(
                (each.token for growth in growths for each in growth.frontier), device
            ),
            positions=integers((length + step for length in lengths for _ in range(topk)), device),
            out_cache_loc=join(slots, device),
            req_pool_indices=integers((sequence.row for sequence in sequences), device),
            seq_lens=integers(lengths, device),
            seq_lens_cpu=integers(lengths),
        )

    def _forget_finished(self) -> None:
        for sequence in [each for each in self._cached if each.finished]:
            del self._cached[sequence]
            self._after_root.pop(sequence, None)
