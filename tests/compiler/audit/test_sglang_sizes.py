"""SGLang's own rule, as the audit states it, gives the sizes that SGLang's eager runner has."""

from __future__ import annotations

import pytest

from support.sglang_table import ROOT, Buffer, Row, rows
from ullage.audit.compared import expanded
from ullage.bound.domain import for_worker
from ullage.configuration.values import complete
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.read import read
from ullage.spec.check import ResolvedSpec


@pytest.fixture(scope="module")
def resolved() -> ResolvedSpec:
    return read(ROOT / "specs" / "sglang")[1]


def size(resolved: ResolvedSpec, row: Row, audit_name: str, axis: str) -> int:
    """What an audit's formula gives for one runner of the table."""
    audit = next(each for each in resolved.spec.audits if each.name == audit_name)
    stated = next(
        each for each in audit.formulas if (each.worker, each.target) == (row.worker, axis)
    )
    values = complete(resolved, row.configuration())
    return evaluate_integer(expanded(resolved, audit, stated.worker, stated.formula), values)


def test_the_table_has_both_workers_and_the_variant_with_an_all_to_all_backend() -> None:
    found = [(row.name, row.worker) for row in rows()]
    assert len(found) == len(set(found)) == 12
    assert sum(worker == "draft" for _, worker in found) == 3
    assert ("c08_cp4_8b", "target") in found


@pytest.mark.parametrize("audit_name", ["sglang_0_5_23", "seed_merged"])
@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.name}-{row.worker}")
def test_the_rule_gives_exactly_the_sizes_of_the_table(
    resolved: ResolvedSpec, row: Row, audit_name: str
) -> None:
    assert size(resolved, row, audit_name, "requests") == row.requests
    assert size(resolved, row, audit_name, "tokens") == row.tokens


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.name}-{row.worker}")
def test_every_buffer_has_by_that_rule_the_shape_and_the_dtype_of_the_table(
    resolved: ResolvedSpec, row: Row
) -> None:
    values = dict(complete(resolved, row.configuration()))
    for axis in ("requests", "tokens"):
        values[axis] = size(resolved, row, "sglang_0_5_23", axis)
    runner = next(each for each in resolved.spec.runners if each.name == "eager")
    slots = {slot.name: slot for slot in resolved.slots_of(runner)}
    rewrite = for_worker(resolved, row.worker)
    found = []
    for buffer in row.buffers:
        slot = slots[buffer.name]
        assert evaluate_boolean(rewrite(slot.when), values), slot.name
        shape = tuple(evaluate_integer(rewrite(extent), values) for extent in slot.shape)
        found.append(Buffer(buffer.name, shape, slot.dtype))
    assert found == list(row.buffers)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.name}-{row.worker}")
def test_the_prefill_ceiling_is_that_of_the_table(resolved: ResolvedSpec, row: Row) -> None:
    values = complete(resolved, row.configuration())
    assert values["prefill_ceiling"] == row.inputs["prefill_ceiling"]
    assert values["require_mlp_sync"] is bool(row.inputs.get("mlp_sync"))
