"""Text of an expression with as few brackets as its precedence allows.

The spec language and Python share their grammar; they differ in how names, enumerants, booleans
and some calls are written, which is what a `Dialect` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from ullage.expr.tree import (
    Binary,
    BinaryOperator,
    Boolean,
    Call,
    Comparison,
    Comprehension,
    Conditional,
    Enumerant,
    Expr,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
    Progression,
)


class Precedence(IntEnum):
    """How tightly a form binds; a looser form inside a tighter one needs brackets."""

    CONDITIONAL = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    NEGATIVE = 7
    ATOM = 8


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the leaves and the special calls are written; each callback gives an atom."""

    name: Callable[[str], str]
    enumerant: Callable[[Enumerant], str]
    boolean: Callable[[bool], str]
    upper: Callable[[str], str]
    over: Callable[[Over], str]


_PRODUCTS: tuple[BinaryOperator, ...] = ("*", "//", "%")


def write(expr: Expr, dialect: Dialect) -> str:
    """The text of `expr` in `dialect`."""
    return _Writer(dialect, frozenset()).text(expr, Precedence.CONDITIONAL)


@dataclass(frozen=True, slots=True)
class _Writer:
    dialect: Dialect
    bound: frozenset[str]

    def text(self, expr: Expr, needed: Precedence) -> str:
        """`expr` where only forms that bind at least as tightly as `needed` go bare."""
        text, precedence = self._form(expr)
        return text if precedence >= needed else f"({text})"

    def _form(self, expr: Expr) -> tuple[str, Precedence]:
        match expr:
            case Integer(value=value):
                return str(value), Precedence.ATOM if value >= 0 else Precedence.NEGATIVE
            case Boolean(value=truth):
                return self.dialect.boolean(truth), Precedence.ATOM
            case Name(name=name):
                return name if name in self.bound else self.dialect.name(name), Precedence.ATOM
            case Enumerant():
                return self.dialect.enumerant(expr), Precedence.ATOM
            case Binary():
                return self._binary(expr)
            case Comparison(operator=operator, left=left, right=right):
                sides = self.text(left, Precedence.SUM), self.text(right, Precedence.SUM)
                return f"{sides[0]} {operator} {sides[1]}", Precedence.COMPARISON
            case Logical():
                return self._logical(expr)
            case Not(operand=operand):
                return f"not {self.text(operand, Precedence.NOT)}", Precedence.NOT
            case Conditional(condition, then, otherwise):
                first, test = self.text(then, Precedence.OR), self.text(condition, Precedence.OR)
                last = self.text(otherwise, Precedence.CONDITIONAL)
                return f"{first} if {test} else {last}", Precedence.CONDITIONAL
            case Call() | Over():
                return self._call(expr), Precedence.ATOM
            case Progression(first, end, step):
                return f"*range({self._separated((first, end, step))})", Precedence.CONDITIONAL
            case ListOf(elements=elements):
                return f"[{self._separated(elements)}]", Precedence.ATOM
            case Comprehension():
                return self._comprehension(expr), Precedence.ATOM

    def _separated(self, parts: tuple[Expr, ...]) -> str:
        return ", ".join(self.text(part, Precedence.CONDITIONAL) for part in parts)

    def _binary(self, expr: Binary) -> tuple[str, Precedence]:
        if expr.operator == "-" and expr.left == Integer(0) and not isinstance(expr.right, Integer):
            return f"-{self.text(expr.right, Precedence.NEGATIVE)}", Precedence.NEGATIVE
        own = Precedence.PRODUCT if expr.operator in _PRODUCTS else Precedence.SUM
        left, right = self.text(expr.left, own), self.text(expr.right, Precedence(own + 1))
        return f"{left} {expr.operator} {right}", own

    def _logical(self, expr: Logical) -> tuple[str, Precedence]:
        own = Precedence.AND if expr.junction == "and" else Precedence.OR
        parts = (self.text(operand, Precedence(own + 1)) for operand in expr.operands)
        return f" {expr.junction} ".join(parts), own

    def _call(self, expr: Call | Over) -> str:
        if isinstance(expr, Over):
            return self.dialect.over(expr)
        (first, *_) = expr.arguments
        if expr.function == "upper" and isinstance(first, Name):
            return self.dialect.upper(first.name)
        return f"{expr.function}({self._separated(expr.arguments)})"

    def _comprehension(self, expr: Comprehension) -> str:
        inner = _Writer(self.dialect, self.bound | {expr.variable})
        element = inner.text(expr.element, Precedence.CONDITIONAL)
        source = self.text(expr.source, Precedence.OR)
        head = f"{element} for {expr.variable} in {source}"
        if expr.condition is None:
            return f"[{head}]"
        return f"[{head} if {inner.text(expr.condition, Precedence.OR)}]"
