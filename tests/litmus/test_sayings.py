"""The hard sayings of engines, each with the tests that hold it.

Most rules are tested beside what they are about; `SAYINGS` names these tests, and one looks that
they exist. What is only a way of saying things, and no part of the compiler, is tested here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from support.bounds import derived
from support.small_specs import mode_text, small
from support.specs import resolved
from ullage.configuration.values import complete
from ullage.expr.evaluate import evaluate_integer
from ullage_generated.sglang import Config, DecodeGraphTargetRunner
from ullage_runtime.errors import ConfigurationError
from ullage_runtime.ranks import SingleRank

TESTS = Path(__file__).parents[1]
HERE = "litmus/test_sayings.py"
SIZES = "compiler/audit/test_sglang_graph_sizes.py"
BACKENDS = "compiler/audit/test_sglang_backend_sizes.py"

SAYINGS: dict[int, tuple[str, ...]] = {
    1: (
        f"{SIZES}::test_what_is_captured_is_the_list_of_the_table",
        "hazards/test_limits.py::test_a_constraint_leaves_capture_lists_that_fit",
        f"{HERE}::test_a_filtered_list_that_comes_out_empty_is_refused",
    ),
    2: (
        "generated/test_sglang_coordinated_rounds.py"
        "::test_a_rank_that_need_not_join_takes_no_graph_much_larger_than_it_is",
    ),
    3: (
        f"{SIZES}::test_lists_that_nobody_gives_are_those_of_the_table",
        f"{SIZES}::test_the_most_rows_are_captured_even_between_two_steps",
    ),
    4: (
        "compiler/plan/test_layout.py"
        "::test_the_upper_value_of_a_varying_parameter_is_the_largest_of_its_list",
        "compiler/audit/test_lists_and_totals.py"
        "::test_the_width_that_a_batch_has_is_one_of_the_list",
    ),
    5: (
        "compiler/bound/test_sums.py::test_a_sum_is_never_exceeded_and_tight_where_that_is_claimed",
        "generated/test_sglang_config.py"
        "::test_requests_that_share_no_prefix_have_no_more_keys_than_their_pool",
    ),
    6: (
        f"{BACKENDS}::test_every_buffer_has_the_elements_that_the_rules_give_it_"
        "and_the_bytes_of_its_slots",
    ),
    7: (
        f"{BACKENDS}::test_a_page_table_has_columns_for_drafts_behind_the_end_of_the_context",
        f"{BACKENDS}::test_without_drafts_a_page_table_is_as_wide_as_the_context",
    ),
    8: (
        "property/test_rounds.py::test_many_specs_in_which_ranks_decide_together",
        "demo/test_runners.py::test_requests_follow_from_the_tokens_of_the_busiest_rank",
    ),
    9: (
        "property/test_splits.py::test_the_largest_share_follows_from_the_length_of_each_request",
        f"{HERE}::test_without_context_parallelism_nothing_is_aligned_for_it",
    ),
    10: (
        "compiler/wellformed/test_orders.py::test_a_split_is_of_the_rows_that_are_computed",
        f"{HERE}::test_the_second_of_two_batches_may_have_all_tokens_but_one",
    ),
    11: (
        "compiler/audit/test_sglang_audits.py"
        "::test_frozen_kv_rows_overflow_by_branches_and_then_by_sync",
        "compiler/bound/test_specialise.py"
        "::test_a_parameter_per_worker_is_one_for_each_that_exists",
    ),
    12: (f"{HERE}::test_a_default_follows_from_others_with_a_floor_and_a_ceiling",),
    13: (f"{HERE}::test_decodes_in_a_chunk_leave_the_rest_of_it_to_prompts",),
    14: (
        "compiler/audit/test_sglang_sizes.py::test_the_prefill_ceiling_is_that_of_the_table",
        "compiler/audit/test_sglang_audits.py::test_a_dynamic_chunk_overflows_the_configured_one",
    ),
    15: (f"{SIZES}::test_the_axes_are_those_of_the_table",),
    16: (
        f"{HERE}::test_what_pipeline_ranks_hand_on_has_a_share_of_the_rows_and_widths_of_its_own",
    ),
    17: (
        f"{BACKENDS}"
        "::test_a_backend_that_counts_the_raw_pool_has_too_few_rows_for_an_aligned_graph",
        "hazards/test_captures.py::test_a_layout_that_is_replayed_and_never_captured_is_refused",
    ),
    18: (
        "generated/test_sglang_catch_up.py::test_a_row_without_a_request_is_as_long_as_"
        "its_queries_and_the_keys_that_are_pooled",
    ),
    19: (
        "demo/test_runners.py::test_the_head_is_copied_and_the_tail_is_filled",
        "compiler/plan/test_tails.py::test_a_tail_holds_what_its_reader_fills_in",
    ),
    20: (
        "generated/test_sglang_config.py"
        "::test_offsets_into_more_keys_than_32_bits_count_are_refused",
        "generated/test_sglang_config.py"
        "::test_branches_of_drafts_multiply_the_keys_that_offsets_reach",
    ),
    21: ("compiler/audit/test_lists_and_totals.py::test_the_largest_width_is_enough",),
    22: (f"{HERE}::test_a_batch_goes_to_the_buffers_of_a_graph_where_it_fits",),
    23: (
        "generated/test_sglang_loads.py"
        "::test_an_idle_rank_whose_peers_extend_carries_one_dummy_request",
        "demo/test_paged_kv.py::test_admitted_requests_share_no_slot_and_never_get_the_padding_one",
    ),
    24: (
        "compiler/plan/test_values.py::test_a_host_slot_needs_to_fit_only_its_cpu_dtype",
        "compiler/plan/test_arenas.py::test_what_is_written_once_shares_storage_with_nothing",
    ),
    25: (
        "generated/test_sglang_arenas.py::test_prompts_beside_replayed_decodes_have_bytes_of_"
        "their_own_where_streams_are_multiplexed",
        "runtime/native/test_staging_ring.py::test_batches_in_flight_lie_in_places_of_their_own",
    ),
}


def functions(file: Path) -> Iterator[str]:
    """The tests of a module."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name


