"""Legal configurations that are drawn to satisfy some conditions."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ullage.bound.problem import Domain
from ullage.bound.sampling import ConfigurationDrawer, Sample
from ullage.expr.tree import Expr, conjunction, free_names

SEED = 21
DRAWS = 3
"""Configurations that are drawn and repaired before the search is given up."""


class DrawnExamples:
    """Draws configurations of one domain; what was asked before decides what is drawn next."""

    def __init__(self, domain: Domain) -> None:
        self._drawer = ConfigurationDrawer(domain, random.Random(SEED))
        variables = (each.name for each in domain.variables)
        self._names = frozenset((*variables, *(each.name for each in domain.definitions)))

    def satisfying(self, conditions: Sequence[Expr]) -> Sample | None:
        """A legal configuration that satisfies all conditions, if one is drawn.

        None where they are about more than configurations.
        """
        condition = conjunction(*conditions)
        if not free_names(condition) <= self._names:
            return None
        drawn = (self._drawer.draw(condition) for _ in range(DRAWS))
        return next((each for each in drawn if each is not None), None)
