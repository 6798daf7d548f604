"""What a slot holds for good, where it is written once and not by each load."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.expr.tree import Expr
from ullage.place import Place


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of a slot in the order in which they lie, row by row.

    `value`: of each, over parameters and `position`, which counts from 0; an empty `position`: all
    are the same.
    """

    position: str
    value: Expr
    place: Place
