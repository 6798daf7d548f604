"""Graphs without a device: a forward over fixed addresses, run again for every replay.

A CUDA graph reads and writes where it did when it was captured, whatever it is handed later. So
does this one: a replay computes from the views of its capture, and refuses a batch that lies
elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.engine import StepEngine
from ullage_demo.paged_kv import KVPool, RequestTable
from ullage_generated.sglang import DecodeGraphTargetBatch, LiveBatch, Mode

Shape = tuple[int, int]
"""Padded requests and tokens."""


class GraphError(Exception):
    """A batch for which there is no graph, or that does not lie where its graph reads."""


@dataclass(slots=True)
class GraphSet:
    """The graphs of one target, in the order of their capture, and how often each was replayed.

    A graph is the batch that it was captured with: views of the static buffers.
    """

    graphs: dict[Shape, DecodeGraphTargetBatch] = field(default_factory=dict)
    replays: Counter[Shape] = field(default_factory=Counter)

    def add(self, batch: DecodeGraphTargetBatch) -> None:
        self.graphs[shape_of(batch)] = batch

    def graph_of(self, batch: DecodeGraphTargetBatch) -> DecodeGraphTargetBatch:
        """The graph of the batch's shape. Raises GraphError."""
        graph = self.graphs.get(shape_of(batch))
        if graph is None:
            raise GraphError(f"No graph was captured with {shape_of(batch)} requests and tokens.")
        if addresses(graph) != addresses(batch):
            raise GraphError(f"The batch of shape {shape_of(batch)} lies elsewhere than its graph.")
        return graph


def shape_of(batch: DecodeGraphTargetBatch) -> Shape:
    return batch.requests, batch.tokens


def addresses(batch: DecodeGraphTargetBatch) -> tuple[int | None, ...]:
    """Where the slots lie that a forward reads, and that which it writes."""
    read = (
        batch.input_ids,
        batch.positions,
        batch.out_cache_loc,
        batch.req_pool_indices,
        batch.seq_lens,
        batch.graph_logits,
    )
    return tuple(None if slot is None else slot.data_ptr() for slot in read)


class GraphEngine(StepEngine):
    """Computes one step, by a graph if the graph runner takes it.

    `fill_tails`: writes what it likes where a loaded batch leaves it free, before a replay.
    """

    def __init__(
        self,
        model: LlamaForCausalLM,
        pool: KVPool,
        table: RequestTable,
        graphs: GraphSet,
        *,
        tree: Tensor | None = None,
        fill_tails: Callable[[DecodeGraphTargetBatch], None] | None = None,
    ) -> None:
        super().__init__(model, pool, table, tree=tree)
        self._graphs = graphs
        self._fill_tails = fill_tails

    # Facts: what graphs are not captured for.

    def replaced_embeds(self, live: LiveBatch, /) -> bool:
        return live.input_embeds is not None

    def uncaptured_variant(self, _live: LiveBatch, /) -> bool:
        return False

    def outvoted(self, _live: LiveBatch, /) -> bool:
        return False

    def uncapturable(self, _live: LiveBatch, /) -> bool:
        return True

    # Steps.

    def plan_replay(self, batch: DecodeGraphTargetBatch, /) -> None:
        """Plan on the host, outside of the graph, as every replay does."""
        if self._fill_tails is not None:
            self._fill_tails(batch)
        self.plan_attention(batch)

    def capture(self, batch: DecodeGraphTargetBatch, /) -> None:
        """Remember where the forward reads and writes; the replay that follows is its first."""
        self._graphs.add(batch)

    def replay(self, batch: DecodeGraphTargetBatch, /) -> Tensor:
        """Logits [padded tokens, vocabulary] in their static buffer. Raises GraphError."""
        graph = self._graphs.graph_of(batch)
        if batch.mode is not Mode.CAPTURE:
            self._graphs.replays[shape_of(batch)] += 1
        if graph.graph_logits is None:
            raise GraphError("The configuration has no buffer for the logits of graphs.")
        return graph.graph_logits.copy_(self.forward(graph, None))
