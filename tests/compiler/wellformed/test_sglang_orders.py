"""The order in which SGLang's batches are padded, split and handed on, as its specs declare it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ullage.bound.specialise import domain_of
from ullage.diagnostics.diagnostic import Collector
from ullage.prove.solver import Solver
from ullage.read import read
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import PipelineEntry
from ullage.wellformed.orders import check_orders

SPECS = Path(__file__).parents[3] / "specs" / "sglang"


@pytest.fixture(scope="module")
def resolved() -> ResolvedSpec:
    return read(SPECS)[1]


@pytest.fixture(scope="module")
def solver(resolved: ResolvedSpec) -> Solver:
    return Solver(domain_of(resolved))


def exchanged(
    pipeline: tuple[PipelineEntry, ...], first: str, second: str
) -> tuple[PipelineEntry, ...]:
    """The pipeline where two transforms have taken each other's place."""
    entries = {each.transform: each for each in pipeline}
    other = {first: entries[second], second: entries[first]}
    return tuple(other.get(each.transform, each) for each in pipeline)


def said(resolved: ResolvedSpec, solver: Solver) -> list[str]:
    collector = Collector()
    check_orders(resolved, solver, collector)
    return [each.message for each in collector.diagnostics]


@pytest.mark.slow
def test_every_pipeline_is_in_the_declared_order(resolved: ResolvedSpec, solver: Solver) -> None:
    assert said(resolved, solver) == []


@pytest.mark.parametrize(
    ("runner", "first", "second", "mode", "shown"),
    [
        (
            "decode_graph",
            "decode_bucket",
            "split_rows",
            "decode",
            "next_in(graph_requests, captured) // 2 * target_width",
        ),
        (
            "prefill_graph",
            "prefill_bucket",
            "split_captured_context",
            "extend",
            "cdiv(next_in(graph_tokens, captured_tokens), attn_cp_size)",
        ),
        (
            "prefill_graph",
            "prefill_bucket",
            "scatter_proxies",
            "extend",
            "cdiv(next_in(graph_tokens, captured_tokens), proxy_ranks)",
        ),
    ],
)
@pytest.mark.slow
def test_what_a_runner_makes_of_a_bucket_comes_after_it(
    resolved: ResolvedSpec,
    solver: Solver,
    runner: str,
    first: str,
    second: str,
    mode: str,
    shown: str,
) -> None:
    runners = tuple(
        replace(each, pipeline=exchanged(each.pipeline, first, second))
        if each.name == runner
        else each
        for each in resolved.spec.runners
    )
    wrong = replace(resolved, spec=replace(resolved.spec, runners=runners))
    start = f"mode '{mode}' runs '{second}' before '{first}', which it has to follow: "
    (found,) = {each for each in said(wrong, solver) if each.startswith(start)}
    assert shown in found
    assert f"in the order '{first}', '{second}'" in found


@pytest.mark.parametrize(
    ("mode", "first", "second"),
    [
        ("idle_beside_extend", "mlp_sync_tokens", "dummy_request"),
        ("frozen_kv_draft", "expand_topk", "mlp_sync_rows"),
    ],
)
@pytest.mark.slow
def test_what_a_mode_declares_is_in_order_too(
    resolved: ResolvedSpec, solver: Solver, mode: str, first: str, second: str
) -> None:
    modes = tuple(
        replace(each, pipeline=exchanged(each.pipeline, first, second))
        if each.name == mode
        else each
        for each in resolved.spec.modes
    )
    wrong = replace(resolved, spec=replace(resolved.spec, modes=modes))
    start = f"mode '{mode}' runs '{second}' before '{first}', which it has to follow: "
    (found,) = {each for each in said(wrong, solver) if each.startswith(start)}
    assert f"in the order '{first}', '{second}'" in found
