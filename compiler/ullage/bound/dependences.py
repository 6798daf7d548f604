"""What rests on what: expressions on the ranks' batches, and live variables on one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ullage.bound.problem import Live
from ullage.expr.tree import Conditional, Expr, Name, children, free_names
from ullage.spec.order import dependency_order


@dataclass(frozen=True, slots=True)
class Dependences:
    """What names stand for: `marks` for what the own rank brings to a maximum, `maxima` for those.

    `groups`: over which ranks each marked maximum is; `own_names`: what is of the own rank.
    """

    marks: Mapping[str, Expr]
    maxima: Mapping[str, Expr]
    groups: Mapping[str, str]
    own_names: frozenset[str]

    def of(self, names: Iterable[str]) -> frozenset[frozenset[str]]:
        """What the names depend on of the own rank: its variables, or marks of maxima of such.

        One set for each way in which choices within the maxima can come out. A maximum over a
        group of what is the same on all its ranks is just that.
        """
        found: frozenset[frozenset[str]] = frozenset((frozenset(),))
        for name in names:
            ways = self._ways(Name(name))
            found = frozenset(one | other for one in found for other in ways)
        return found

    def _ways(self, node: Expr) -> frozenset[frozenset[str]]:
        match node:
            case Name(name=name) if name in self.maxima:
                return self._ways(self.maxima[name])
            case Name(name=name) if name in self.marks:
                return frozenset(self._seen(name, way) for way in self._ways(self.marks[name]))
            case Name(name=name):
                return frozenset((frozenset({name} & self.own_names),))
            case Conditional(condition, then, otherwise) if not any(self._ways(condition)):
                return self._ways(then) | self._ways(otherwise)
            case _:
                found: frozenset[frozenset[str]] = frozenset((frozenset(),))
                for child in children(node):
                    ways = self._ways(child)
                    found = frozenset(one | other for one in found for other in ways)
                return found

    def _seen(self, mark: str, way: frozenset[str]) -> frozenset[str]:
        """A maximum over ranks of what depends on `way`: the own rank, other maxima, or both."""
        held = way & self.marks.keys()
        if not held:
            return frozenset((mark,)) if way else way
        same_group = all(self.groups[each] == self.groups[mark] for each in held)
        return way if held == way and same_group else way | {mark}


def in_order(live: Iterable[Live]) -> tuple[Live, ...]:
    """The live variables, each behind those that its upper end names, otherwise as given."""
    named = {each.name: each for each in live}
    ordered, _ = dependency_order({name: free_names(e.high) for name, e in named.items()})
    return tuple(named[name] for name in ordered)
