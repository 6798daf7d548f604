"""SGLang's own rule, as the audit states it, gives the sizes that SGLang's eager runner has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ullage.analysis import read
from ullage.audit.stated import expanded
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.expr.evaluate import evaluate_integer
from ullage.spec.check import ResolvedSpec

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "sglang_eager_runner.json"

# The names that the table has for SGLang's arguments; a width of zero tokens stands for none.
NAMES = {
    "max_running": "max_running_requests",
    "ctx": "context_length",
    "chunk": "chunked_prefill_size",
    "page": "page_size",
    "steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "draft_tokens": "speculative_num_draft_tokens",
    "multi_layer": "enable_multi_layer_eagle",
    "dllm_block": "dllm_block_size",
}
ALGORITHMS = {"EAGLE": "eagle", "FROZEN_KV_MTP": "frozen_kv_mtp", "NGRAM": "ngram"}
DUMMY_POOL = 64  # what the frozen-KV draft worker allocates, since it reads the target's pool


@dataclass(frozen=True, slots=True)
class Row:
    """One eager runner of the table."""

    name: str
    worker: str
    inputs: Mapping[str, int | bool | str]
    requests: int
    tokens: int

    def configuration(self) -> Mapping[str, Plain]:
        """The inputs as parameters of the spec."""
        given: dict[str, Plain] = {
            parameter: self.inputs[name] for name, parameter in NAMES.items() if name in self.inputs
        }
        given["max_total_tokens_target"] = self.inputs["max_total"]
        self._speculation(given)
        self._parallelism(given)
        return given

    def _speculation(self, given: dict[str, Plain]) -> None:
        if "spec" not in self.inputs:
            return
        algorithm = ALGORITHMS[str(self.inputs["spec"])]
        given["speculative_algorithm"] = algorithm
        if algorithm != "ngram":
            own = DUMMY_POOL if algorithm == "frozen_kv_mtp" else self.inputs["max_total"]
            given["max_total_tokens_draft"] = own

    def _parallelism(self, given: dict[str, Plain]) -> None:
        """Zigzag aligns to twice the context-parallel ranks."""
        ranks = max(1, int(self.inputs["cp_align"]) // 2)
        given["attn_cp_size"] = ranks
        given["tp_size"] = ranks * int(self.inputs["attn_tp"])
        given["moe_a2a_backend"] = "deepep" if self.inputs.get("mlp_sync") else "none"


def rows() -> list[Row]:
    return [
        Row(row["id"], row["worker"], row["inputs"], row["max_bs"], row["max_num_token"])
        for row in json.loads(DATA.read_text(encoding="utf-8"))
    ]


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
    return evaluate_integer(expanded(resolved, audit, stated), values)


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
def test_the_prefill_ceiling_is_that_of_the_table(resolved: ResolvedSpec, row: Row) -> None:
    values = complete(resolved, row.configuration())
    assert values["prefill_ceiling"] == row.inputs["prefill_ceiling"]
    assert values["require_mlp_sync"] is bool(row.inputs.get("mlp_sync"))
