"""SGLang's target and draft runner in the arenas of one process."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ullage_generated.sglang import (
    Arenas,
    Config,
    DecodeGraphTargetRunner,
    EagerDraftBatch,
    EagerDraftRunner,
    EagerTargetBatch,
    EagerTargetRunner,
    LiveBatch,
    SpeculativeAlgorithm,
    strategies,
)
from ullage_runtime.debug import poison
from ullage_runtime.errors import DebugError
from ullage_runtime.ranks import SingleRank

Runner = EagerTargetRunner | EagerDraftRunner
Batch = EagerTargetBatch | EagerDraftBatch

SEEDS: tuple[dict[str, object], ...] = tuple(
    {**seed, "attention_backend": "triton"}  # none whose workspace takes seconds to poison
    for seed in (
        {"speculative_algorithm": "frozen_kv_mtp", "speculative_eagle_topk": 3, "tp_size": 1},
        {"speculative_algorithm": "eagle", "moe_a2a_backend": "deepep", "tp_size": 4},
        {"speculative_algorithm": "eagle", "tp_size": 1},
    )
)


def bytes_of(runner: EagerTargetRunner | DecodeGraphTargetRunner) -> list[range]:
    """The addresses of each slot that has any."""
    slots = (getattr(runner.registry, field.name) for field in fields(runner.registry))
    found = [
        range(slot.data_ptr(), slot.data_ptr() + slot.nbytes)
        for slot in slots
        if isinstance(slot, torch.Tensor) and slot.nbytes
    ]
    assert found
    return found


@pytest.mark.parametrize("backend", ["triton", "flashinfer"])
@pytest.mark.parametrize("multiplexes", [False, True])
def test_prompts_beside_replayed_decodes_have_bytes_of_their_own_where_streams_are_multiplexed(
    backend: str, multiplexes: bool
) -> None:
    config = Config.from_arguments(
        {
            "enable_pdmux": multiplexes,
            "enable_decode_graph": True,
            "attention_backend": backend,
            "max_running_requests": 8,
            "chunked_prefill_size": 64,
            "max_total_tokens": 256,
            "context_length": 128,
            "vocab_size": 64,
        }
    )
    arenas = Arenas.allocate(config, device="cpu", debug=False)
    eager = EagerTargetRunner(config, SingleRank(), device="cpu", arenas=arenas)
    graph = DecodeGraphTargetRunner(config, SingleRank(), device="cpu", arenas=arenas)
    shared = any(
        max(one.start, other.start) < min(one.stop, other.stop)
        for one in bytes_of(eager)
        for other in bytes_of(graph)
    )
    assert shared == (not multiplexes)


class Others(SingleRank):
    """One of `count` ranks, which brings the most rows of all."""

    def __init__(self, count: int) -> None:
        self.count = count


def sharing(config: Config, *, debug: bool) -> tuple[EagerTargetRunner, EagerDraftRunner]:
    """The runners of both workers, in one process."""
    ranks = Others(config.num_dp_ranks)
    arenas = Arenas.allocate(config, device="cpu", debug=debug)
    return (
        EagerTargetRunner(config, ranks, device="cpu", debug=debug, arenas=arenas),
        EagerDraftRunner(config, ranks, device="cpu", debug=debug, arenas=arenas),
    )


def batches(runner: Runner) -> st.SearchStrategy[LiveBatch]:
    of = (
        strategies.eager_target_batches
        if isinstance(runner, EagerTargetRunner)
        else strategies.eager_draft_batches
    )
    return st.sampled_from(runner.modes).flatmap(lambda mode: of(runner.config, mode))


def contents(batch: Batch) -> dict[str, object]:
    """Everything that a batch exposes, with tensors as lists."""
    values = ((field.name, getattr(batch, field.name)) for field in fields(batch))
    return {
        name: value.tolist() if isinstance(value, torch.Tensor) else value
        for name, value in values
        if name != "input_embeds"  # carried as it is
    }


@given(st.data(), st.booleans())
@pytest.mark.slow
def test_what_one_worker_leaves_behind_is_never_seen_by_the_other(
    data: st.DataObject, debug: bool
) -> None:
    config = data.draw(strategies.configs(fixed=data.draw(st.sampled_from(SEEDS))))
    if not config.has_draft_worker:
        return
    ranks = Others(config.num_dp_ranks)
    target, draft = sharing(config, debug=debug)
    alone: dict[Runner, Runner] = {
        target: EagerTargetRunner(config, ranks, device="cpu", debug=debug),
        draft: EagerDraftRunner(config, ranks, device="cpu", debug=debug),
    }
    for _ in range(4):
        runner: Runner = data.draw(st.sampled_from([target, draft]))
        live = data.draw(batches(runner))
        if not debug:
            for slot in (*target.registry.slots, *draft.registry.slots):
                poison(slot)
            for slot in alone[runner].registry.slots:
                poison(slot)
        assert contents(runner.load(live)) == contents(alone[runner].load(live))


def test_both_workers_take_no_more_than_the_larger_one() -> None:
    config = Config.of(speculative_algorithm=SpeculativeAlgorithm.EAGLE)
    target, draft = sharing(config, debug=False)
    for role in (0, 1):
        shared = target.registry.arenas[role]
        assert shared is draft.registry.arenas[role]
        alone = [
            EagerTargetRunner(config, SingleRank(), device="cpu").registry.arenas[role],
            EagerDraftRunner(config, SingleRank(), device="cpu").registry.arenas[role],
        ]
        assert shared.size_bytes == max(arena.size_bytes for arena in alone)
    compute, host = target.registry.arenas
    assert all(compute.owns(slot) or host.owns(slot) for slot in draft.registry.slots)


def test_debug_mode_finds_a_draft_that_loads_while_the_target_runs() -> None:
    target, draft = sharing(Config.of(speculative_algorithm=SpeculativeAlgorithm.EAGLE), debug=True)
    before = target.registry.regions.claims
    for runner in (target, draft):
        largest = runner.largest_batch()
        assert largest is not None
        runner.load(largest)
    with pytest.raises(DebugError, match="eager of worker draft loaded"):
        target.registry.regions.require_kept(before)
