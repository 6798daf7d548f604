"""Expressions of the spec as Python, the way one would write them by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ullage.expr.printing import Dialect, write
from ullage.expr.python_source import python_source
from ullage.expr.tree import (
    Comparison,
    ComparisonOperator,
    Comprehension,
    Enumerant,
    Expr,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
    children,
    rebuild,
    transform,
    walk,
)

NameSource = Callable[[str], str]

_MIRRORED: dict[ComparisonOperator, ComparisonOperator] = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
_NEGATED: dict[ComparisonOperator, ComparisonOperator] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Writes expressions of one place in generated code.

    `name` and `enumerant` say how names and values of enums are written there; `over` how
    aggregates are, if any may stand there.
    """

    name: NameSource
    enumerant: Callable[[Enumerant], str]
    over: Callable[[Over], str] | None = None

    def of(self, expr: Expr) -> str:
        """The source of `expr`."""
        bound = frozenset(node.variable for node in walk(expr) if isinstance(node, Comprehension))
        shaped = _Shaper(self, bound)
        readable = transform(shaped.without_aggregates(expr), shaped.shape)
        name = self.with_names(shaped.texts).name
        return python_source(readable, name=name, enumerant=self.enumerant)

    def atom(self, expr: Expr) -> str:
        """The source of `expr` where only a name or a bracket may stand."""
        text = self.of(expr)
        return text if text.replace(".", "").replace("_", "").isalnum() else f"({text})"

    def as_tuple(self, expr: Expr) -> str:
        """The source of a list as a tuple."""
        text = self.of(expr)
        match expr:
            case ListOf():
                return f"({text[1:-1]},)" if expr.elements else "()"
            case Comprehension():
                return f"tuple({text[1:-1]})"
            case _:
                return f"tuple({text})"

    def in_order(self, expr: Expr) -> str:
        """The source of a list as a tuple in ascending order, each element once."""
        text = self.of(expr)
        match expr:
            case Comprehension():
                return f"tuple(sorted({{{text[1:-1]}}}))"
            case _:
                return f"tuple(sorted(set({text})))"

    def negated(self, condition: Expr) -> str:
        """The source of `not condition`."""
        return self.of(negated(condition))

    def with_names(self, texts: Mapping[str, str]) -> Source:
        """The same place where these names are written as these texts."""
        return replace(self, name=lambda name: texts.get(name) or self.name(name))


def negated(condition: Expr) -> Expr:
    """The opposite of a condition, without `not` where a comparison can be turned around."""
    match condition:
        case Not(operand=operand):
            return operand
        case Comparison(operator=operator, left=left, right=right):
            return Comparison(_NEGATED[operator], left, right)
        case _:
            return Not(condition)


@dataclass
class _Shaper:
    """Turns constants to the right, and equalities with one name into a membership.

    A membership is no node of the language, so it is held back as a name with a text of its own.
    """

    source: Source
    bound: frozenset[str]
    texts: dict[str, str] = field(default_factory=dict)

    def without_aggregates(self, node: Expr) -> Expr:
        """The expression with a text for each aggregate, if any may stand here."""
        if self.source.over is None:
            return node
        if isinstance(node, Over):
            return self._held(self.source.over(node))
        parts = children(node)
        return rebuild(node, tuple(map(self.without_aggregates, parts))) if parts else node

    def shape(self, node: Expr) -> Expr:
        match node:
            case Comparison(operator=operator, left=Integer() | Enumerant() as left, right=right):
                return Comparison(_MIRRORED[operator], right, left)
            case Logical(junction=junction, operands=operands):
                joined = self._memberships(junction, operands)
                if junction == "or" and len(joined) > 1:
                    joined = [self._bracketed(each) for each in joined]
                return joined[0] if len(joined) == 1 else Logical(junction, tuple(joined))
            case Not(operand=Comparison() as comparison):
                return negated(comparison)
            case _:
                return node

    def _bracketed(self, node: Expr) -> Expr:
        """A conjunction inside of a disjunction, in brackets that a reader need not imagine."""
        if not isinstance(node, Logical):
            return node
        inner = self.source.with_names(self.texts)
        return self._held(f"({python_source(node, name=inner.name, enumerant=inner.enumerant)})")

    def _held(self, text: str) -> Name:
        name = f"text {len(self.texts)}"
        self.texts[name] = text
        return Name(name)

    def _memberships(self, junction: str, operands: tuple[Expr, ...]) -> list[Expr]:
        operator: ComparisonOperator = "==" if junction == "or" else "!="
        grouped: dict[Expr, list[Expr]] = {}
        for operand in operands:
            value = self._compared(operand, operator)
            key = operand if value is None else value[0]
            grouped.setdefault(key, []).append(operand)
        return [self._membership(operator, parts) for parts in grouped.values()]

    def _membership(self, operator: ComparisonOperator, parts: list[Expr]) -> Expr:
        every = (self._compared(part, operator) for part in parts)
        compared = [found for found in every if found is not None]
        if len(parts) < 2 or len(compared) < len(parts):
            return parts[0]
        subject = self.source.of(compared[0][0])
        values = ", ".join(self.source.of(value) for _, value in compared)
        word = "in" if operator == "==" else "not in"
        return self._held(f"({subject} {word} ({values}))")

    def _compared(self, node: Expr, operator: ComparisonOperator) -> tuple[Name, Expr] | None:
        """The free name and the constant that `node` compares by `operator`."""
        match node:
            case Comparison(found, Name() as left, (Integer() | Enumerant()) as right):
                is_one = found == operator and left.name not in self.bound
                return (left, right) if is_one else None
            case _:
                return None


def shortened(expr: Expr) -> str:
    """`expr` in the spec language, for messages and docstrings."""
    return write(expr, Dialect(str, _bare, _truth, lambda each: f"upper({each})", _over))


def _bare(value: Enumerant) -> str:
    return value.value


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _over(expr: Over) -> str:
    inner = write(expr.operand, Dialect(str, _bare, _truth, str, _over))
    return f"{expr.aggregate}({inner})"
