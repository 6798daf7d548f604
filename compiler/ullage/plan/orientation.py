"""Directing the edges of a graph so that two in a row always have a third beside them.

Where such a transitive orientation exists, each directed path runs through vertices that are all
joined to each other. Martin Golumbic's algorithm finds it (Algorithmic Graph Theory and Perfect
Graphs, 1980, chapter 5): one edge forces those that meet it without a third edge to close the
triangle, and what is left after a class of forced edges is a smaller problem of the same kind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

Edge = tuple[str, str]
"""Two vertices; where the edge is directed, from the first to the second."""


def transitive_order(vertices: Sequence[str], edges: Iterable[Edge]) -> tuple[str, ...] | None:
    """The vertices so that edges, each from the earlier to the later, are a transitive orientation.

    Vertices stay in the given order where nothing decides. None if there is no such orientation.
    """
    position = {vertex: index for index, vertex in enumerate(vertices)}
    left = {edge for one, two in edges for edge in ((one, two), (two, one))}
    directed: set[Edge] = set()
    while left:
        first = min(left, key=lambda edge: (position[edge[0]], position[edge[1]]))
        forced = _forced_by(first, left)
        if any((two, one) in forced for one, two in forced):
            return None
        directed |= forced
        left -= forced | {(two, one) for one, two in forced}
    return _sorted(vertices, directed)


def _forced_by(first: Edge, edges: Collection[Edge]) -> set[Edge]:
    """The directions that follow from one: edges that share an end and close no triangle."""
    forced, pending = {first}, [first]
    while pending:
        for edge in _forced_at_once(pending.pop(), edges):
            if edge not in forced:
                forced.add(edge)
                pending.append(edge)
    return forced


def _forced_at_once(edge: Edge, edges: Collection[Edge]) -> Iterator[Edge]:
    start, end = edge
    for one, two in edges:
        if one == start and two != end and (end, two) not in edges:
            yield one, two
        if two == end and one != start and (start, one) not in edges:
            yield one, two


def _sorted(vertices: Sequence[str], directed: Collection[Edge]) -> tuple[str, ...]:
    """The vertices, each behind all that point to it."""
    waiting, order = list(vertices), list[str]()
    while waiting:
        ready = next(
            each for each in waiting if not any((other, each) in directed for other in waiting)
        )
        waiting.remove(ready)
        order.append(ready)
    return tuple(order)
