"""How deep and how large definitions become, since passes put them in place of their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ullage.diagnostics.diagnostic import Collector
from ullage.expr.tree import Binary, Expr, Integer, Name, children
from ullage.spec import problems
from ullage.spec.model import Definition

MAX_LEVELS: Final = 64
"""Of an expression with all definitions put in; passes and z3 go down them by recursion."""
MAX_BITS: Final = 4096
"""Of a value, parameters counted as 64 bits: a chain of squares has more than fit in memory."""


class _Size(NamedTuple):
    """Upper ends."""

    levels: int
    bits: int


_PARAMETER: Final = _Size(1, 64)


def check_sizes(definitions: Iterable[Definition], collector: Collector) -> None:
    """Report definitions over a limit, not those that use them; each comes behind what it uses."""
    known: dict[str, _Size] = {}
    for each in definitions:
        size = _size(each.value, known)
        if size.levels > MAX_LEVELS:
            problem = f"is nested more than {MAX_LEVELS} deep, with those that it uses put in"
        elif size.bits > MAX_BITS:
            problem = f"may have a value of more than {MAX_BITS} bits"
        else:
            known[each.name] = size
            continue
        message = f"definition '{each.name}' {problem}"
        collector.error(problems.OVER_A_LIMIT, message, each.place)


def _size(node: Expr, known: Mapping[str, _Size]) -> _Size:
    match node:
        case Name(name):
            return known.get(name, _PARAMETER)
        case Integer(value):
            return _Size(1, value.bit_length())
    parts = [_size(part, known) for part in children(node)]
    levels = 1 + max((part.levels for part in parts), default=0)
    bits = [part.bits for part in parts]
    if isinstance(node, Binary) and node.operator == "*":
        return _Size(levels, sum(bits))
    return _Size(levels, 1 + max(bits, default=0))
