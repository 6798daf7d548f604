"""What SGLang's buffers take in some configurations, beside the plan for the same runners."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log

from support.sglang_graphs import TableRow, graph_rows, table_rows
from support.sglang_table import ROOT
from ullage.analysis import Analysis
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.expr.environment import Value
from ullage.plan.arenas import PlacedArena, arenas_for
from ullage.plan.model import Plan

DATA = ROOT / "tests" / "data" / "sglang_memory.json"

UNAVOIDABLE = (
    "graph_logits",
    "draft_logits",
    "layer_logits",
    "flashinfer_workspace",
    "flashinfer_graph_workspace",
    "flashinfer_draft_workspace",
)
"""Logits outputs and what a vendor's kernels work in: no plan makes these smaller."""


@dataclass(frozen=True, slots=True)
class Allocated:
    """The bytes that SGLang allocates in one configuration.

    `logits` and `workspace` are parts of the others: the logits that graphs put out, and what the
    kernels of an attention backend work in.
    """

    id: str
    runner_device: int
    runner_host: int
    backend_device: int
    logits: int
    workspace: int

    @property
    def all(self) -> int:
        return self.runner_device + self.runner_host + self.backend_device

    @property
    def avoidable(self) -> int:
        return self.all - self.logits - self.workspace


@dataclass(frozen=True, slots=True)
class Compared:
    """One configuration: its plan, and what SGLang allocates.

    `avoidable`: the bytes of a plan without the slots that are `UNAVOIDABLE`.
    """

    name: str
    values: Mapping[str, Value]
    arenas: tuple[PlacedArena, ...]
    avoidable: int
    sglang: Allocated

    @property
    def planned(self) -> int:
        return sum(arena.bytes for arena in self.arenas)

    @property
    def alone(self) -> int:
        """The bytes of the runners if each had an arena of its own."""
        return sum(arena.alone for arena in self.arenas)

    @property
    def ratio(self) -> float:
        return self.planned / self.sglang.all

    @property
    def avoidable_ratio(self) -> float:
        return self.avoidable / self.sglang.avoidable


def compared(analysis: Analysis) -> Iterator[Compared]:
    """Every configuration of the table with all its runners, and the tables of its backend."""
    found = json.loads(DATA.read_text(encoding="utf-8"))
    backends = {row.graphs.name: row for row in table_rows()}
    without = plan_without(analysis.plan, UNAVOIDABLE)
    for each in found:
        allocated = Allocated(**each)
        values = complete(analysis.resolved, configuration_of(backends[allocated.id]))
        yield Compared(
            allocated.id,
            values,
            arenas_for(analysis.plan, values),
            sum(arena.bytes for arena in arenas_for(without, values)),
            allocated,
        )


def configuration_of(row: TableRow) -> Mapping[str, Plain]:
    """The parameters that all graph runners of the configuration are sized by."""
    given: dict[str, Plain] = {}
    # A row without prompts switches their graphs off, so the others have the last word.
    rows = [each for each in graph_rows() if each.name == row.graphs.name]
    for each in sorted(rows, key=lambda each: each.runner == "prefill_graph"):
        given |= each.configuration()
    return given | {"attention_backend": row.backend}


def plan_without(plan: Plan, names: Collection[str]) -> Plan:
    """The plan as if these slots did not exist."""
    runners = (
        replace(runner, slots=tuple(slot for slot in runner.slots if slot.name not in names))
        for runner in plan.runners
    )
    return replace(plan, runners=tuple(runners))


def geometric_mean(ratios: Sequence[float]) -> float:
    return exp(sum(log(ratio) for ratio in ratios) / len(ratios))
