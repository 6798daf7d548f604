"""Speculative decoding: a drafter proposes a tree, one target step verifies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import torch

from ullage_demo.batches import integers, join, small_integers
from ullage_demo.paged_kv import RequestTable
from ullage_demo.plain import run_step
from ullage_demo.schedule import Chunk, RunningSequence, Step
from ullage_demo.sizes import Speculation
from ullage_demo.tree import Accepted, DraftTree
from ullage_demo.worker import Worker
from ullage_generated.sglang import LiveBatch, Mode


class Drafter(Protocol):
    """Proposes trees. All three calls are about sequences whose last token is not cached yet.

    `speculation`: that of the round. A round gives a sequence at most its `draft_tokens`.
    """

    def prefill(self, chunks: Sequence[Chunk]) -> None:
        """See prompt chunks, before the target does."""
        ...

    def catch_up(self, sequences: Sequence[RunningSequence], speculation: Speculation) -> None:
        """See the tokens that the sequences have gained."""
        ...

    def propose(
        self, sequences: Sequence[RunningSequence], speculation: Speculation
    ) -> list[DraftTree]:
        """One tree for each sequence, rooted at its last token."""
        ...


@dataclass(slots=True)
class Acceptance:
    """Drafts accepted, of the deepest path that each verified tree could have given."""

    accepted: int = 0
    possible: int = 0

    @property
    def rate(self) -> float:
        return self.accepted / self.possible if self.possible else 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """One verify: `draft_tokens` of each of `sequences`."""

    draft_tokens: int
    sequences: tuple[RunningSequence, ...]


class SpeculativeDecoder:
    """Executes steps with a target and a drafter.

    `lengths`: the draft tokens of each round, without end; None if all rounds are alike.
    `acceptance`: what the drafts were worth; `rounds`: what was verified, in order.
    """

    def __init__(
        self,
        target: Worker,
        drafter: Drafter,
        speculation: Speculation,
        lengths: Iterable[int] | None = None,
    ) -> None:
        self._target = target
        self._drafter = drafter
        self._lengths = iter(repeat(speculation.draft_tokens) if lengths is None else lengths)
        self._speculation = speculation
        self.acceptance = Acceptance()
        self.rounds: list[Round] = []

    def run_step(self, step: Step) -> None:
        if step.mode is Mode.DECODE:
            self._round(step.sequences)
        elif step.mode is Mode.EXTEND:
            self._drafter.prefill(step.chunks)
            run_step(self._target, step)
            self._catch_up([each for each in step.sequences if each.decodes])
        else:
            run_step(self._target, step)

    def _round(self, sequences: list[RunningSequence]) -> None:
        length = next(self._lengths)
        if length != self._speculation.draft_tokens:
            self._speculation = self._speculation.of_length(length)
        self.rounds.append(Round(length, tuple(sequences)))
        trees = self._drafter.propose(sequences, self._speculation)
        live = verify_batch(
            self._target.table, sequences, trees, length=self._speculation.chosen_length
        )
        tree = torch.cat([each.ancestors() for each in trees])
        predictions = self._target.forward(live, tree=tree).argmax(dim=-1)
        for index, (sequence, drafted) in enumerate(zip(sequences, trees, strict=True)):
            row = index * length
            self._accept(sequence, drafted.accept(predictions[row : row + length].tolist()))
        self._catch_up(sequences)

    def _accept(self, sequence: RunningSequence, accepted: Accepted) -> None:
        """Keep the accepted path: its keys and values move to where its positions belong."""
        base = sequence.cached
        slots = self._target.table.slots(sequence.row, base, base + self._speculation.draft_tokens)
        self._target.pool.move(slots[list(accepted.rows)], slots[: len(accepted.rows)])
        sequence.cached += len(accepted.rows)
        sequence.tokens += accepted.tokens
        self.acceptance.accepted += accepted.drafts
        self.acceptance.possible += self._speculation.steps

    def _catch_up(self, sequences: Sequence[RunningSequence]) -> None:
        unfinished = [sequence for sequence in sequences if not sequence.finished]
        if unfinished:
            self._drafter.catch_up(unfinished, self._speculation)


def verify_batch(
    table: RequestTable,
    sequences: Sequence[RunningSequence],
    trees: Sequence[DraftTree],
    *,
    length: int | None = None,
) -> LiveBatch:
    """Every tree in one batch: its rows lie in the slots that follow the cached tokens.

    `length`: that of the trees, where rounds choose it.
    """
    lengths = [sequence.cached for sequence in sequences]
    width = len(trees[0].tokens)
    device = table.device
    slots = [table.slots(each.row, each.cached, each.cached + width) for each in sequences]
    return LiveBatch(
        mode=Mode.TARGET_VERIFY if length is None else Mode.ADAPTIVE_VERIFY,
        batch_size=len(sequences),
        input_ids=integers((token for tree in trees for token in tree.tokens), device),
        positions=integers(_positions(lengths, trees), device),
        out_cache_loc=join(slots, device),
        req_pool_indices=integers((sequence.row for sequence in sequences), device),
        seq_lens=integers(lengths, device),
        seq_lens_cpu=integers(lengths),
        extend_seq_lens=small_integers((width for _ in sequences), device),
        extend_prefix_lens=small_integers(lengths, device),
        adaptive_draft_tokens=length,
    )


def _positions(lengths: Sequence[int], trees: Sequence[DraftTree]) -> Iterator[int]:
    """A token's position follows from its depth: siblings share one."""
    for length, tree in zip(lengths, trees, strict=True):
        yield from (length + depth for depth in tree.depths)
