"""What the derivations of one runner's capacities have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from ullage.bound.eliminate import Eliminator
from ullage.bound.problem import ModeProblem
from ullage.bound.search import Oracle, Search
from ullage.expr.tree import Expr


@dataclass
class Common:
    """Searches by what they assume, and eliminators by mode: each remembers what it tried."""

    oracle: Oracle
    _searches: dict[tuple[Expr, ...], Search] = field(default_factory=dict)
    _eliminators: dict[tuple[str, bool], Eliminator] = field(default_factory=dict)

    def search(self, *given: Expr) -> Search:
        """The search under some assumptions."""
        if given not in self._searches:
            self._searches[given] = Search(self.oracle, given)
        return self._searches[given]

    def eliminator(self, mode: ModeProblem, slack: bool) -> Eliminator:
        """The eliminator of one of the runner's modes."""
        key = (mode.name, slack)
        if key not in self._eliminators:
            self._eliminators[key] = Eliminator(mode, self.oracle, slack)
        return self._eliminators[key]
