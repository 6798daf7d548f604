"""An expression back in the spec language."""

from __future__ import annotations

from functools import lru_cache

from ullage.expr.printing import Dialect, write
from ullage.expr.tree import REMEMBERED, Enumerant, Expr, Over


@lru_cache(maxsize=REMEMBERED)
def spell(expr: Expr) -> str:
    """The text that parses to `expr` again; an enumerant is spelled as its bare value."""
    return write(expr, _SPEC)


def _name(name: str) -> str:
    return name


def _enumerant(value: Enumerant) -> str:
    return value.value


def _boolean(truth: bool) -> str:
    return "true" if truth else "false"


def _upper(name: str) -> str:
    return f"upper({name})"


def _over(expr: Over) -> str:
    return f"{expr.aggregate}({spell(expr.operand)})"


_SPEC = Dialect(_name, _enumerant, _boolean, _upper, _over)
