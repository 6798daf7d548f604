"""The spec's shapes at SGLang's own capacities are the buffers that SGLang's graph runners have."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import pytest

from support.sglang_graphs import GraphRow, graph_rows
from support.sglang_table import ROOT, Buffer
from ullage.audit.compared import expanded
from ullage.bound.domain import for_worker
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.expr.environment import Value
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.read import read
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Slot

AUDIT = "sglang_0_5_23_graphs"

# What the spec calls a buffer of SGLang, where the names differ.
COUNTS = {
    "global_num_tokens_gpu": "global_num_tokens",
    "global_num_tokens_for_logprob_gpu": "global_num_tokens_for_logprob",
}
CATCHING_UP = {
    "hidden_states": "target_hidden_states",
    "extend_seq_lens": "verify_extend_seq_lens",
    "mamba_track_indices": "draft_mamba_track_indices",
}
SLOTS: Mapping[str, Mapping[str, str]] = {
    "decode_graph": COUNTS
    | {"next_token_logits_buffer": "graph_logits", "input_embeds": "graph_input_embeds"},
    "prefill_graph": {
        "cp.input_embeds": "context_share_embeds",
        "cp.positions": "context_share_positions",
    },
    "draft_graph": {
        "out_cache_loc": "draft_cache_loc",
        "extend_seq_lens": "draft_seq_lens_of_one",
        "topk_p": "draft_topk_p",
        "topk_index": "draft_topk_index",
        "hidden_states": "draft_hidden_states",
        "temperatures": "draft_temperatures",
        "top_ks": "draft_top_ks",
    },
    "draft_extend_graph": CATCHING_UP
    | {"seq_lens": "catch_up_seq_lens", "seq_lens_cpu": "catch_up_seq_lens_cpu"},
    "multi_layer_graph": CATCHING_UP
    | {
        "seq_lens": "layer_seq_lens",
        "seq_lens_cpu": "layer_seq_lens_cpu",
        "extend_start_loc": "layer_extend_start_loc",
        "next_token_logits_buffer": "layer_logits",
    },
    "frozen_kv_graph": {
        "topk_p": "frozen_topk_p",
        "topk_index": "frozen_topk_index",
        "hidden_states": "frozen_hidden_states",
        "bonus_tokens": "frozen_bonus_tokens",
    },
    "ngram_worker": {"positions": "ngram_positions", "draft_tokens": "ngram_draft_tokens"},
}

ROWS = [row for row in graph_rows() if row.runner in SLOTS]


@pytest.fixture(scope="module")
def resolved() -> ResolvedSpec:
    return read(ROOT / "specs" / "sglang")[1]


def values_of(resolved: ResolvedSpec, row: GraphRow) -> Mapping[str, Value]:
    """The configuration, and SGLang's capacity of each axis as the audit states it."""
    audit = next(each for each in resolved.spec.audits if each.name == AUDIT)
    values = dict(complete(resolved, row.configuration()))
    axes = {axis.name for axis in resolved.spec.axes}
    for each in audit.formulas:
        if (each.runner, each.worker) == (row.runner, row.worker) and each.target in axes:
            formula = expanded(resolved, audit, row.worker, each.formula)
            values[each.target] = evaluate_integer(formula, values)
    return values


def named(row: GraphRow, buffer: Buffer) -> str:
    return SLOTS[row.runner].get(buffer.name, buffer.name.replace("static.", "static_"))


def shape_of(
    resolved: ResolvedSpec, slot: Slot, row: GraphRow, values: Mapping[str, Value]
) -> tuple[int, ...]:
    rewrite = for_worker(resolved, row.worker)
    return tuple(evaluate_integer(rewrite(extent), values) for extent in slot.shape)


def test_the_table_has_every_graph_runner() -> None:
    assert {row.runner for row in ROWS} == SLOTS.keys()
    assert len(ROWS) == 19


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.runner}-{row.worker}")
def test_every_buffer_has_the_shape_and_the_dtype_of_the_table(
    resolved: ResolvedSpec, row: GraphRow
) -> None:
    values = values_of(resolved, row)
    runner = next(each for each in resolved.spec.runners if each.name == row.runner)
    slots = {slot.name: slot for slot in resolved.slots_of(runner)}
    rewrite = for_worker(resolved, row.worker)
    found = []
    for buffer in row.buffers:
        slot = slots[named(row, buffer)]
        assert evaluate_boolean(rewrite(slot.when), values), slot.name
        shape = shape_of(resolved, slot, row, values)
        found.append(Buffer(buffer.name, shape, slot.dtype))
    assert found == list(row.buffers)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.runner}-{row.worker}")
def test_the_axes_are_those_of_the_table(resolved: ResolvedSpec, row: GraphRow) -> None:
    values = values_of(resolved, row)
    branches = int(str(row.inputs["topk"])) if row.runner == "frozen_kv_graph" else 1
    assert values["requests"] == row.requests * branches
    assert values["tokens"] == row.tokens


@pytest.mark.parametrize("row", [each for each in ROWS if each.captured], ids=lambda row: row.name)
def test_what_is_captured_is_the_list_of_the_table(resolved: ResolvedSpec, row: GraphRow) -> None:
    captured = complete(resolved, row.configuration())["captured"]
    assert isinstance(captured, list)
    assert tuple(captured) == row.captured


