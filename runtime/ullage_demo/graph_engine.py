"""The target's engine where rounds are replayed: what is captured, and what is planned before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.attention import Attention
from ullage_demo.engine import StepEngine
from ullage_demo.paged_kv import KVPool, RequestTable
from ullage_demo.seam import present
from ullage_generated.sglang import DecodeGraphTargetBatch, LiveBatch, Mode
from ullage_runtime.graphs import GraphSet, Shape


@dataclass(frozen=True, slots=True)
class TargetGraphs:
    """The graphs of one target, and how often each was replayed."""

    graphs: GraphSet[DecodeGraphTargetBatch, Tensor]
    replays: Counter[Shape] = field(default_factory=Counter)


class GraphEngine(StepEngine):
    """Computes one step, by a graph if the graph runner takes it.

    `fill_tails`: writes what it likes where a loaded batch leaves it free, before a replay.
    """

    def __init__(
        self,
        model: LlamaForCausalLM,
        pool: KVPool,
        table: RequestTable,
        attention: Attention,
        target: TargetGraphs,
        *,
        tree: Tensor | None = None,
        fill_tails: Callable[[DecodeGraphTargetBatch], None] | None = None,
    ) -> None:
        super().__init__(model, pool, table, attention, tree=tree)
        self._target = target
        self._fill_tails = fill_tails

    @property
    def storages(self) -> Iterator[Tensor]:
        """What graphs read and write beside the runner's buffers."""
        yield from self._model.parameters()
        yield from self._model.buffers()
        yield from self._pool.keys
        yield from self._pool.values
        yield from self._attention.storages

    # Facts: what graphs are not captured for.

    def replaced_embeds(self, live: LiveBatch, /) -> bool:
        return live.input_embeds is not None

    def uncaptured_variant(self, _live: LiveBatch, /) -> bool:
        return False

    def uncaptured_attention(self, _live: LiveBatch, /) -> bool:
        return False

    def outvoted(self, _live: LiveBatch, /) -> bool:
        return False

    def lacks_encoder(self, _live: LiveBatch, /) -> bool:
        return False

    def unsplit(self, _live: LiveBatch, /) -> bool:
        return False

    def wants_hidden_states(self, _live: LiveBatch, /) -> bool:
        return False

    def wants_logprobs(self, _live: LiveBatch, /) -> bool:
        return False

    def lacks_rank(self, _live: LiveBatch, /) -> bool:
        return False

    def uneven_shares(self, _live: LiveBatch, /) -> bool:
        return False

    def prefers_eager(self, _live: LiveBatch, /) -> bool:
        return False

    def uncapturable_prefix(self, _live: LiveBatch, /) -> bool:
        return True  # no graph of prompts is captured

    def beyond_captured_lengths(self, _live: LiveBatch, /) -> bool:
        return False

    # Steps.

    def plan_replay(self, batch: DecodeGraphTargetBatch, /) -> None:
        """Plan on the host, outside of the graph, as every replay does."""
        if self._fill_tails is not None:
            self._fill_tails(batch)
        self._plan = self._attention.plan_graph(batch, self._pool, self._table, self._tree)

    def capture(self, batch: DecodeGraphTargetBatch, /) -> None:
        """Capture the forward, over the plan of this batch; the replay that follows is its first.

        ValueError if the configuration has no buffer for the logits of graphs.
        """
        plan, logits = self._planned, present(batch.graph_logits, "graph_logits")
        self._target.graphs.capture(batch, lambda held: logits.copy_(self.compute(held, plan)))

    def replay(self, batch: DecodeGraphTargetBatch, /) -> Tensor:
        """Logits [padded tokens, vocabulary] in their static buffer.

        Raises GraphError, and PaddingError if any row, a padded one too, is not finite.
        """
        logits = self._target.graphs.replay(batch)
        if batch.mode is not Mode.CAPTURE:
            self._target.replays[self._target.graphs.shape_of(batch)] += 1
        self.require_finite(batch, logits)
        return logits