def test_every_saying_has_a_test() -> None:
    assert list(SAYINGS) == list(range(1, 26))
    assert all(SAYINGS.values())


@pytest.mark.parametrize("number", SAYINGS)
def test_the_tests_of_a_saying_exist(number: int) -> None:
    for named in SAYINGS[number]:
        file, _, name = named.partition("::")
        assert name in functions(TESTS / file), named


def test_a_filtered_list_that_comes_out_empty_is_refused() -> None:
    overlapping = {"tp_size": 2, "moe_a2a_backend": "deepep", "enable_two_batch_overlap": True}
    given = {**overlapping, "max_running_requests": 3, "enable_decode_graph": True}
    for rows, kept in (((1, 2, 3), False), ((1, 2, 4), True)):  # what is no multiple of 4 is left
        arguments = {**given, "capture_requests": list(rows)}
        if kept:
            assert Config.from_arguments(arguments).captured == (4,)
        else:
            with pytest.raises(ConfigurationError, match="captured has an element"):
                Config.from_arguments(arguments)


@pytest.mark.parametrize("strategy", ["zigzag", "interleave"])
def test_without_context_parallelism_nothing_is_aligned_for_it(strategy: str) -> None:
    for ranks in (1, 2, 4):
        given = {"attn_cp_size": ranks, "tp_size": ranks, "cp_strategy": strategy}
        aligned = 1 if ranks == 1 else 2 * ranks if strategy == "zigzag" else ranks
        assert Config.from_arguments(given).cp_align == aligned


