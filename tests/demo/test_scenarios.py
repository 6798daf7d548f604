from __future__ import annotations

import io

import pytest
from rich.console import Console

from ullage_demo.checks import Check, equals_generate, saw_modes
from ullage_demo.report import Outcome, Row, show
from ullage_demo.scenarios import SCENARIOS, refuse_oversized
from ullage_demo.setting import Demo
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode

ROW = Row("plain", "target", "decode", 4, 6, 12, 8, 48, 25e-6)

UNPADDED = {"split", "adaptive"}
"""Scenarios of engines that exclude MLP-sync."""


def shown(check: Check) -> tuple[bool, str]:
    console = Console(file=io.StringIO(), width=160)
    passed = show(console, [Outcome((ROW,), (check,))])
    assert isinstance(console.file, io.StringIO)
    return passed, console.file.getvalue()


def failures(outcome: Outcome) -> list[Check]:
    return [check for check in outcome.checks if not check.passed]


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.slow
def test_every_scenario_passes_its_own_checks(demo: Demo, name: str) -> None:
    assert failures(SCENARIOS[name](demo)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - UNPADDED))
def test_padding_changes_no_token(padded_demo: Demo, name: str) -> None:
    outcome = SCENARIOS[name](padded_demo)
    assert failures(outcome) == []
    assert all(row.tokens % 3 == 0 for row in outcome.rows)


@pytest.mark.slow
def test_the_default_workload_has_no_near_ties(demo: Demo) -> None:
    requests = make_requests(24, seed=5)
    gap = min(demo.reference.continuation(request).smallest_gap for request in requests)
    assert gap > 1e-3


def test_one_wrong_token_fails_the_comparison_and_is_named(demo: Demo) -> None:
    requests = make_requests(2, seed=5)
    outputs = [demo.reference.continuation(request).tokens for request in requests]
    wrong = (*outputs[1][:3], outputs[1][3] + 1, *outputs[1][4:])
    check = equals_generate(demo.reference, requests, [outputs[0], wrong])
    assert not check.passed
    assert f"request 1: token 3 is {wrong[3]} instead of {outputs[1][3]}" in check.detail


def test_a_short_output_fails_the_comparison(demo: Demo) -> None:
    (request,) = make_requests(1, seed=5)
    tokens = demo.reference.continuation(request).tokens
    check = equals_generate(demo.reference, [request], [tokens[:-1]])
    assert check.detail == f"request 0: {len(tokens) - 1} tokens instead of {len(tokens)}"


def test_a_mode_that_never_came_up_fails() -> None:
    check = saw_modes({Mode.DECODE: 3}, (Mode.DECODE, Mode.MIXED))
    assert (check.passed, check.detail) == (False, "without mixed")


def test_an_oversized_batch_is_refused_with_numbers() -> None:
    check, error = refuse_oversized()
    assert check.passed
    assert "requests is 9" in error
    assert "[1, 8]" in error
    assert "specs/sglang/modes/decode.yaml" in error


def test_the_table_shows_largest_batch_capacity_and_headroom() -> None:
    passed, text = shown(Check("tokens equal generate", True, "2 requests"))
    assert passed
    for cell in ("6 x 12", "8 x 48", "25% x 75%", "25 µs", "all checks passed"):
        assert cell in text


def test_a_failed_check_fails_the_run() -> None:
    passed, text = shown(Check("tokens equal generate", False, "request 1"))
    assert not passed
    assert "1 of 1 checks failed" in text
