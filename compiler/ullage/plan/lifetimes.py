"""Which runners may be alive at the same time.

All slots of a runner are alive while it runs. Two runners are alive together only where a
`concurrent` group of the spec says so; all others take turns, and `load` writes whatever a runner
exposes before anything reads it, so that nothing is lost where they share storage.

A slot that is kept is alive always. Those of a runner make a part of their own, which is in a group
with everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from ullage.bound.domain import for_worker
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, TRUE, Expr, disjunction
from ullage.plan.model import Group, PlannedRunner
from ullage.spec.check import ResolvedSpec
from ullage.spec.check_concurrent import runners_named
from ullage.spec.model import Concurrent

Pair = tuple[str, str]
"""Two names of runners in the order of the plan."""


def groups_of(resolved: ResolvedSpec, runners: Sequence[PlannedRunner]) -> tuple[Group, ...]:
    """The concurrent groups that can occur, over the runners that serve some mode."""
    found = (_group(each, resolved, runners) for each in resolved.spec.concurrent)
    groups = (*found, *_kept_groups(runners))
    return tuple(each for each in groups if len(each.parts) > 1 and each.condition != FALSE)


def with_kept_parts(runners: Sequence[PlannedRunner]) -> tuple[PlannedRunner, ...]:
    """The runners, with a name for the kept part of each that has one, which no runner has."""
    taken = [runner.name for runner in runners]
    named: list[PlannedRunner] = []
    for runner in runners:
        if any(slot.kept for slot in runner.slots):
            kept = f"{runner.name}_kept"
            while kept in taken:
                kept += "_"
            taken.append(kept)
            runner = replace(runner, kept=kept)
        named.append(runner)
    return tuple(named)


def _kept_groups(runners: Sequence[PlannedRunner]) -> Iterator[Group]:
    """Each kept part beside all runners, and all of them beside each other."""
    names = tuple(runner.name for runner in runners)
    places = {
        runner.kept: next(slot.place for slot in runner.slots if slot.kept)
        for runner in runners
        if runner.kept is not None
    }
    for kept, place in places.items():
        yield Group(((kept,), names), TRUE, "what is kept shares storage with nothing", place)
    if len(places) > 1:
        first, *_ = places.values()
        yield Group(tuple((kept,) for kept in places), TRUE, "all that is kept", first)


def _group(written: Concurrent, resolved: ResolvedSpec, runners: Sequence[PlannedRunner]) -> Group:
    planned = {runner.name for runner in runners}
    named = (runners_named(resolved.spec, each) for each in written.runners)
    parts = (tuple(name for name in part if name in planned) for part in named)
    # No condition here differs between workers.
    rewrite = for_worker(resolved, resolved.spec.workers[0].name)
    return Group(
        tuple(part for part in parts if part), rewrite(written.when), written.doc, written.place
    )


def pairs_of(group: Group) -> Iterator[frozenset[str]]:
    """The runners that a group puts beside each other, two by two."""
    for part, other in combinations(group.parts, 2):
        yield from (frozenset((one, two)) for one in part for two in other)


def together(
    runners: Sequence[PlannedRunner], groups: Sequence[Group]
) -> Mapping[Pair, tuple[Group, ...]]:
    """The groups that make two runners be alive together, for every two that ever are."""
    found: dict[frozenset[str], tuple[Group, ...]] = {}
    for group in groups:
        for pair in pairs_of(group):
            found[pair] = (*found.get(pair, ()), group)
    names = (part for runner in runners for part in runner.parts)
    return {
        pair: found[key] for pair in combinations(names, 2) if (key := frozenset(pair)) in found
    }


def condition_of(groups: Sequence[Group]) -> Expr:
    """Where some of the groups occurs."""
    return fold(disjunction(*(group.condition for group in groups)))