def test_the_second_of_two_batches_may_have_all_tokens_but_one(tmp_path: Path) -> None:
    files = small(
        mode_text(
            live={"toks": "2; room", "split": "1; toks - 1"},
            requests="1",
            tokens="toks",
            first="split",
            pipeline=["halve"],
        ),
        parameters=("room: {type: int, range: [2, 9]}", "step: {type: int, range: [1, 4]}"),
        axes=("first: {begins_as: 0}", "second: {begins_as: 0}"),
        transforms=('halve: {second: "align_up(tokens - first, step)"}',),
        slots=("ids: {shape: [second], dtype: int64, source: batch.ids}",),
    )
    formula = derived(tmp_path, files).capacities.of("eager_target", "second").formula
    for room, step in product(range(2, 10), range(1, 5)):
        most = max(-(-(room - split) // step) * step for split in range(1, room))
        assert evaluate_integer(formula, {"room": room, "step": step}) == most


def test_a_default_follows_from_others_with_a_floor_and_a_ceiling(tmp_path: Path) -> None:
    files = small(
        mode_text(live={"requests": "1; rows"}, requests="requests", tokens="requests"),
        parameters=(
            "pool: {type: int, range: [2, 2^31 - 1]}",
            "context: {type: int, range: [1, 2^24]}",
            "states: {type: bool, default: false}",
            "cache: {type: int, range: [1, 2^20], when: states}",
            "ratio: {type: int, range: [1, 6], when: states, default: 3}",
            "room: {type: int, range: [1, 4096], "
            'default: "min(max(pool * 512 // context, 2048), 4096)"}',
            'rows: {type: int, range: [1, 4096], default: "min(room, max(pool // 2, 1), '
            'max(cache // ratio, 1) if states else room)"}',
        ),
    )
    spec = resolved(tmp_path, files)
    for pool, context in product((2, 5000, 800_000, 2_000_000), (2048, 131_072)):
        room = min(max(pool * 512 // context, 2048), 4096)
        given = {"pool": pool, "context": context}
        assert complete(spec, given)["rows"] == min(room, max(pool // 2, 1))
        with_states = complete(spec, {**given, "states": True, "cache": 30})
        assert with_states["rows"] == min(room, max(pool // 2, 1), 10)


def test_decodes_in_a_chunk_leave_the_rest_of_it_to_prompts(tmp_path: Path) -> None:
    files = small(
        mode_text(
            live={
                "running": "1; rows - 1",
                "prompts": "1; rows - running",
                "toks": "1; chunk - running",
            },
            requests="running + prompts",
            tokens="running + toks",
            where=["prompts <= toks"],
        ),
        parameters=("rows: {type: int, range: [2, 6]}", "chunk: {type: int, range: [2, 8]}"),
        slots=(
            "ids: {shape: [tokens], dtype: int64, source: batch.ids}",
            "lens: {shape: [requests], dtype: int64, source: batch.lens}",
        ),
    )
    capacities = derived(tmp_path, files).capacities
    tokens, requests = (
        capacities.of("eager_target", axis).formula for axis in ("tokens", "requests")
    )
    for rows, chunk in product(range(2, 7), range(2, 9)):
        batches = [
            (running + prompts, running + toks)
            for running, prompts, toks in product(range(1, rows), range(1, rows), range(1, chunk))
            if running + prompts <= rows and running + toks <= chunk and prompts <= toks
        ]
        found = [
            evaluate_integer(each, {"rows": rows, "chunk": chunk}) for each in (requests, tokens)
        ]
        assert found == [max(column) for column in zip(*batches, strict=True)]


def test_what_pipeline_ranks_hand_on_has_a_share_of_the_rows_and_widths_of_its_own() -> None:
    config = Config.from_arguments(
        {
            "pp_size": 2,
            "tp_size": 4,
            "moe_a2a_backend": "deepep",
            "moe_dense_tp_size": 1,
            "residual_streams": 3,
            "hidden_size": 64,
            "max_running_requests": 16,
            "enable_decode_graph": True,
            "capture_requests": [4, 8, 16],
        }
    )
    runner = DecodeGraphTargetRunner(config, SingleRank(), device="cpu")
    hidden = runner.registry.pipeline_hidden_states
    assert hidden is not None
    assert hidden.shape == (16 // 4, 3 * 64)
    assert runner.registry.pipeline_residual is None  # the streams are mixed into one


def test_a_batch_goes_to_the_buffers_of_a_graph_where_it_fits(tmp_path: Path) -> None:
    files = small(
        mode_text(live={"requests": "1; rows"}, requests="requests", tokens="requests"),
        parameters=(
            "rows: {type: int, range: [1, 9]}",
            "sizes: {type: list, range: [1, 9], default: [1, 4]}",
        ),
    )
    reused = files["eager.yaml"].replace("runner: eager", "runner: masked")
    files = {
        **files,
        "masked.yaml": f"{reused}accepts: [requests <= max(sizes)]\nfallback: eager\n"
        "limits: {requests: max(sizes)}\n",
    }
    capacities = derived(tmp_path, files).capacities
    for rows, sizes in product(range(1, 10), ([1], [1, 4], [2, 9])):
        given = {"rows": rows, "sizes": sizes}
        masked, eager = (
            evaluate_integer(capacities.of(f"{name}_target", "requests").formula, given)
            for name in ("masked", "eager")
        )
        assert (masked, eager) == (min(rows, max(sizes)), rows)
