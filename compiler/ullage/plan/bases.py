"""Where each runner begins in the arenas, as a formula of the sizes of others.

The runners are brought into one order, and each begins at the largest end of those before it that
may be alive together with it. That is sound in any order: of two runners that are alive together
the later one begins where the earlier one has ended. It needs no search while an engine starts,
and whoever reads the generated code sees why a buffer lies where it does.

The arena is then as large as the heaviest path through the order. In a transitive order each path
is a set of runners that are all alive together, so that no placement whatsoever needs less,
whatever the sizes are. Greedy placement by size has no such guarantee, and cannot be written as a
formula, since its order depends on the configuration. A transitive order exists for runners that
take turns, for one group, for groups that nest or follow each other, and in general for every
comparability graph. Where there is none (five runners in a ring, say), or where conditions take
some of the groups away, the plan is still sound, and `ullage plan` shows the gap together with
what greedy placement would need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ullage.plan.lifetimes import Pair, condition_of, together
from ullage.plan.model import Base, Below, Group, PlannedRunner
from ullage.plan.orientation import transitive_order


def bases_of(runners: Sequence[PlannedRunner], groups: Sequence[Group]) -> tuple[Base, ...]:
    """The base of each runner, in an order that is transitive if one is."""
    known = together(runners, groups)
    names = tuple(part for runner in runners for part in runner.parts)
    order = transitive_order(names, known) or names
    return tuple(
        Base(name, tuple(_below(name, order[:position], known)))
        for position, name in enumerate(order)
    )


def _below(
    name: str, earlier: Sequence[str], known: Mapping[Pair, tuple[Group, ...]]
) -> Iterator[Below]:
    for other in earlier:
        groups = known.get((other, name)) or known.get((name, other))
        if groups is not None:
            yield Below(other, condition_of(groups), groups)
