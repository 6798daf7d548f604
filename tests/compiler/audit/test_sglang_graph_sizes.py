"""The spec's shapes at SGLang's own capacities are the buffers that SGLang's graph runners have."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.sglang_graphs import Buffer, GraphRow, graph_rows
from support.sglang_table import ROOT
from ullage.analyse import read
from ullage.audit.compared import expanded
from ullage.bound.specialise import for_worker
from ullage.configuration.values import complete
from ullage.expr.evaluate import Value, evaluate_boolean, evaluate_integer
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
    "draft_extend_graph": CATCHING_UP,
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
    assert tuple(sorted(set(captured))) == row.captured
