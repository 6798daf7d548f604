"""Answers the deriver's questions: samples refute what is false, z3 proves what is left.

Most questions of a search are false, and a handful of legal assignments shows it at once. Only the
checker's verdicts count for a certificate; a wrong answer here can only lose a proof.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from ullage.bound.problem import Domain, Live, ModeProblem, Problem, Variable
from ullage.expr.evaluate import EvaluationError, evaluate
from ullage.expr.tree import Binary, Call, Expr, free_names, walk
from ullage.prove.solver import Level, Solver

Value = int | bool | list[int]
Sample = Mapping[str, Value]

SAMPLES_OF_A_MODE = 8
REPAIRS = 60
SEED = 20
REACHES = (1, 4, 12, 100, 5_000, 2**31)


@dataclass
class Oracle:
    """Whether a claim holds under assumptions, as far as samples and z3 can tell."""

    solver: Solver
    samples: tuple[Sample, ...]
    asked: int = 0
    refuted: int = 0
    known: dict[tuple[Expr, tuple[Expr, ...]], bool] = field(default_factory=dict)
    chosen: dict[tuple[Expr, ...], tuple[Sample, ...]] = field(default_factory=dict)

    def __call__(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        key = (claim, given)
        if key not in self.known:
            self.known[key] = self._answer(claim, given)
        return self.known[key]

    def _answer(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        self.asked += 1
        if any(not _satisfied(claim, sample, True) for sample in self._with(given)):
            self.refuted += 1
            return False
        level: Level = "opaque" if _rounds(claim) else "related"
        return self.solver.decide(claim, given, level).proved

    def _with(self, given: tuple[Expr, ...]) -> tuple[Sample, ...]:
        """The samples that satisfy all assumptions; found once, from those of one fewer."""
        if not given:
            return self.samples
        if given not in self.chosen:
            fewer = self._with(given[:-1])
            self.chosen[given] = tuple(each for each in fewer if _satisfied(given[-1], each, False))
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
    found: list[Sample] = []
    for mode in modes:
        for _ in range(SAMPLES_OF_A_MODE):
            sample = _configuration(domain, source, mode.guard)
            if sample is not None:
                found.append(_with_live(sample, mode, source))
    return tuple(found)


def _configuration(domain: Domain, source: random.Random, guard: Expr) -> dict[str, Value] | None:
    """A random legal configuration with `guard`; what breaks a constraint is drawn again."""
    drawn: dict[str, Value] = {}
    redraw = {variable.name for variable in domain.variables}
    for _ in range(REPAIRS):
        for variable in domain.variables:
            if variable.name in redraw:
                drawn[variable.name] = _value(variable, drawn, source)
        sample = dict(drawn)
        for definition in domain.definitions:
            _define(sample, definition.name, definition.value)
        conditions = [guard, *(constraint.that for constraint in domain.constraints)]
        broken = [each for each in conditions if not _satisfied(each, sample)]
        if not broken:
            return sample
        redraw = _rests_on(domain, free_names(source.choice(broken)))
    return None


def _satisfied(condition: Expr, sample: Sample, default: bool = False) -> bool:
    """The condition's value in a sample, or `default` where it has none."""
    try:
        return bool(evaluate(condition, sample))
    except EvaluationError:
        return default


def _rests_on(domain: Domain, names: frozenset[str]) -> set[str]:
    """The parameters under the given names."""
    found = set(names)
    for definition in reversed(domain.definitions):
        if definition.name in found:
            found |= free_names(definition.value)
    return found


def _define(sample: dict[str, Value], name: str, value: Expr) -> None:
    try:
        sample[name] = evaluate(value, sample)
    except EvaluationError:
        sample[name] = 1  # its guard is false here, so nobody looks


def _value(variable: Variable, sample: Sample, source: random.Random) -> Value:
    if variable.type == "bool":
        return source.random() < 0.5
    low = _end(variable.low, sample, 0)
    high = _end(variable.high, sample, low + 64)
    if high < low:
        return low  # no value is legal; the guard must be false here
    if variable.type == "list":
        return sorted({source.randint(low, min(high, low + 64)) for _ in range(4)})
    reach = source.choice(REACHES)
    return source.randint(low, max(low, min(high, low + reach)))


def _end(end: Expr | None, sample: Sample, default: int) -> int:
    if end is None:
        return default
    value = evaluate(end, sample)
    return value if isinstance(value, int) else default


def _with_live(sample: Sample, mode: ModeProblem, source: random.Random) -> Sample:
    """The sample with a batch of the mode; two in three keep to its couplings as well."""
    tries = REPAIRS if source.random() < 0.67 else 0
    for _ in range(tries):
        drawn = dict(sample)
        for each in mode.live:
            _draw(each, drawn, source)
        if all(_satisfied(condition, drawn) for condition in mode.where):
            return drawn
    loose = dict(sample)
    for each in mode.live:
        _draw(each, loose, source)
    return loose


def _draw(each: Live, sample: dict[str, Value], source: random.Random) -> None:
    try:
        low, high = evaluate(each.low, sample), evaluate(each.high, sample)
    except EvaluationError:
        return  # the range has no value where its guard is false
    if isinstance(low, int) and isinstance(high, int) and low <= high:
        corner = source.random()
        near = low if corner < 0.3 else high if corner < 0.6 else source.randint(low, high)
        sample[each.name] = near
