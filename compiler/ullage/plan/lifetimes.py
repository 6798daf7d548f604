"""Which runners may be alive at the same time.

All slots of a runner are alive while it runs. Two runners are alive together only where a
`concurrent` group of the spec says so; all others take turns, and `load` writes whatever a runner
exposes before anything reads it, so that nothing is lost where they share storage.

A slot that had to keep its contents between loads would be alive always: it would belong to every
group, which is where such a rule has to be added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from ullage.bound.specialise import for_worker
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, Expr, disjunction
from ullage.plan.model import Group, PlannedRunner
from ullage.spec.check import ResolvedSpec
from ullage.spec.check_concurrent import runners_named
from ullage.spec.model import Concurrent

Pair = tuple[str, str]
"""Two names of runners in the order of the plan."""


def groups_of(resolved: ResolvedSpec, runners: Sequence[PlannedRunner]) -> tuple[Group, ...]:
    """The concurrent groups that can occur, over the runners that serve some mode."""
    found = (_group(each, resolved, runners) for each in resolved.spec.concurrent)
    return tuple(each for each in found if len(each.parts) > 1 and each.condition != FALSE)


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
    names = (runner.name for runner in runners)
    return {
        pair: found[key] for pair in combinations(names, 2) if (key := frozenset(pair)) in found
    }


def condition_of(groups: Sequence[Group]) -> Expr:
    """Where some of the groups occurs."""
    return fold(disjunction(*(group.condition for group in groups)))
