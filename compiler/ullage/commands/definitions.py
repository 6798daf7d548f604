"""The named expressions that a formula rests on."""

from __future__ import annotations

from ullage.bound.problem import Definition, Domain
from ullage.expr.tree import Expr, free_names


def definitions_of(domain: Domain, *formulas: Expr) -> tuple[Definition, ...]:
    """The definitions that the formulas name, directly or through others, those first."""
    wanted = frozenset().union(*(free_names(formula) for formula in formulas))
    found: list[Definition] = []
    for definition in reversed(domain.definitions):  # each stands behind those that it uses
        if definition.name in wanted:
            wanted |= free_names(definition.value)
            found.append(definition)
    return tuple(reversed(found))
