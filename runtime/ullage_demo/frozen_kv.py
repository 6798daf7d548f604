"""A drafter without keys and values: it reads the target's pool, as it stands, and writes none.

Every branch is a request row of its own, so that top-k widens the request axis.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ullage_demo.batches import integers
from ullage_demo.paged_kv import Device
from ullage_demo.schedule import Chunk, RunningSequence
from ullage_demo.sizes import Speculation
from ullage_demo.tree import DraftTree, TreeGrowth
from ullage_demo.worker import Worker
from ullage_generated.sglang import LiveBatch, Mode


class FrozenKVDrafter:
    """Every draft step sees the verified tokens only, neither itself nor the drafts before it."""

    def __init__(self, draft: Worker) -> None:
        self._draft = draft

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """Nothing to do: the target's keys and values are all it reads."""

    def catch_up(self, sequences: Sequence[RunningSequence], speculation: Speculation) -> None:
        """Nothing to do, for the same reason."""

    def propose(
        self, sequences: Sequence[RunningSequence], speculation: Speculation
    ) -> list[DraftTree]:
        """FROZEN_KV_DRAFT: a seed step from the root, then a step for each deeper level.

        The seed has only one branch; its other rows repeat it, so that all steps have one shape.
        """
        topk = speculation.topk
        roots = [sequence.tokens[-1] for sequence in sequences]
        growths = [TreeGrowth(root, topk) for root in roots]
        seeds = self._step(sequences, [root for root in roots for _ in range(topk)], 0, topk)
        for growth, rows in zip(growths, seeds, strict=True):
            growth.start(rows[0])
        for depth in range(1, speculation.steps):
            tokens = [branch.token for growth in growths for branch in growth.frontier]
            steps = self._step(sequences, tokens, depth, topk)
            for growth, rows in zip(growths, steps, strict=True):
                growth.advance(rows)
        return [growth.finish(speculation.draft_tokens) for growth in growths]

    def _step(
        self, sequences: Sequence[RunningSequence], tokens: list[int], depth: int, topk: int
    ) -> tuple[Tensor, ...]:
        """For each sequence, the distribution after each branch: [topk, vocabulary]."""
        live = expanded_batch(sequences, tokens, depth, topk, self._draft.table.device)
        probabilities = self._draft.forward(live).softmax(dim=-1)
        return probabilities.reshape(len(sequences), topk, -1).unbind()


def expanded_batch(
    sequences: Sequence[RunningSequence],
    tokens: list[int],
    depth: int,
    topk: int,
    device: Device = "cpu",
) -> LiveBatch:
    """`topk` request rows for each sequence, all of the same length and table row."""
    branches = [sequence for sequence in sequences for _ in range(topk)]
    lengths = integers(sequence.cached for sequence in branches)
    on_device = lengths.to(device)
    return LiveBatch(
        mode=Mode.FROZEN_KV_DRAFT,
        batch_size=len(sequences),
        input_ids=integers(tokens, device),
        positions=on_device + depth,
        req_pool_indices=integers((sequence.row for sequence in branches), device),
        seq_lens=on_device,
        seq_lens_cpu=lengths,
    )
