"""What SGLang's rules give the tables of attention backends, and what the graphs there are need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod

import pytest

from support.bounds import read as read_text
from support.sglang_backend_slots import PARTS
from support.sglang_graphs import TableRow, table_rows
from support.sglang_table import ROOT
from ullage.audit.compared import expanded
from ullage.bound.specialise import for_worker
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.expr.environment import Value
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.expr.tree import Binary, Expr, Integer
from ullage.read import read
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import BYTES_OF_DTYPE
from ullage.spec.stated import Audit

AUDIT = "sglang_0_5_23_backends"
UNRECORDED = ("scheduler_metadata",)
"""What SGLang allocates and the table leaves out."""

COPIES: Mapping[str, tuple[str, int]] = {
    "flashinfer_qo_indptr": ("flashinfer_qo_indptr", 2),
    "flashinfer_second_kv_indptr": ("flashinfer_kv_indptr", 2),
    "flashinfer_second_qo_indptr": ("flashinfer_qo_indptr", 2),
    "flashinfer_second_kv_indices": ("flashinfer_kv_indices", 1),
}
"""Which formula speaks for a slot of the same shape, and how many of these SGLang keeps."""

ROWS = table_rows()


@pytest.fixture(scope="module")
def resolved() -> ResolvedSpec:
    return read(ROOT / "specs" / "sglang")[1]


def audit_of(resolved: ResolvedSpec) -> Audit:
    return next(each for each in resolved.spec.audits if each.name == AUDIT)


def stated(resolved: ResolvedSpec, runner: str, worker: str) -> Mapping[str, Expr]:
    """The elements that SGLang gives each slot of a runner."""
    audit = audit_of(resolved)
    found = {
        each.target: expanded(resolved, audit, worker, each.formula)
        for each in audit.formulas
        if each.runner == runner
    }
    copies = {
        slot: Binary("*", Integer(times), found[of])
        for slot, (of, times) in COPIES.items()
        if of in found
    }
    return {**found, **copies}


def needed(resolved: ResolvedSpec, slot_name: str, values: Mapping[str, Value]) -> int:
    """The elements that a slot has, given its axes."""
    slot = resolved.slots[slot_name]
    return prod(evaluate_integer(extent, values) for extent in slot.shape)


def configured(resolved: ResolvedSpec, row: TableRow) -> Mapping[str, Value]:
    return complete(resolved, row.configuration())


def name(row: TableRow) -> str:
    return f"{row.graphs.name}-{row.runner}"


def test_every_backend_of_the_table_is_compared() -> None:
    assert len(ROWS) == 12
    assert {row.backend for row in ROWS} == {"fa3", "trtllm_mha", "triton", "flashinfer"}


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_every_buffer_has_the_elements_that_the_rules_give_it_and_the_bytes_of_its_slots(
    resolved: ResolvedSpec, row: TableRow
) -> None:
    values = configured(resolved, row)
    for buffer in row.buffers:
        part = PARTS[row.runner][buffer.name]
        formula = expanded(resolved, audit_of(resolved), row.worker, read_text(part.elements))
        assert evaluate_integer(formula, values) == buffer.elements, buffer.name
        for slot in part.slots:
            size = BYTES_OF_DTYPE[resolved.slots[slot].dtype]
            assert size * buffer.elements == buffer.bytes, (buffer.name, slot)


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_the_buffers_of_a_slot_add_up_to_what_the_audit_states(
    resolved: ResolvedSpec, row: TableRow
) -> None:
    values, formulas = configured(resolved, row), stated(resolved, row.runner, row.worker)
    taken: Counter[tuple[str, ...]] = Counter()
    for buffer in row.buffers:
        taken[PARTS[row.runner][buffer.name].slots] += buffer.elements
    assert taken == {
        slots: sum(evaluate_integer(formulas[slot], values) for slot in slots) for slots in taken
    }


def test_every_recorded_buffer_is_compared_and_nothing_is_looked_for_that_is_not_recorded() -> None:
    recorded: dict[str, set[str]] = {}
    for row in ROWS:
        recorded.setdefault(row.runner, set()).update(buffer.name for buffer in row.buffers)
    assert recorded == {runner: set(parts) for runner, parts in PARTS.items()}


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_the_buffers_of_each_backend_take_the_bytes_of_the_table(row: TableRow) -> None:
    found = tuple(sum(buffer.bytes for buffer in backend) for backend in row.backends)
    assert found == row.bytes


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_every_slot_that_exists_is_recorded(resolved: ResolvedSpec, row: TableRow) -> None:
    values, rewrite = configured(resolved, row), for_worker(resolved, row.worker)
    recorded = {slot for each in row.buffers for slot in PARTS[row.runner][each.name].slots}
    existing = {
        slot
        for slot in stated(resolved, row.runner, row.worker)
        if evaluate_boolean(rewrite(resolved.slots[slot].when), values) and slot not in UNRECORDED
    }
    assert existing == recorded


def test_a_backend_that_counts_the_raw_pool_has_too_few_rows_for_an_aligned_graph(
    resolved: ResolvedSpec,
) -> None:
    given: Mapping[str, Plain] = {
        "max_running_requests": 3,
        "enable_two_batch_overlap": True,
        "enable_decode_graph": True,
        "capture_requests": [4],
        "attention_backend": "triton",
    }
    values = {**complete(resolved, given), "requests": 4, "tokens": 4}
    assert values["captured"] == [4]
    formula = stated(resolved, "decode_graph", "target")["triton_kv_indptr"]
    assert evaluate_integer(formula, values) == 4
    assert needed(resolved, "triton_kv_indptr", values) == 5


@pytest.mark.parametrize(
    ("backend", "rows"), [("triton", 3 * (2 + 1)), ("flashinfer", 3 * (4 + 1))]
)
def test_branches_of_an_aligned_graph_are_more_than_a_pool_of_branches_aligned_later(
    resolved: ResolvedSpec, backend: str, rows: int
) -> None:
    given: Mapping[str, Plain] = {
        "max_running_requests": 1,
        "tp_size": 2,
        "moe_a2a_backend": "deepep",
        "enable_two_batch_overlap": True,
        "speculative_algorithm": "eagle",
        "speculative_eagle_topk": 2,
        "enable_decode_graph": True,
        "capture_requests": [4],
        "attention_backend": backend,
    }
    values = {**complete(resolved, given), "requests": 4, "tokens": 8}
    assert values["captured_drafts"] == [4]
    slot = f"{backend}_draft_kv_indptr"
    formula = stated(resolved, "draft_graph", "draft")[slot]
    assert evaluate_integer(formula, values) == rows
    assert needed(resolved, slot, values) == 3 * (8 + 1)


# SGLang gives each page table cdiv(context_length, page_size) columns; a request at the end of the
# context still drafts, and its drafts have slots in the row of the request table behind it.
@pytest.mark.parametrize(("page", "columns"), [(1, 256008), (64, 4001)])
def test_a_page_table_has_columns_for_drafts_behind_the_end_of_the_context(
    resolved: ResolvedSpec, page: int, columns: int
) -> None:
    given: Mapping[str, Plain] = {
        "context_length": 256000,
        "page_size": page,
        "speculative_algorithm": "eagle",
        "attention_backend": "fa3",
    }
    values = complete(resolved, given)
    assert values["table_columns"] == columns
    assert values["context_pages"] < columns


def test_without_drafts_a_page_table_is_as_wide_as_the_context(resolved: ResolvedSpec) -> None:
    values = complete(resolved, {"context_length": 256000, "attention_backend": "fa3"})
    assert values["table_columns"] == values["context_pages"] == 256000


def test_a_row_of_the_request_table_is_what_sparse_attention_copies(resolved: ResolvedSpec) -> None:
    given: Mapping[str, Plain] = {
        "context_length": 4096,
        "speculative_algorithm": "eagle",
        "attention_backend": "dsa",
        "enable_decode_graph": True,
    }
    values = {**complete(resolved, given), "requests": 2, "tokens": 8}
    assert needed(resolved, "dsa_page_table", values) == 8 * (4096 + 4 + 4)
    paged = {**complete(resolved, given | {"dsa_pages": True, "page_size": 64}), "tokens": 8}
    assert needed(resolved, "dsa_page_table", paged) == 8 * 65


def test_keys_of_a_verify_are_counted_by_request_and_not_by_token(resolved: ResolvedSpec) -> None:
    row = next(each for each in ROWS if name(each) == "c05_frozen_kv_mtp-decode_graph")
    values = {**configured(resolved, row), "requests": 32, "tokens": 256}
    assert needed(resolved, "triton_kv_indices", values) == 32 * (131072 + 8)
    (recorded,) = (each for each in row.buffers if each.name == "kv_indices")
    assert recorded.elements == 256 * 131072


# Of 4 branches and 3 steps, those of the first step see 2 drafts and those of the second see 3.
def test_the_table_of_branches_grows_by_a_column_with_each_step(resolved: ResolvedSpec) -> None:
    given: Mapping[str, Plain] = {
        "speculative_algorithm": "eagle",
        "speculative_eagle_topk": 4,
        "speculative_num_draft_tokens": 8,
        "attention_backend": "fa3",
    }
    values = {**complete(resolved, given), "requests": 5, "tokens": 20}
    assert needed(resolved, "draft_branch_page_table", values) == sum(
        5 * 4 * (step + 2) for step in range(2)
    )
