"""What a case comes to: its spec analysed and audited, its report run by the simulation."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from corpus.corpus import Batch, Brought, Case, Configuration, Formula
from support.simulation import Batch as Simulated
from support.simulation import Rank, Simulation, Values, with_upper
from support.specs import Files, write_spec
from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.audit.batches import batches_of
from ullage.audit.decide import audit
from ullage.audit.model import AuditReport, Counterexample
from ullage.audit.stated import Question, questions
from ullage.bound.domain import for_worker
from ullage.bound.problem import Live
from ullage.bound.relations import relations_of
from ullage.configuration.values import complete
from ullage.counterexample.space import Assignment, Space, members_of
from ullage.counterexample.values import Shown
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.environment import Environment
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.expr.parse import parse
from ullage.expr.tree import Comparison, Expr
from ullage.place import BUILT_IN
from ullage.plan.model import PlannedSlot
from ullage.prove.oracle import Oracles
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Runner

WORKER = "target"
AXES = ("requests", "tokens")


def files_of(
    case: Case, formulas: tuple[Formula, ...] = (), change: Mapping[str, str] | None = None
) -> Files:
    """The spec of the case with some texts replaced, and an audit of the formulas."""
    files = dict(case.files)
    for old, new in (change or {}).items():
        found = [path for path, text in files.items() for _ in range(text.count(old))]
        assert len(found) == 1, f"{old!r} stands {len(found)} times in {case.name}"
        files[found[0]] = files[found[0]].replace(old, new)
    if formulas:
        stated = [_stated(each) for each in formulas]
        said = {"audit": "stated", "quoted_from": case.report, "formulas": stated}
        files["stated.yaml"] = yaml.safe_dump(said, width=math.inf)
    return files


def _stated(formula: Formula) -> dict[str, object]:
    return {
        "runner": formula.runner,
        "axis" if formula.of in AXES else "slot": formula.of,
        "formula": formula.formula,
        "expect": {formula.mode: formula.expect} if formula.mode else formula.expect,
    }


@dataclass(frozen=True, slots=True)
class Study:
    """The spec of a case, right or faulty, with an audit of formulas in their order."""

    case: Case
    analysis: Analysis
    report: AuditReport
    questions: tuple[Question, ...]

    @property
    def resolved(self) -> ResolvedSpec:
        """The spec."""
        return self.analysis.resolved

    def values(self, configuration: Configuration) -> Values:
        """What names stand for where the configuration differs so from that of the case.

        Raises DiagnosticError if it is not legal.
        """
        found = complete(self.resolved, {**self.case.configuration, **configuration})
        return {**found, "worker": 0}

    def refuses(self, configuration: Configuration) -> bool:
        """Whether a constraint, or one that a slot adds for its dtype, is broken."""
        try:
            values = self.values(configuration)
        except DiagnosticError as error:
            return [each.code for each in error.diagnostics] == ["U702"]
        refusals = self.analysis.plan.refusals
        return not all(evaluate_boolean(that, values) for that, _, _ in refusals)

    def values_of(self, parameters: Mapping[str, Shown]) -> Values:
        """What names stand for in a configuration that the compiler shows."""
        given = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in parameters.items()
        }
        return {**complete(self.resolved, given), "worker": 0}

    def capacity(self, runner: str, of: str, values: Values) -> int:
        """The capacity of an axis, of a slot in elements, or of `slot.dimension`."""
        name, _, position = of.partition(".")
        if name in AXES:
            formula = self.analysis.capacities.of(f"{runner}_{WORKER}", name).formula
            return self.evaluate(formula, values)
        sides = [
            self.evaluate(each.capacity, values) for each in self.slot(runner, name).dimensions
        ]
        return sides[int(position)] if position else math.prod(sides)

    def slot(self, runner: str, name: str) -> PlannedSlot:
        """A buffer of a runner."""
        wanted = f"{runner}_{WORKER}"
        planned = next(each for each in self.analysis.plan.runners if each.name == wanted)
        return next(each for each in planned.slots if each.name == name)

    def evaluate(self, formula: Expr, values: Values) -> int:
        """A formula over parameters."""
        return evaluate_integer(formula, with_upper(self.resolved, values))

    def outcome(self, batch: Batch) -> Outcome:
        """What the simulation makes of a batch of the report."""
        values = self.values(batch.configuration)
        return Situation(self.resolved, values).outcome(batch)


def study(folder: Path, case: Case, formulas: tuple[Formula, ...], files: Files) -> Study:
    """The files analysed and audited; they state the formulas. Raises DiagnosticError."""
    analysis = analyse(write_spec(folder, files))
    report = audit(analysis)
    assert len(report.formulas) == len(formulas), "every formula is stated where it can be compared"
    solver = Solver(analysis.problem.domain)
    return Study(case, analysis, report, questions(analysis, solver))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One rank of a round: its axes as sources hold them, and after the pipeline of its mode."""

    situation: Situation
    live_axes: Mapping[str, int]
    padded: Rank

    def axes(self, runner: str) -> Mapping[str, int]:
        """The axes as a runner loads them."""
        return self.situation.loaded(runner, self.padded).axes

    def elements(self, runner: str, of: str) -> int:
        """The rows of an axis, the elements of a slot, or one of its dimensions."""
        found = self.situation.extents(runner, self.padded)
        if of in found:
            return found[of]
        sides = [extent for name, extent in found.items() if name.startswith(f"{of}.")]
        assert sides, f"{runner} loads no {of}"
        return math.prod(sides)

    def takes(self, runner: str) -> bool:
        """Whether a runner would take the batch."""
        return self.situation.takes(runner, self.padded)


