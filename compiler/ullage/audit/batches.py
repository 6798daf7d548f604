"""Which live values a batch of one mode can have, beyond what their ranges say.

A problem's live variables over-estimate in three ways, which is fine for bounds and not for
counterexamples. What does not enter an extent need not be looked at. Two variables of one other
rank are one where there is no third rank. And totals that follow from several values (of quotients
over the requests, of what all other ranks bring) are known to be reached only at their upper ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ullage.bound.problem import Coupling, Live, ModeProblem
from ullage.bound.search import Search
from ullage.counterexample.realised import is_derived
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    Call,
    Comparison,
    Expr,
    Integer,
    Name,
    disjunction,
    free_names,
    negation,
    substitute,
)
from ullage.prove.oracle import Oracle

_SECOND = ".2"


@dataclass(frozen=True, slots=True)
class Batches:
    """The live variables that matter for an extent, and the conditions that make them real.

    `exact`: no batch that could overflow is lost by taking totals at their upper ends.
    """

    live: tuple[Live, ...]
    conditions: tuple[Expr, ...]
    exact: bool


def batches_of(
    mode: ModeProblem, extent: Expr, ranks: Expr | None, given: tuple[Expr, ...], oracle: Oracle
) -> Batches:
    """The batches of a mode as far as `extent` depends on them; `ranks` is how many ranks are."""
    live = _relevant(mode, extent)
    names = frozenset(each.name for each in live)
    couplings = [c for c in mode.couplings if not _live_names(c, mode) - names]
    ends = {each.name: _upper_end(each, couplings) for each in live if is_derived(each)}
    held = (
        disjunction(negation(each.guard), Comparison("==", Name(each.name), ends[each.name]))
        for each in live
        if each.name in ends
    )
    conditions = (*(each.claim for each in couplings), *held, *_same_rank(live, ranks))
    exact = all(
        not _is_stated(name, couplings) and _grows(extent, name, end, given, oracle)
        for name, end in ends.items()
    )
    return Batches(live, conditions, exact)


def _relevant(mode: ModeProblem, extent: Expr) -> tuple[Live, ...]:
    """The own variables, and those of other ranks that the extent depends on."""
    known = {each.name: each for each in mode.live}
    pending = [name for name in free_names(extent) if name in known]
    pending += [each.name for each in mode.live if each.origin == "own"]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in known and name not in found:
            found.add(name)
            ends = (known[name].low, known[name].high)
            pending.extend(other for end in ends for other in free_names(end))
            coupled = (_live_names(c, mode) for c in mode.couplings)
            pending.extend(other for names in coupled if name in names for other in names)
    return tuple(each for each in mode.live if each.name in found)


def _live_names(coupling: Coupling, mode: ModeProblem) -> frozenset[str]:
    return free_names(coupling.condition) & {each.name for each in mode.live}


def _upper_end(live: Live, couplings: Iterable[Coupling]) -> Expr:
    """The least of the range's end and of the bounds that hold by the nature of the total."""
    ends: list[Expr] = [live.high]
    for coupling in couplings:
        match coupling.condition:
            case Comparison("<=", Name(name=name), right) if (
                name == live.name and not coupling.stated
            ):
                ends.append(right)
    return ends[0] if len(ends) == 1 else Call("min", tuple(ends))


def _is_stated(name: str, couplings: Iterable[Coupling]) -> bool:
    return any(each.stated and name in free_names(each.condition) for each in couplings)


def _grows(extent: Expr, name: str, end: Expr, given: tuple[Expr, ...], oracle: Oracle) -> bool:
    """Whether the extent is largest where the total is at its upper end."""
    at_end = fold(substitute(extent, {name: end}))
    bounded = (*given, Comparison("<=", Name(name), end))
    return Search(oracle, bounded).at_most(extent, at_end) is not None


def _same_rank(live: Sequence[Live], ranks: Expr | None) -> Iterator[Expr]:
    """With two ranks in all, the other one brings the same wherever it is asked."""
    names = {each.name for each in live}
    for each in live:
        first = each.name.removesuffix(_SECOND)
        if ranks is not None and each.name.endswith(_SECOND) and first in names:
            same = Comparison("==", Name(each.name), Name(first))
            third = Comparison("<=", Integer(3), ranks)
            yield disjunction(negation(each.guard), third, same)
