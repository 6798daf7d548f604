"""Whether every range has a value in it wherever what it is about exists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.bound.domain import for_worker
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import Expr, free_names
from ullage.place import Place
from ullage.prove.solver import Solver, at_most
from ullage.spec import problems
from ullage.spec.chains import chain
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Mode, Range, Worker


@dataclass(frozen=True, slots=True)
class _Ranged:
    """What has a range, and under which conditions it exists."""

    what: str
    range: Range
    when: tuple[Expr, ...]


def check_ranges(resolved: ResolvedSpec, solver: Solver, collector: Collector) -> None:
    """Report each range that is empty in some legal configuration, once.

    Ranges that depend on other live variables are left out: that they leave something is shared
    between all relations of the mode.
    """
    reported: set[Place] = set()
    for worker in resolved.spec.workers:
        rewrite = for_worker(resolved, worker.name)
        for each in _ranged(resolved, worker):
            claim = at_most(rewrite(each.range.low), rewrite(each.range.high))
            given = tuple(map(rewrite, (worker.when, *each.when)))
            if each.range.place in reported:
                continue
            verdict = solver.decide(claim, given)
            if not verdict.proved:
                reported.add(each.range.place)
                low, high = spell(each.range.low), spell(each.range.high)
                message = f"the range of {each.what} can be empty: {low} <= {high} can be false"
                hint = Examples(resolved, solver).against(claim, given)
                hint = hint or "exchange the ends, or say with 'when' where they are in order"
                code = problems.EMPTY_RANGE
                collector.error(code, message, each.range.place, hint=hint)


def _ranged(resolved: ResolvedSpec, worker: Worker) -> Iterator[_Ranged]:
    spec = resolved.spec
    for mode in spec.modes:
        if chain(spec.runners, worker.name, mode.name):
            yield from _of_mode(mode)
    for slot in spec.slots:
        if slot.range is not None:
            yield _Ranged(f"the values of slot '{slot.name}'", slot.range, (slot.when,))
        if slot.live_range is not None:
            what = f"the live values of slot '{slot.name}'"
            yield _Ranged(what, slot.live_range, (slot.when,))
    for reader in spec.readers:
        for read in reader.reads:
            if read.range is not None:
                what = f"what reader '{reader.name}' takes in '{read.slot}'"
                yield _Ranged(what, read.range, (reader.when,))


def _of_mode(mode: Mode) -> Iterator[_Ranged]:
    live = {each.name for each in mode.live}
    for each in mode.live:
        if not live & (free_names(each.range.low) | free_names(each.range.high)):
            yield _Ranged(f"'{each.name}' of mode '{mode.name}'", each.range, (mode.when,))