class Situation(Simulation):
    """A configuration in which the batches of a report are run."""

    def outcome(self, batch: Batch) -> Outcome:
        """What the first rank comes to. Batches that are not legal fail the test."""
        ranks = [self._start(self._legal(each)) for each in (batch.own, *batch.others)]
        return Outcome(self, self._brought(ranks[0]), self.padded(ranks)[0])

    def loaded(self, runner: str, padded: Rank) -> Rank:
        """The rank after the pipeline of a runner."""
        return self._through(self._runner(runner).pipeline, padded)

    def extents(self, runner: str, padded: Rank) -> Mapping[str, int]:
        """The axes and slot dimensions that a runner loads."""
        return self._extents(self._runner(runner), self.loaded(runner, padded))

    def takes(self, runner: str, padded: Rank) -> bool:
        """Whether a runner would take the batch."""
        return self._takes(self._runner(runner), padded)

    def _runner(self, name: str) -> Runner:
        return next(each for each in self.resolved.spec.runners if each.name == name)

    def _brought(self, rank: Rank) -> Mapping[str, int]:
        """The axes with what sources hold already, before anything is padded."""
        entries = tuple(each for each in rank.batch.mode.pipeline if self._transform(each).in_batch)
        return self._through(entries, rank).axes

    def _legal(self, brought: Brought) -> Simulated:
        mode = _mode(self.resolved, brought.mode)
        batch = Simulated(mode, self.values, brought.live, brought.requests)
        environment = self._seen(batch)
        for each in mode.live:
            low, high = (
                evaluate_integer(e, environment) for e in (each.range.low, each.range.high)
            )
            values = batch.requests[each.name] if each.per else (batch.live[each.name],)
            assert all(low <= value <= high for value in values), f"{each.name} is out of range"
            assert not each.per or len(values) == batch.live[each.per], each.name
        assert all(self._holds(each, batch) for each in mode.where), "'where' does not hold"
        return batch


@dataclass(frozen=True, slots=True)
class Measured:
    """A batch of the report as the audit sees it: its size, its extent and what is stated."""

    size: int
    extent: int
    stated: int


def measured(found: Study, question: Question, batch: Batch) -> Measured:
    """The report by the audit's own measure; it is one of the batches that the audit looks at."""
    analysis = found.analysis
    mode = next(each for each in question.modes if each.name == batch.own.mode)
    extent = question.extents[mode.name]
    oracle = Oracles(Solver(analysis.problem.domain)).of(*analysis.problem.runners)
    count = found.resolved.spec.rank_count
    ranks = None if count is None else for_worker(found.resolved, WORKER)(count)
    given = (mode.guard, question.guard, *(each.claim for each in relations_of(mode)))
    batches = batches_of(mode, extent, ranks, given, oracle)
    too_large = Comparison("<", question.formula, extent)
    domain = analysis.problem.domain
    space = Space(
        domain,
        batches.live,
        (mode.guard, question.guard, *(each.claim for each in mode.couplings), too_large),
        members_of(found.resolved, domain, WORKER, batches.live),
    )
    values = found.values(batch.configuration)
    raw = {**values, **{each.name: _live_value(each, batch, values) for each in batches.live}}
    assignment = Assignment(domain, batches.live, raw)
    assert space.holds(assignment), "the report is a legal batch that does not fit"
    return Measured(
        space.size(assignment),
        evaluate_integer(extent, assignment),
        evaluate_integer(question.formula, assignment),
    )


def replayed(found: Study, mode: str, example: Counterexample) -> Outcome | None:
    """What the simulation makes of a counterexample; None where it has more than one rank.

    A total over requests is split evenly, for an extent depends on lengths by their totals only.
    """
    live = {each.name: each for each in _mode(found.resolved, mode).live}
    single = {name: value for name, value in example.live.items() if name in live}
    totals = {f"sum of {name} over the requests": name for name in live}
    columns = {
        totals[label]: _even(value, single[live[totals[label]].per or ""])
        for label, value in example.live.items()
        if label in totals
    }
    if len(single) + len(columns) < len(example.live):
        return None
    batch = Batch(Brought(mode, single, columns), (), {}, {}, {}, {}, {})
    return Situation(found.resolved, found.values_of(example.parameters)).outcome(batch)


def _even(total: int, count: int) -> tuple[int, ...]:
    return tuple((total + place) // count for place in range(count))


def _mode(resolved: ResolvedSpec, name: str) -> Mode:
    return next(each for each in resolved.spec.modes if each.name == name)


def configuration_size(found: Study, values: Values) -> int:
    """How far the integers of a configuration are above their least values."""
    domain = found.analysis.problem.domain
    return Space(domain, (), (), {}).size(Assignment(domain, (), values))


def _live_value(live: Live, batch: Batch, values: Values) -> int:
    """What a batch has for a live variable of the problem, be it a total or of another rank."""
    origin = re.search(r"@([^,)]*)", live.name)
    brought = batch.own if origin is None else _joining(origin[1], batch)
    name = re.sub(r"@[^,)]*", "", live.name)
    if not name.startswith("total("):
        return brought.live[name]
    operand = parse(name.removeprefix("total(")[:-1], lambda offset, width: BUILT_IN)
    environment = Environment({**values, **brought.live}, brought.requests)
    return sum(evaluate_integer(operand, each) for each in environment.each_request())


def _joining(origin: str, batch: Batch) -> Brought:
    """Some other rank of a mode, the first unless the origin asks for another one."""
    mode, _, copy = origin.partition(".")
    ranks = [each for each in batch.others if each.mode == mode]
    return ranks[min(int(copy or 1), len(ranks)) - 1]
