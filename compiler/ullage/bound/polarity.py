"""In which direction an expression goes with some of its names, as far as its form tells."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ullage.expr.tree import Binary, Call, Conditional, Expr, Integer, Name, free_names


@dataclass(frozen=True, slots=True)
class Polarity:
    """Looks at forms; `is_counted` says of a name whether it is never negative."""

    names: Collection[str]
    is_counted: Callable[[str], bool]

    def rises(self, node: Expr) -> bool:
        """Whether the node never falls where one of the names grows.

        False where the form does not show it, and where a choice or a divisor depends on them.
        """
        if not self._depends(node):
            return True
        match node:
            case Name():
                return True
            case Binary("+", left, right):
                return self.rises(left) and self.rises(right)
            case Binary("-", left, right):
                return self.rises(left) and not self._depends(right)
            case Binary("*", left, right):
                counts = self.is_count(left) and self.is_count(right)
                return counts and self.rises(left) and self.rises(right)
            case Binary("//", left, right) | Call("align_up" | "cdiv" | "next_in", (left, right)):
                return self.rises(left) and not self._depends(right)
            case Call("min" | "max", arguments):
                return all(self.rises(each) for each in arguments)
            case Conditional(condition, then, otherwise):
                return not self._depends(condition) and self.rises(then) and self.rises(otherwise)
            case _:
                return False

    def is_count(self, node: Expr) -> bool:
        """Whether the form shows that the node is never negative."""
        match node:
            case Integer(value=value):
                return value >= 0
            case Name(name=name):
                return name in self.names or self.is_counted(name)
            case Binary("+" | "*" | "//", left, right):
                return self.is_count(left) and self.is_count(right)
            case Call("align_up" | "cdiv" | "min", arguments):
                return all(self.is_count(each) for each in arguments)
            case Call("max", arguments):
                return any(self.is_count(each) for each in arguments)
            case Conditional(_, then, otherwise):
                return self.is_count(then) and self.is_count(otherwise)
            case _:
                return False

    def _depends(self, node: Expr) -> bool:
        return bool(free_names(node).intersection(self.names))
