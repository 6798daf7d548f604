"""Runners of SGLang that are only specified and audited: proved, and as large as by hand."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.sglang_table import ROOT
from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.audit.decide import audit
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.expr.evaluate import evaluate_integer

CPU: Mapping[str, Plain] = {"device": "cpu", "max_running_requests": 20, "request_pool_size": 20}
WINDOWS: Mapping[str, Plain] = {"tail_row_limit": 1100, "sliding_window": 256}
DSPARK: Mapping[str, Plain] = {
    "speculative_algorithm": "dspark",
    "max_running_requests": 48,
    "capture_requests": [8, 64],
    "speculative_num_draft_tokens": 8,
}
ALIGNED: Mapping[str, Plain] = {"graph_multiple": 4, "capture_requests": [4, 6]}
UNO: Mapping[str, Plain] = {
    "speculative_algorithm": "uno",
    "max_running_requests": 5,
    "capture_requests": [1, 4],
}
TREE: Mapping[str, Plain] = {
    **UNO,
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 4,
    "speculative_num_draft_tokens": 16,
}

MEGA: Mapping[str, Plain] = {
    "rocm_mega_moe": True,
    "max_running_requests": 5,
    "request_pool_size": 5,
    "attn_dp_size": 2,
    "attn_tp_size": 4,
    "chunked_prefill_size": 30,
}

# Runner, target, what is given, and the size that follows from SGLang's rules.
SIZES: tuple[tuple[str, str, Mapping[str, Plain], int], ...] = (
    # 24 and 32 rows are more than the pool has, so that no graph is made of them.
    ("cpu_graph_target", "requests", CPU, 16),
    ("cpu_graph_target", "tokens", CPU, 16),
    ("row_bucket_graph_target", "tokens", WINDOWS, 1024),
    ("dspark_verify_graph_target", "requests", DSPARK, 48),
    ("dspark_verify_graph_target", "tokens", DSPARK, 48 * 8),
    ("dspark_verify_graph_target", "verified_drafts.0", DSPARK, 48 * 7),
    ("dspark_ragged_graph_target", "requests", {**DSPARK, "ragged_verify": True}, 48),
    ("dspark_ragged_graph_target", "tokens", {**DSPARK, "ragged_verify": True}, 48 * 8),
    ("dspark_draft_graph_draft", "tokens", DSPARK, 48 * 7),
    ("dspark_draft_graph_draft", "tokens", {**DSPARK, "samples_from_anchor": False}, 48 * 8),
    # Six rows of eight tokens are a multiple of four, but six blocks of seven are none.
    ("dspark_verify_graph_target", "requests", {**DSPARK, **ALIGNED}, 6),
    ("dspark_draft_graph_draft", "requests", {**DSPARK, **ALIGNED}, 4),
    ("uno_graph_target", "tokens", UNO, 4 * 8),
    ("uno_graph_target", "tokens", TREE, 4 * 16),
    ("uno_tree_graph_target", "tokens", TREE, 4 * 4),
    # Five requests on four ranks of attention make eight rows, and a chunk of 30 makes 32; the row
    # that an idle rank makes up comes to four.
    ("mega_moe_eager_target", "requests", MEGA, 8),
    ("mega_moe_eager_target", "tokens", MEGA, 32),
    ("mega_moe_eager_target", "tokens", {**MEGA, "chunked_prefill_size": 1}, 8),
)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse(ROOT / "specs" / "sglang_audited")


def test_every_capacity_is_proved_and_attained(analysis: Analysis) -> None:
    assert analysis.certificate.unproven == ()
    assert not analysis.warnings


def test_every_audit_comes_out_as_expected(analysis: Analysis) -> None:
    report = audit(analysis)
    assert len(report.formulas) == 22
    assert report.diagnostics == ()


@pytest.mark.parametrize(
    ("runner", "target", "given", "size"), SIZES, ids=[f"{a}-{b}-{d}" for a, b, _, d in SIZES]
)
def test_a_capacity_is_what_the_rules_come_to_by_hand(
    analysis: Analysis, runner: str, target: str, given: Mapping[str, Plain], size: int
) -> None:
    formula = analysis.capacities.of(runner, target).formula
    assert evaluate_integer(formula, complete(analysis.resolved, given)) == size


@pytest.mark.parametrize(("rank", "routed"), [(0, 128), (1, 128), (2, 44), (3, 0)])
def test_one_number_has_all_rows_above_and_the_share_of_a_rank_below(
    analysis: Analysis, rank: int, routed: int
) -> None:
    counts = next(each for each in analysis.resolved.spec.slots if each.name == "tail_counts")
    given = {**WINDOWS, "attn_tp_size": 4, "attn_tp_rank": rank, "splits_sequences": True}
    values = {**complete(analysis.resolved, given), "live_tokens": 300, "padded_tokens": 512}
    assert counts.value is not None
    assert evaluate_integer(counts.value, values) == (300 << 32) + routed
