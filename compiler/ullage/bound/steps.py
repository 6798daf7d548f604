"""Proof steps: the language between the deriver, which guesses, and the checker, which verifies.

A step claims `left <= right` for every assignment that satisfies the surrounding assumptions. The
rule names say how it follows from the premises; `ullage.prove.rules` states what each one means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ullage.expr.tree import Expr

RuleName = Literal[
    "same",
    "leaf",
    "impossible",
    "chain",
    "monotone",
    "max_below",
    "below_max",
    "min_below",
    "below_min",
    "cases_left",
    "cases_right",
    "align_scales",
    "cdiv_scales",
    "above_itself",
    "shifted_quotient",
    "exact_quotient",
    "unrounds",
    "element",
    "next_within",
    "unfold_left",
    "unfold_right",
]


@dataclass(frozen=True, slots=True)
class Step:
    """`left <= right`, by `rule` from `premises`."""

    rule: RuleName
    left: Expr
    right: Expr
    premises: tuple[Step, ...] = ()

    def __len__(self) -> int:
        return 1 + sum(len(premise) for premise in self.premises)
