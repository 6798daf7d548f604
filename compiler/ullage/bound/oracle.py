"""Answers the deriver's questions: samples refute what is false, z3 proves what is left.

Most questions of a search are false, and a handful of legal assignments shows it at once. Only the
checker's verdicts count for a certificate; a wrong answer here can only lose a proof.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from ullage.bound.problem import Domain, Live, ModeProblem, Problem
from ullage.bound.sampling import ConfigurationDrawer, Sample, holding
from ullage.expr.evaluate import EvaluationError, evaluate
from ullage.expr.tree import Binary, Call, Expr, walk
from ullage.prove.solver import Level, Solver

SAMPLES_OF_A_MODE = 8
TRIES = 60
SEED = 20


@dataclass
class Oracle:
    """Whether a claim holds under assumptions, as far as samples and z3 can tell."""

    solver: Solver
    samples: tuple[Sample, ...]
    known: dict[tuple[Expr, tuple[Expr, ...]], bool] = field(default_factory=dict)
    refuted: dict[tuple[Expr, tuple[Expr, ...]], bool] = field(default_factory=dict)
    chosen: dict[tuple[Expr, ...], tuple[Sample, ...]] = field(default_factory=dict)

    def __call__(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        key = (claim, given)
        if key not in self.known:
            level: Level = "opaque" if _rounds(claim) else "related"
            self.known[key] = (
                not self.refutes(claim, given) and self.solver.decide(claim, given, level).proved
            )
        return self.known[key]

    def refutes(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        """Whether the claim is false in a sample that satisfies all assumptions."""
        key = (claim, given)
        if key not in self.refuted:
            self.refuted[key] = not all(map(holding(claim, True), self._with(given)))
        return self.refuted[key]

    def _with(self, given: tuple[Expr, ...]) -> tuple[Sample, ...]:
        """The samples that satisfy all assumptions; found once, from those of one fewer."""
        if not given:
            return self.samples
        if given not in self.chosen:
            fewer = self._with(given[:-1])
            self.chosen[given] = tuple(filter(holding(given[-1], False), fewer))
        return self.chosen[given]


def _rounds(node: Expr) -> bool:
    """Whether several alignments or quotients meet: those are for the rules, not for z3."""
    rounded = [
        part
        for part in walk(node)
        if (isinstance(part, Call) and part.function in ("align_up", "cdiv"))
        or (isinstance(part, Binary) and part.operator in ("//", "%"))
    ]
    return len(rounded) > 1


def oracle_for(problem: Problem, solver: Solver) -> Oracle:
    """An oracle with samples of the problem's legal configurations and live batches."""
    modes = {mode.name + runner.name: mode for runner in problem.runners for mode in runner.modes}
    return Oracle(solver, draw_samples(problem.domain, tuple(modes.values())))


def draw_samples(domain: Domain, modes: tuple[ModeProblem, ...]) -> tuple[Sample, ...]:
    """Random legal configurations and batches, some of each mode; the same on every run."""
    source = random.Random(SEED)
    drawer = ConfigurationDrawer(domain, source)
    found: list[Sample] = []
    for mode in modes:
        for _ in range(SAMPLES_OF_A_MODE):
            sample = drawer.draw(mode.guard)
            if sample is not None:
                found.append(_with_live(sample, mode, source).remembering())
    return tuple(found)


def _with_live(sample: Sample, mode: ModeProblem, source: random.Random) -> Sample:
    """The sample with a batch of the mode; two in three keep to its couplings as well."""
    tries = TRIES if source.random() < 0.67 else 0
    for _ in range(tries):
        drawn = _drawn(sample, mode.live, source)
        if all(holding(condition, False)(drawn) for condition in mode.where):
            return drawn
    return _drawn(sample, mode.live, source)


def _drawn(sample: Sample, live: Iterable[Live], source: random.Random) -> Sample:
    values = dict(sample.values)
    drawn = Sample(values)  # sees each value as soon as it is there
    for each in live:
        try:
            low, high = evaluate(each.low, drawn), evaluate(each.high, drawn)
        except EvaluationError:
            continue  # the range has no value where its guard is false
        if isinstance(low, int) and isinstance(high, int) and low <= high:
            corner = source.random()
            near = low if corner < 0.3 else high if corner < 0.6 else source.randint(low, high)
            values[each.name] = near
    return drawn
