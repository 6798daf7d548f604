"""The generated runners of the demo's models, configured by its sizes and measured."""

from __future__ import annotations

import time
from enum import Enum

from ullage_demo.measuring import LoadStatistics, Statistics
from ullage_demo.model import HIDDEN_SIZE, KEY_HEADS, QUERY_HEADS, VOCABULARY
from ullage_demo.paged_kv import Device
from ullage_demo.place import CPU, AttentionLibrary, Place
from ullage_demo.sizes import Sizes, Speculation
from ullage_generated.sglang import (
    Arenas,
    AttentionBackend,
    Config,
    DecodeGraphTargetBatch,
    DecodeGraphTargetRunner,
    EagerDraftBatch,
    EagerDraftRunner,
    EagerTargetBatch,
    EagerTargetRunner,
    LiveBatch,
    MoeA2aBackend,
    Offer,
    SpeculativeAlgorithm,
    TargetRunners,
)
from ullage_runtime.ranks import Ranks, SingleRank


class Role(Enum):
    """Which model a runner serves."""

    TARGET = "target"
    DRAFT = "draft"


class TargetRunner(EagerTargetRunner):
    """The generated runner of the target, which keeps `statistics` of its padded loads."""

    def __init__(
        self,
        config: Config,
        ranks: Ranks,
        *,
        device: Device,
        debug: bool,
        arenas: Arenas | None = None,
    ) -> None:
        super().__init__(config, ranks, device=device, debug=debug, arenas=arenas)
        self.statistics = Statistics(LoadStatistics)

    def load(
        self, live: LiveBatch, *, copy: bool = True, pad: bool | Offer = True
    ) -> EagerTargetBatch:
        started = time.perf_counter()
        batch = super().load(live, copy=copy, pad=pad)
        if pad:
            self.statistics[live.mode].add(batch, time.perf_counter() - started)
        return batch


class GraphRunner(DecodeGraphTargetRunner):
    """The same of the target's graphs."""

    def __init__(
        self, config: Config, ranks: Ranks, *, device: Device, debug: bool, arenas: Arenas
    ) -> None:
        super().__init__(config, ranks, device=device, debug=debug, arenas=arenas)
        self.statistics = Statistics(LoadStatistics)

    def load(
        self, live: LiveBatch, *, copy: bool = True, pad: bool | Offer = True
    ) -> DecodeGraphTargetBatch:
        started = time.perf_counter()
        batch = super().load(live, copy=copy, pad=pad)
        if pad:
            self.statistics[live.mode].add(batch, time.perf_counter() - started)
        return batch


class DraftRunner(EagerDraftRunner):
    """The same of the draft."""

    def __init__(self, config: Config, ranks: Ranks, *, device: Device, debug: bool) -> None:
        super().__init__(config, ranks, device=device, debug=debug)
        self.statistics = Statistics(LoadStatistics)

    def load(
        self, live: LiveBatch, *, copy: bool = True, pad: bool | Offer = True
    ) -> EagerDraftBatch:
        started = time.perf_counter()
        batch = super().load(live, copy=copy, pad=pad)
        if pad:
            self.statistics[live.mode].add(batch, time.perf_counter() - started)
        return batch


Runner = TargetRunner | DraftRunner


def build_runner(
    role: Role,
    sizes: Sizes,
    place: Place = CPU,
    *,
    ranks: Ranks | None = None,
) -> Runner:
    """The runner of one model. ConfigurationError if the engine could not have these sizes.

    `ranks` are kept in step by MLP-sync; where the place is one to debug, buffers are poisoned
    and steps compared, see DebugOptions.
    """
    make = TargetRunner if role is Role.TARGET else DraftRunner
    config = build_config(sizes, place)
    return make(config, ranks or SingleRank(), device=place.device, debug=place.debug)


class MeasuredRunners(TargetRunners):
    """The generated choice among the target's runners, each of which keeps its `statistics`.

    The two lie at the same addresses of one arena. ConfigurationError if no engine has the sizes.
    """

    decode_graph: GraphRunner
    eager: TargetRunner

    def __init__(self, sizes: Sizes, place: Place = CPU) -> None:
        config, ranks = build_config(sizes, place), SingleRank()
        device, debug = place.device, place.debug
        arenas = Arenas.allocate(config, device=device, debug=debug)
        super().__init__(config, ranks, device=device, debug=debug, arenas=arenas)
        self.decode_graph = GraphRunner(config, ranks, device=device, debug=debug, arenas=arenas)
        self.eager = TargetRunner(config, ranks, device=device, debug=debug, arenas=arenas)


def build_config(sizes: Sizes, place: Place = CPU) -> Config:
    """What the server arguments of an engine of these sizes would resolve to."""
    by_flashinfer = place.library is AttentionLibrary.FLASHINFER
    speculation, spread = sizes.speculation, sizes.ranks * sizes.alignment > 1
    return Config.of(
        max_running_requests=sizes.max_running,
        max_total_tokens_target=sizes.pool_tokens,
        max_total_tokens_draft=sizes.pool_tokens if speculation else None,
        context_length=sizes.context,
        chunked_prefill_size=sizes.chunk,
        max_prefill_tokens=sizes.chunk,
        enable_mixed_chunk=sizes.mixes,
        page_size=sizes.page_size,
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN_SIZE,
        attention_backend=AttentionBackend.FLASHINFER if by_flashinfer else AttentionBackend.OTHER,
        attention_heads=QUERY_HEADS,
        key_heads=KEY_HEADS,
        value_head_size=place.head_dim,
        tp_size=sizes.ranks * sizes.alignment,
        attn_dp_size=sizes.ranks,
        enable_dp_attention=spread,
        # Layers that are split over ranks gather tensors of one shape, as this backend does.
        moe_a2a_backend=MoeA2aBackend.PPLX if spread else MoeA2aBackend.NONE,
        enable_pdmux=sizes.splits,
        speculative_algorithm=_algorithm(speculation),
        speculative_num_steps=speculation.steps if speculation else None,
        speculative_eagle_topk=speculation.topk if speculation else None,
        speculative_num_draft_tokens=speculation.draft_tokens if speculation else None,
        speculative_adaptive=bool(speculation.candidates) if speculation else None,
        speculative_adaptive_candidates=_candidates(speculation),
        adaptive_draft_tokens=speculation.chosen_length if speculation else None,
        dllm_block_size=sizes.block,
        enable_decode_graph=bool(sizes.buckets),
        capture_requests=sizes.buckets or None,
    )


def _candidates(speculation: Speculation | None) -> tuple[int, ...] | None:
    return (speculation.candidates or None) if speculation else None


def _algorithm(speculation: Speculation | None) -> SpeculativeAlgorithm:
    if speculation is None:
        return SpeculativeAlgorithm.NONE
    if speculation.frozen_kv:
        return SpeculativeAlgorithm.FROZEN_KV_MTP
    return SpeculativeAlgorithm.EAGLE
