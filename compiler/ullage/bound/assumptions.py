"""Conditions that are assumed together, as searches pass them on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ullage.expr.tree import Expr


class Assumptions(tuple[Expr, ...]):
    """Conditions in order. What is asked of them again and again is found once.

    They are equal to the same conditions as a plain tuple.
    """

    @classmethod
    def of(cls, conditions: Iterable[Expr]) -> Assumptions:
        """The conditions as assumptions; those that are assumptions stay as they are."""
        return conditions if isinstance(conditions, cls) else cls(conditions)

    def also(self, condition: Expr) -> Assumptions:
        """These and one more."""
        more = Assumptions((*self, condition))
        more.__dict__.update(before=self, every=self.every | {condition})
        return more

    @cached_property
    def before(self) -> Assumptions:
        """All but the last."""
        return Assumptions(self[:-1])

    @cached_property
    def every(self) -> frozenset[Expr]:
        """The conditions without an order."""
        return frozenset(self)

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash
