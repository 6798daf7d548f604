"""Answers the deriver's questions: samples refute what is false, z3 proves what is left.

Most questions of a search are false, and a handful of legal assignments shows it at once. Only the
checker's verdicts count for a certificate; a wrong answer here can only lose a proof.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ullage.bound.assumptions import Assumptions
from ullage.bound.problem import Domain, ModeProblem, RunnerProblem
from ullage.bound.sampling import ConfigurationDrawer, Sample
from ullage.expr.evaluate import holding
from ullage.expr.tree import (
    TRUE,
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    walk,
)
from ullage.prove.batches import with_batch
from ullage.prove.solver import Level, Solver

SAMPLES_OF_A_MODE = 20
EXAMPLES = 40
"""Configurations that show for most conditions that they are possible."""
SEED = 20

EFFORT_OF_AN_EASY_CLAIM = 10_000
"""Steps of z3 for one claim among many. More have proved signs, but none of other claims."""

EFFORT_OF_A_LIMIT = 100_000
"""Steps of z3 for whether an amount is within a list, which rests on more than it names."""


@dataclass
class _Assumed:
    """The samples that satisfy some assumptions, and what was answered under them."""

    samples: tuple[Sample, ...]
    known: dict[Expr, bool] = field(default_factory=dict)
    refuted: dict[Expr, bool] = field(default_factory=dict)


@dataclass
class Oracle:
    """Whether a claim holds under assumptions, as far as samples and z3 can tell.

    A `patient` one lets the solver spend all that it may, but on limits by lists.
    """

    solver: Solver
    samples: tuple[Sample, ...]
    patient: bool = False
    _assumed: dict[tuple[Expr, ...], _Assumed] = field(default_factory=dict, init=False)
    _same: dict[int, tuple[tuple[Expr, ...], _Assumed]] = field(default_factory=dict, init=False)

    def __call__(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        known = self._under(given).known
        answer = known.get(claim)
        if answer is None:
            answer = known[claim] = not self.refutes(claim, given) and self._proves(claim, given)
        return answer

    def _proves(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        if _limits_by_list(claim):
            return self.solver.decide(claim, given, "full", EFFORT_OF_A_LIMIT).proved
        level: Level = "related" if _roundings(claim) <= 1 else "opaque"
        effort = None if self.patient or _is_sign(claim) else EFFORT_OF_AN_EASY_CLAIM
        return self.solver.decide(claim, given, level, effort).proved

    def refutes(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        """Whether the claim is false in a sample that satisfies all assumptions."""
        assumed = self._under(given)
        answer = assumed.refuted.get(claim)
        if answer is None:
            answer = assumed.refuted[claim] = not all(map(holding(claim, True), assumed.samples))
        return answer

    def _under(self, given: tuple[Expr, ...]) -> _Assumed:
        """What is known under assumptions, mostly the very ones that a search asks under again."""
        same, assumed = self._same.get(id(given), (None, None))
        if assumed is None or same is not given:
            assumed = self._equally(given)
            self._same[id(given)] = given, assumed  # held, so that the number stays its own
        return assumed

    def _equally(self, given: tuple[Expr, ...]) -> _Assumed:
        """The same by value; samples are found once, from those of one assumption fewer."""
        given = Assumptions.of(given)
        found = self._assumed.get(given)
        if found is None:
            samples = self.samples
            if given:
                satisfies = holding(given[-1], False)
                samples = tuple(filter(satisfies, self._under(given.before).samples))
            found = self._assumed[given] = _Assumed(samples)
        return found


def _roundings(node: Expr) -> int:
    """How many alignments and quotients meet: several are for the rules, not for z3."""
    return sum(
        (isinstance(part, Call) and part.function in ("align_up", "cdiv"))
        or (isinstance(part, Binary) and part.operator in ("//", "%"))
        for part in walk(node)
    )


def _is_sign(claim: Expr) -> bool:
    """Whether this says that an amount is at least 0 or 1."""
    match claim:
        case Comparison("<=", Integer(0 | 1), _):
            return True
        case _:
            return False


def _limits_by_list(claim: Expr) -> bool:
    """Whether this says that an amount without roundings is no more than the largest of a list."""
    match claim:
        case Comparison("<=", amount, Call("max", (_,))):
            return not isinstance(amount, Conditional | Call) and _roundings(claim) <= 1
        case _:
            return False


def examples(domain: Domain) -> Iterator[Sample]:
    """Some legal configurations of a domain, the same on every run."""
    drawer = ConfigurationDrawer(domain, random.Random(SEED))
    for _ in range(EXAMPLES):
        example = drawer.draw(TRUE)
        if example is not None:
            yield example


class Oracles:
    """An oracle for each runner, with samples of its modes, made when it is first asked for."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self._source = random.Random(SEED)
        self._made: dict[tuple[str, ...], Oracle] = {}

    @cached_property
    def _drawer(self) -> ConfigurationDrawer:
        return ConfigurationDrawer(self.solver.domain, self._source)

    def apart(self) -> Oracles:
        """Oracles that do not depend on what else these are asked, and keep what they are asked."""
        return Oracles(self.solver.apart())

    def of(self, *runners: RunnerProblem) -> Oracle:
        """The oracle for questions about some runners."""
        names = tuple(runner.name for runner in runners)
        if names not in self._made:
            modes = tuple(mode for runner in runners for mode in runner.modes)
            samples = tuple(_samples(self._drawer, modes, self._source))
            self._made[names] = Oracle(self.solver, samples)
        return self._made[names]


def _samples(
    drawer: ConfigurationDrawer, modes: tuple[ModeProblem, ...], source: random.Random
) -> Iterator[Sample]:
    """Random legal configurations and batches, some of each mode; the same on every run."""
    for mode in modes:
        for _ in range(SAMPLES_OF_A_MODE):
            sample = drawer.draw(mode.guard)
            if sample is not None:
                yield with_batch(sample, mode, source).remembering()
