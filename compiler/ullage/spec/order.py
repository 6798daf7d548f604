"""The order in which names that use each other can be computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def dependency_order(
    uses: Mapping[str, Iterable[str]],
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The names, each behind all that it uses, otherwise as given; and the cycles that prevent it.

    A cycle lists its names in the order of use, from the one that is given first. Names that
    `uses` has no entry for are left out.
    """
    done: dict[str, None] = {}
    cycles: dict[tuple[str, ...], None] = {}
    for root in uses:
        path: dict[str, Iterator[str]] = {}
        pending = [root]
        while pending:
            name = pending.pop()
            if name in done:
                continue
            path.setdefault(name, iter(tuple(uses[name])))
            following = next((used for used in path[name] if used in uses), None)
            if following is None:
                del path[name]
                done[name] = None
                continue
            pending.append(name)
            if following in path:
                cycles[_rotated(tuple(path), following, tuple(uses))] = None
            elif following not in done:
                pending.append(following)
    return tuple(done), tuple(cycles)


def _rotated(path: tuple[str, ...], start: str, order: tuple[str, ...]) -> tuple[str, ...]:
    cycle = path[path.index(start) :]
    first = min(range(len(cycle)), key=lambda index: order.index(cycle[index]))
    return cycle[first:] + cycle[:first]


def reached(uses: Mapping[str, Iterable[str]], roots: Iterable[str]) -> frozenset[str]:
    """The roots and everything that they use, directly or not."""
    found: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(uses.get(name, ()))
    return frozenset(found)
