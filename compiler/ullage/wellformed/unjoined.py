"""Whether a rank could skip what others wait in, of modes about whose peers nothing is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from ullage.bound.domain import ForWorker, for_worker
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import (
    FALSE,
    Comparison,
    Expr,
    Integer,
    conjunction,
    disjunction,
    negation,
)
from ullage.prove.solver import Solver
from ullage.spec.chains import chain
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Transform, Worker
from ullage.spec.peers import are_peers, collectives_of, is_silent, listed

UNJOINED: Final = "U635"


def check_unjoined(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report each mode without a word on peers whose collectives differ from another mode's."""
    count = resolved.spec.rank_count
    if count is not None:
        checker = _Checker(resolved, solver, collector, Comparison("<=", Integer(2), count))
        for worker in resolved.spec.workers:
            checker.check(worker)


@dataclass
class _Checker:
    resolved: ResolvedSpec
    solver: Solver
    collector: Collector
    several: Expr
    reported: set[str] = field(default_factory=set)

    def check(self, worker: Worker) -> None:
        """The modes that are served on a worker, two by two; each silent one is told once."""
        rewrite = for_worker(self.resolved, worker.name)
        spec = self.resolved.spec
        served = [mode for mode in spec.modes if chain(spec.runners, worker.name, mode.name)]
        silent = {mode.name for mode in served if is_silent(mode, spec.modes)}
        for pair in combinations(served, 2):
            left = [m for m in pair if m.name in silent and m.name not in self.reported]
            if left and not are_peers(*pair):
                self._check_pair(left[0], next(m for m in pair if m != left[0]), worker, rewrite)

    def _check_pair(self, mode: Mode, other: Mode, worker: Worker, rewrite: ForWorker) -> None:
        mine, theirs = (collectives_of(m, self.resolved.transforms) for m in (mode, other))
        if mine == theirs:
            return
        same = negation(disjunction(*_differ(mine, theirs), FALSE))
        claim = rewrite(same)
        given = tuple(map(rewrite, (worker.when, mode.when, other.when, self.several)))
        if not self.solver.proves(claim, given):
            self.reported |= {mode.name}
            example = Examples(self.resolved, self.solver).against(claim, given)
            self._report(mode, other, (_named(mine), _named(theirs)), example)

    def _report(
        self, mode: Mode, other: Mode, sequences: tuple[str, str], example: str | None
    ) -> None:
        mine, theirs = sequences
        message = (
            f"nothing is said about the peers of mode '{mode.name}', which takes part in {mine}, "
            f"while '{other.name}' takes part in {theirs}: ranks in one would wait for those in "
            "the other"
        )
        way = f"say peers: [] of '{mode.name}' if no rank ever waits for one in it, or name them"
        hint = f"{example}; {way}" if example else way
        related = ((other.place, f"mode '{other.name}'"),)
        self.collector.error(UNJOINED, message, mode.place, hint=hint, related=related)


def _named(collectives: tuple[Transform, ...]) -> str:
    return listed((each.name, each.collective.group) for each in collectives if each.collective)


def _differ(one: tuple[Transform, ...], other: tuple[Transform, ...]) -> Iterator[Expr]:
    """Where the two run other collectives, or in another order: any one or two that differ.

    Two sequences are the same where they are so without all but two of their members.
    """
    whens = {each.name: each.when for each in (*one, *other)}
    sequences = [[each.name for each in collectives] for collectives in (one, other)]
    for kept in (*((name,) for name in whens), *combinations(whens, 2)):
        mine, theirs = ([name for name in names if name in kept] for names in sequences)
        if mine != theirs:
            yield conjunction(*(whens[name] for name in kept))
