"""A promise is refused where some batch of some round breaks it, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.simulation import Simulation, configurations
from support.small_specs import mode_text, small
from support.specs import Files, resolved
from ullage.bound.domain import domain_of
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import negation
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.wellformed.promises import check_promises

GRAPH = """\
runner: graph
workers: [target]
modes: [decode]
slots: all
accepts: ["{accepts}"]
fallback: eager
promises: "{promise}"
steps:
  - {{do: load}}
"""
ALIKE = """\
sync:
  collective: {op: all_gather, group: dp}
  let: {padded: "align_up(tokens, 2)", alike: "2 * sum_ranks(padded) >= max_ranks(padded) * dp"}
  requests: max_ranks(requests) if alike else requests
  tokens: max_ranks(padded) if alike else padded
"""
CONDITIONS = (
    "requests <= cap",
    "requests >= 1",
    "live_requests <= requests",
    "tokens <= 2 * cap",
    "tokens <= 4",
    "live_tokens < tokens",
    "tokens <= 2 * requests",
    "sum_requests(length) <= 4",
    "sum_requests(length) <= cap * requests",
    "tokens >= 2 and rows < 4",
    "dp == 1 and rows == cap",
)


def engine(promise: str, accepts: str) -> Files:
    """Batches of lengths, padded together with those of another mode or by each rank alone."""
    live = {"rows": "1; 3", "length": "per rows: 1; cap"}
    decode = mode_text(
        live=live,
        requests="rows",
        tokens="sum_requests(length)",
        where=["sum_requests(length) <= 5"],
        pipeline=["sync"],
    )
    extend = mode_text(
        "extend",
        live={"chunk": "1; 4"},
        requests="1",
        tokens="chunk",
        pipeline=["sync"],
        peers=["decode"],
    )
    parameters = ("cap: {type: int, range: [1, 3]}", "dp: {type: int, range: [1, 2]}")
    files = small(decode, extend, parameters=parameters, transforms=(ALIKE,), ranks="dp")
    return {**files, "graph.yaml": GRAPH.format(promise=promise, accepts=accepts)}


def is_broken(spec: ResolvedSpec) -> bool:
    """Whether a batch of a round is promised and refused, of all that there are."""
    graph, mode = spec.runners["graph"], spec.modes["decode"]
    (promise,) = graph.promises
    refused = replace(graph, accepts=(promise.condition, negation(graph.accepts[0])))
    runners = tuple(refused if each == graph else each for each in spec.spec.runners)
    other = replace(spec, spec=replace(spec.spec, runners=runners))
    simulations = (Simulation(other, each.of_worker["target"]) for each in configurations(other))
    return any(
        True
        for simulation in simulations
        for batch in simulation.batches(mode)
        for _ in simulation.outcomes(refused, batch)
    )


@pytest.mark.parametrize("accepts", CONDITIONS)
def test_a_promise_is_refused_where_a_batch_breaks_it(accepts: str, tmp_path: Path) -> None:
    told: dict[str, bool] = {}
    expected: dict[str, bool] = {}
    for place, promise in enumerate(CONDITIONS):
        spec = resolved(tmp_path / str(place), engine(promise, accepts))
        collector = Collector()
        check_promises(spec, Solver(domain_of(spec)), collector)
        told[promise] = bool(collector.diagnostics)
        expected[promise] = is_broken(spec)
    assert told == expected
