"""A spec of one padded decode and one extend mode, and the plan that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.specs import Files, edited, write_spec
from ullage.bound.problem import Problem
from ullage.bound.specialise import specialise
from ullage.diagnostics.diagnostic import Collector
from ullage.diagnostics.render import render_text
from ullage.expr.spell import spell
from ullage.plan.layout import plan
from ullage.plan.model import Plan, PlannedSlot, Tail
from ullage.prove.oracle import Oracles
from ullage.prove.solver import Solver
from ullage.settle import settle
from ullage.spec.check import ResolvedSpec, resolve
from ullage.spec.load import load_spec
from ullage.text.sources import load_sources, shown_name

_ENGINE = """\
ullage: 1
engine: tiny
axes:
  requests: {unit: requests}
  tokens: {unit: tokens}
workers:
  target: {doc: the served model}
  draft: {when: drafting, doc: the model that proposes}
parameters:
  drafting: {type: bool, default: false}
  max_requests: {type: int, range: [1, 512], unit: requests, default: 24}
  pool: {type: int, range: [8, 2^31 - 1], unit: tokens, per: worker, default: 4096}
  step: {type: int, range: [1, 64], default: 8}
  sink: {type: int, range: [0, 9], default: 3}
  width: {type: int, range: [2, 16], unit: tokens/requests, when: drafting, default: 4}
definitions:
  one: {value: 1, unit: tokens/requests}
"""

_TRANSFORMS = """\
transforms:
  pad: {requests: "align_up(requests, step)", tokens: "align_up(tokens, step)"}
"""

_SLOTS = """\
slots:
  ids:
    {shape: [tokens], dtype: int64, source: batch.ids, range: [0, 999]}
  lengths:
    {shape: [requests], dtype: int32, source: batch.lengths, range: [0, 9999]}
  starts:
    {shape: [requests], dtype: int64, source: batch.starts, modes: [extend], range: [0, 2^31]}
  grid:
    {shape: [3, tokens], dtype: int32, device: host, source: batch.grid, optional: true}
  live_count:
    {shape: [1], dtype: int32, value: live_tokens}
"""

_READERS = """\
readers:
  embedding:
    reads: {ids: {rows: padded, range: [0, 999]}}
  planner:
    reads: {lengths: {rows: padded, fill: 1}}
  extend_planner:
    modes: [extend]
    reads: {starts: {rows: padded, fill: live_tokens}}
  counter:
    reads: {live_count: {rows: live}}
"""

_DECODE = """\
mode: decode
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
axes: {requests: requests, tokens: requests * one}
pipeline: [pad]
"""

_EXTEND = """\
mode: extend
when: worker == target
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
  tokens: {range: [1, pool], seen_in: "batch.ids[0]"}
axes: {requests: requests, tokens: tokens}
pipeline: [pad]
"""

_RUNNER = """\
runner: eager
workers: [target, draft]
modes: all
slots: all
facts: {replan: the plan of this batch is stale}
contexts: {timer: device time}
steps:
  - {do: load}
  - {step: prepare, when: replan, readers: [planner, extend_planner]}
  - within: [timer]
    steps:
      - {step: forward, readers: [embedding, counter]}
"""

ENGINE, SLOTS, READERS, RUNNER = "engine.yaml", "slots.yaml", "readers.yaml", "eager.yaml"

TINY: Files = {
    ENGINE: _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    SLOTS: _SLOTS,
    READERS: _READERS,
    "decode.yaml": _DECODE,
    "extend.yaml": _EXTEND,
    RUNNER: _RUNNER,
}


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and what was said about it as the command line shows it."""

    plan: Plan
    resolved: ResolvedSpec
    problem: Problem
    problems: str

    def slots(self, runner: str = "eager_target") -> Mapping[str, PlannedSlot]:
        """The slots of a runner by name."""
        found = next(each for each in self.plan.runners if each.name == runner)
        return {slot.name: slot for slot in found.slots}

    def tail(self, slot: str, mode: str, runner: str = "eager_target") -> str:
        """The fill of a tail, or `untouched`."""
        return spelled(self.slots(runner)[slot].tails[mode])


def spelled(tail: Tail) -> str:
    """A tail as one word for a test to compare with."""
    return "untouched" if tail.fill is None else spell(tail.fill)


def tiny(path: str, *changes: tuple[str, str]) -> Files:
    """The tiny spec where, in one file, each first text is replaced by its second."""
    return edited(path, *changes, files=TINY)


def planned(folder: Path, files: Files = TINY) -> Planned:
    """The plan of the files, capacities derived as the compiler does."""
    sources = load_sources(write_spec(folder, files))
    resolved = resolve(load_spec(sources), sources.texts)
    problem = specialise(resolved)
    solver = Solver(problem.domain)
    collector = Collector(sources.texts)
    settled = settle(problem, Oracles(solver), collector)
    collector.raise_if_errors()
    problem = settled.problem
    found = plan(resolved, problem, settled.capacities, solver, collector)
    shown = render_text(collector.diagnostics, collector.sources)
    name = shown_name(folder / "mini", Path.cwd())
    return Planned(found, resolved, problem, shown.replace(f"{name}/", ""))
