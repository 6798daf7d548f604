"""Conditions on facts, which the engine answers for each batch."""

from __future__ import annotations

from itertools import product
from typing import Final

from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Boolean, Expr, disjunction, free_names, substitute

MOST_FACTS: Final = 6
"""A condition on more facts counts as always possible: the tail is filled in any case."""


def without_facts(condition: Expr, facts: frozenset[str]) -> Expr:
    """For which configurations the condition can hold, whatever the engine's facts are."""
    used = sorted(free_names(condition) & facts)
    if len(used) > MOST_FACTS:
        return TRUE
    ways: list[Expr] = []
    for truths in product((True, False), repeat=len(used)):
        values: dict[str, Expr] = dict(zip(used, map(Boolean, truths), strict=True))
        ways.append(fold(substitute(condition, values)))
    return fold(disjunction(*ways))