DEFAULTS = [
    (row, parameter, tuple(listed))
    for parameter, name in (("capture_requests", "decode_cfg"), ("capture_tokens", "prefill_cfg"))
    for row in ROWS
    if isinstance(listed := row.inputs.get(name), list) and parameter in row.configuration()
]


@pytest.mark.parametrize(
    ("row", "parameter", "listed"),
    DEFAULTS,
    ids=[f"{row.name}-{row.runner}-{row.worker}-{parameter}" for row, parameter, _ in DEFAULTS],
)
def test_lists_that_nobody_gives_are_those_of_the_table(
    resolved: ResolvedSpec, row: GraphRow, parameter: str, listed: tuple[int, ...]
) -> None:
    given = dict(row.configuration())
    del given[parameter]
    if parameter == "capture_requests":
        given["capture_max_requests"] = max(listed)
    found = complete(resolved, given)[parameter]
    assert isinstance(found, list)
    # The table leaves out what is too short for context parallelism, which a filter does here.
    least = int(str(row.inputs["cp_align"])) if parameter == "capture_tokens" else 1
    assert tuple(each for each in found if each >= least) == listed


@pytest.mark.parametrize(
    ("speculative", "most", "count"), [(False, 512, 52), (False, 600, 55), (True, 600, 73)]
)
def test_the_most_rows_are_captured_even_between_two_steps(
    resolved: ResolvedSpec, speculative: bool, most: int, count: int
) -> None:
    given: dict[str, Plain] = {"enable_decode_graph": True, "capture_max_requests": most}
    given["speculative_algorithm"] = "ngram" if speculative else "none"
    found = complete(resolved, given)["capture_requests"]
    assert isinstance(found, list)
    assert found[-1] == most
    assert found == sorted(set(found))
    assert len(found) == count


def elements_of(resolved: ResolvedSpec, slot_name: str, values: Mapping[str, Value]) -> int:
    """The elements that a slot has, given its axes."""
    slot = next(each for each in resolved.spec.slots if each.name == slot_name)
    return prod(evaluate_integer(extent, values) for extent in slot.shape)


def stated_by(resolved: ResolvedSpec, runner: str, target: str, values: Mapping[str, Value]) -> int:
    """What SGLang gives an axis or a slot of a graph runner."""
    audit = next(each for each in resolved.spec.audits if each.name == AUDIT)
    found = next(each for each in audit.formulas if (each.runner, each.target) == (runner, target))
    return evaluate_integer(expanded(resolved, audit, found.worker, found.formula), values)


DFLASH: Mapping[str, Plain] = {
    "max_running_requests": 48,
    "tp_size": 8,
    "speculative_algorithm": "dflash",
    "enable_decode_graph": True,
}


def test_a_block_of_drafts_is_sixteen_tokens_in_one_step_unless_it_is_given(
    resolved: ResolvedSpec,
) -> None:
    values = complete(resolved, DFLASH)
    assert (values["speculative_num_draft_tokens"], values["speculative_num_steps"]) == (16, 1)
    assert values["captured"] == [*range(1, 9), *range(10, 33, 2), 40, 44, 48]


def test_a_sampler_of_blocks_has_rows_beyond_the_pool(resolved: ResolvedSpec) -> None:
    values = {**complete(resolved, DFLASH), "requests": 48, "tokens": 48 * 16}
    assert stated_by(resolved, "dflash_graph", "block_proposals", values) == 512 * 15
    assert elements_of(resolved, "block_proposals", values) == 48 * 15
    assert elements_of(resolved, "block_gathered_ids", values) == 8 * 48 * 15


@pytest.mark.parametrize(("running", "stated"), [(1, 1), (2, 2), (48, 94)])
def test_blocks_that_grow_by_doubling_end_below_twice_what_is_needed(
    resolved: ResolvedSpec, running: int, stated: int
) -> None:
    given: Mapping[str, Plain] = {**DFLASH, "max_running_requests": running}
    values = complete(resolved, given)
    assert stated_by(resolved, "dflash_worker", "requests", values) == stated


@pytest.mark.parametrize(("running", "rows"), [(32, 96), (33, 33)])
def test_a_small_server_that_goes_on_from_prompts_has_three_rows_for_each_request(
    resolved: ResolvedSpec, running: int, rows: int
) -> None:
    given: dict[str, Plain] = {"max_running_requests": running, "disaggregation_mode": "decode"}
    assert complete(resolved, given)["request_pool_size"] == rows


@pytest.mark.parametrize(
    ("context", "length", "chunks"), [(131072, 512, 16), (4096, 512, 8), (500, 500, 1)]
)
def test_prefixes_of_whole_prefill_graphs_are_chunked(
    resolved: ResolvedSpec, context: int, length: int, chunks: int
) -> None:
    given: Mapping[str, Plain] = {
        "context_length": context,
        "enable_prefill_graph": True,
        "prefill_graph_backend": "full",
    }
    values = {**complete(resolved, given), "requests": 16}
    assert values["full_prefill_max_req"] == 16
    assert values["prefix_chunk_length"] == length
    assert elements_of(resolved, "prefix_kv_indices", values) == chunks * 16 * length
    assert elements_of(resolved, "prefix_cu_seq_lens", values) == chunks * 17
