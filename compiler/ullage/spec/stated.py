"""Formulas that an engine states itself, to stand beside the derived capacities."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.expr.tree import TRUE, Expr
from ullage.place import Place


@dataclass(frozen=True, slots=True)
class StatedFormula:
    """An engine's own formula for one axis or slot of a runner and worker.

    `when`: for which configurations it is stated.
    """

    runner: str
    worker: str
    target: str
    formula: Expr
    expect: tuple[tuple[str, str], ...]
    place: Place
    when: Expr = TRUE


@dataclass(frozen=True, slots=True)
class Audit:
    """Formulas that stand beside derived capacities, and what is expected of them.

    `quoted_from` says where the rule stands; `let` are the rule's own local names.
    """

    name: str
    quoted_from: str
    let: tuple[tuple[str, Expr], ...]
    formulas: tuple[StatedFormula, ...]
    doc: str
    place: Place
