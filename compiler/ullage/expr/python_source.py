"""An expression as Python source for generated code."""

from __future__ import annotations

from collections.abc import Callable

from ullage.expr.printing import Dialect, write
from ullage.expr.tree import Call, Enumerant, Expr, Over, walk

RUNTIME_FUNCTIONS = frozenset(("align_up", "cdiv", "next_in"))
"""The functions that generated code imports from `ullage_runtime.integers`."""


def runtime_functions(expr: Expr) -> frozenset[str]:
    """Those of `RUNTIME_FUNCTIONS` that the source of `expr` calls."""
    called = {node.function for node in walk(expr) if isinstance(node, Call)}
    return RUNTIME_FUNCTIONS & called


def _no_upper(name: str) -> str:
    raise ValueError(f"upper({name}) has no source here")


def _no_aggregate(expr: Over) -> str:
    raise ValueError(f"{expr.aggregate} has no source here")


def python_source(
    expr: Expr,
    *,
    name: Callable[[str], str],
    enumerant: Callable[[Enumerant], str],
    upper: Callable[[str], str] = _no_upper,
    over: Callable[[Over], str] = _no_aggregate,
) -> str:
    """The source of `expr`, with brackets only where precedence needs them.

    The callbacks say how a name, an enumerant, `upper(name)` and an aggregate are written; what
    they return must bind as tightly as a name does (`self.rows`, `Mode.EAGLE`, `f(x)`, `(a + b)`).
    Raises ValueError for `upper` or an aggregate without a callback.
    """
    return write(expr, Dialect(name, enumerant, repr, upper, over))
