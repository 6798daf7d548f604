"""Which runner of the target gets a batch, by what the engine answers of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import pytest
import torch

from support.sglang_batches import prompts
from support.sglang_engine import Peers
from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetRunner,
    EagerTargetRunner,
    LiveBatch,
    Mode,
    PrefillGraphTargetRunner,
    TargetRunners,
)
from ullage_generated.sglang.selection import TargetRunnersFacts

Settings = Mapping[str, bool | int | str | tuple[int, ...]]

_SYNCED: Settings = {"enable_dp_attention": True, "tp_size": 2, "attn_dp_size": 2}
_SPLIT: Settings = {"tp_size": 2, "attn_cp_size": 2}
_ALONE: Settings = {}

DECODES: Mapping[str, tuple[Settings, bool]] = {
    "replaced_embeds": (_ALONE, True),
    "outvoted": (_SYNCED, False),
    "lacks_encoder": ({"is_encoder_decoder": True}, False),
    "unsplit": ({"enable_two_batch_overlap": True}, False),
    "uncaptured_variant": ({"enable_lora": True}, False),
    "uncaptured_attention": (_ALONE, True),
    "wants_hidden_states": (_ALONE, True),
}
"""Facts with the settings under which they count, and whether they do without these as well."""

PROMPTS: Mapping[str, tuple[Settings, bool]] = {
    "replaced_embeds": (_ALONE, True),
    "outvoted": (_SYNCED, False),
    "lacks_rank": ({**_SYNCED, "elastic_world_expanded": True}, False),
    "uncaptured_variant": ({"enable_lora": True}, False),
    "prefers_eager": ({"enable_mixed_chunk": True}, False),
    "wants_logprobs": ({"prefill_graph_backend": "piecewise"}, False),
    "wants_hidden_states": (_ALONE, True),
    "uncapturable_prefix": (_ALONE, True),
    "beyond_captured_lengths": (_ALONE, True),
}


@dataclass(frozen=True)
class Answers:
    """An engine that says yes to some questions about a batch, and no to all others."""

    yes: frozenset[str] = frozenset()

    def __getattr__(self, fact: str) -> Callable[[LiveBatch], bool]:
        return lambda _live: fact in self.yes


def chosen(settings: Settings, live: LiveBatch, *yes: str) -> type[object]:
    """The class of the runner that gets the batch."""
    config = Config.of(
        **{
            "max_running_requests": 8,
            "max_total_tokens_target": 64,
            "chunked_prefill_size": 16,
            "enable_decode_graph": True,
            "capture_requests": (2, 4, 8),
            **settings,
        }
    )
    runners = TargetRunners(config, Peers(2), device="cpu")
    runner, _ = runners.select(live, cast(TargetRunnersFacts, Answers(frozenset(yes))))
    return type(runner)


def decodes(requests: int) -> LiveBatch:
    """A decode batch, which has read something of an encoder if the model has one."""
    rows = torch.arange(1, requests + 1)
    return LiveBatch(
        mode=Mode.DECODE,
        batch_size=requests,
        input_ids=rows,
        positions=rows + 10,
        out_cache_loc=rows + 20,
        req_pool_indices=rows,
        seq_lens=rows + 11,
        encoder_lens=rows.int(),
    )


EXTEND = prompts(Mode.EXTEND, 2, 5)


@pytest.mark.parametrize("fact", DECODES)
def test_decodes_of_which_the_engine_says_that_no_graph_holds_them_run_eagerly(fact: str) -> None:
    settings, always = DECODES[fact]
    assert chosen(settings, decodes(3)) is DecodeGraphTargetRunner
    assert chosen(settings, decodes(3), fact) is EagerTargetRunner
    without = EagerTargetRunner if always else DecodeGraphTargetRunner
    assert chosen(_ALONE, decodes(3), fact) is without


@pytest.mark.parametrize("fact", PROMPTS)
def test_prompts_of_which_the_engine_says_that_no_graph_holds_them_run_eagerly(fact: str) -> None:
    graphs: Settings = {"enable_prefill_graph": True, "capture_tokens": (4, 8, 16)}
    settings, always = PROMPTS[fact]
    assert chosen({**graphs, **settings}, EXTEND) is PrefillGraphTargetRunner
    assert chosen({**graphs, **settings}, EXTEND, fact) is EagerTargetRunner
    without = EagerTargetRunner if always else PrefillGraphTargetRunner
    assert chosen(graphs, EXTEND, fact) is without


def test_prompts_are_in_graphs_as_context_parallelism_splits_them_or_not() -> None:
    graphs: Settings = {"enable_prefill_graph": True, "capture_tokens": (4, 8, 16), **_SPLIT}
    whole = {**graphs, "prefill_graph_backend": "piecewise"}
    assert chosen(graphs, EXTEND) is EagerTargetRunner
    assert chosen(graphs, EXTEND, "context_parallel") is PrefillGraphTargetRunner
    assert chosen(graphs, EXTEND, "context_parallel", "uneven_shares") is EagerTargetRunner
    assert chosen(whole, EXTEND) is PrefillGraphTargetRunner
    assert chosen(whole, EXTEND, "context_parallel") is EagerTargetRunner


def test_replaced_embeddings_are_in_graphs_that_have_a_slot_for_them() -> None:
    graphs: Settings = {"enable_prefill_graph": True, "capture_tokens": (4, 8, 16)}
    assert chosen(graphs, EXTEND, "replaced_embeds") is EagerTargetRunner
    with_slot = {**graphs, "is_multimodal": True}
    assert chosen(with_slot, EXTEND, "replaced_embeds") is PrefillGraphTargetRunner


@pytest.mark.parametrize(("requests", "in_a_graph"), [(3, False), (4, True), (8, True)])
def test_without_padding_only_a_graph_of_just_as_many_rows_takes_a_batch(
    requests: int, in_a_graph: bool
) -> None:
    taken = DecodeGraphTargetRunner if in_a_graph else EagerTargetRunner
    assert chosen({"disable_cuda_graph_padding": True}, decodes(requests)) is taken
    assert chosen(_ALONE, decodes(requests)) is DecodeGraphTargetRunner
