"""The expression tree: exact integers, booleans, enumerants and lists of integers.

This tree is the only representation of an expression. sympy canonicalises parts of it and z3
decides claims about it, but both are fed from here and neither is kept. Nodes compare by
structure; the place where a node was written takes no part in equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from ullage.expr.node import Node

BinaryOperator = Literal["+", "-", "*", "//", "%"]
ComparisonOperator = Literal["==", "!=", "<", "<=", ">", ">="]
Junction = Literal["and", "or"]
Function = Literal["min", "max", "align_up", "cdiv", "next_in", "upper"]
Aggregate = Literal["sum_requests", "sum_ranks", "max_ranks"]


REMEMBERED = 65_536
"""How many expressions keep what was found for them; the formulas of one engine are far fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Integer(Node):
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Boolean(Node):
    value: bool


@dataclass(frozen=True, slots=True, eq=False)
class Enumerant(Node):
    """One value of an enum parameter; `code` is its position among the declared values."""

    enum: str
    value: str
    code: int


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    """A parameter, definition, live variable, axis, argument or bound element."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """`left operator right`; `//` and `%` floor as Python's do."""

    operator: BinaryOperator
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Node):
    """One comparison; a chain `a < b < c` is parsed into a conjunction of two."""

    operator: ComparisonOperator
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Logical(Node):
    """`and` or `or` over two or more operands, evaluated left to right with short circuit."""

    junction: Junction
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Node):
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Conditional(Node):
    """`then if condition else otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """An integer function.

    `align_up(x, a)` is the least multiple of a that is >= x; `cdiv(x, a)` the quotient rounded
    up; `next_in(x, xs)` the least element of xs that is >= x; `upper(name)` the largest value of a
    varying parameter; `max(xs)` and `min(xs)` of one list argument are its extreme elements.
    """

    function: Function
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Over(Node):
    """An aggregate over the requests of the batch or over the ranks of the group."""

    aggregate: Aggregate
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Progression(Node):
    """Elements at equal distances, `*range(first, end, step)`, the end left out.

    It stands among the elements of a written list and nowhere else.
    """

    first: Expr
    end: Expr
    step: Expr


@dataclass(frozen=True, slots=True, eq=False)
class ListOf(Node):
    """A list written out: `[a, b, *range(c, d, e)]`."""

    elements: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension(Node):
    """`[element for variable in source if condition]`."""

    element: Expr
    variable: str
    source: Expr
    condition: Expr | None


Expr = (
    Integer
    | Boolean
    | Enumerant
    | Name
    | Binary
    | Comparison
    | Logical
    | Not
    | Conditional
    | Call
    | Over
    | Progression
    | ListOf
    | Comprehension
)


def has_ranges(written: ListOf) -> bool:
    """Whether some elements of a written list are those of a range."""
    return any(isinstance(element, Progression) for element in written.elements)


TRUE = Boolean(True)
FALSE = Boolean(False)


def children(node: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions, in the order they are written."""
    return _CHILDREN[type(node)](node)


def _of_comprehension(node: Comprehension) -> tuple[Expr, ...]:
    within = (node.element, node.source)
    return within if node.condition is None else (*within, node.condition)


_LEAVES = frozenset({Integer, Boolean, Enumerant, Name})

# By type, and not by patterns, of which leaves would try them all: nothing is called more often.
_CHILDREN: Mapping[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    **dict.fromkeys(_LEAVES, lambda node: ()),
    Binary: lambda node: (node.left, node.right),
    Comparison: lambda node: (node.left, node.right),
    Logical: lambda node: node.operands,
    Not: lambda node: (node.operand,),
    Over: lambda node: (node.operand,),
    Conditional: lambda node: (node.condition, node.then, node.otherwise),
    Call: lambda node: node.arguments,
    Progression: lambda node: (node.first, node.end, node.step),
    ListOf: lambda node: node.elements,
    Comprehension: _of_comprehension,
}


def rebuild(node: Expr, parts: tuple[Expr, ...]) -> Expr:
    """The same node over other subexpressions; the inverse of `children`."""
    place = node.place
    match node:
        case Binary(operator=operator):
            return Binary(operator, parts[0], parts[1], place=place)
        case Comparison(operator=operator):
            return Comparison(operator, parts[0], parts[1], place=place)
        case Logical(junction=junction):
            return Logical(junction, parts, place=place)
        case Not():
            return Not(parts[0], place=place)
        case Over(aggregate=aggregate):
            return Over(aggregate, parts[0], place=place)
        case Conditional():
            return Conditional(parts[0], parts[1], parts[2], place=place)
        case Call(function=function):
            return Call(function, parts, place=place)
        case Progression():
            return Progression(parts[0], parts[1], parts[2], place=place)
        case ListOf():
            return ListOf(parts, place=place)
        case Comprehension(variable=variable):
            condition = parts[2] if len(parts) > 2 else None
            return Comprehension(parts[0], variable, parts[1], condition, place=place)
        case _:
            return node


@lru_cache(maxsize=REMEMBERED)
def parts_of(node: Expr) -> frozenset[Expr]:
    """The expression and everything that it is made of."""
    return frozenset((node,)).union(*map(parts_of, children(node)))


def walk(node: Expr) -> Iterator[Expr]:
    """Every node, parents first."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def folded(node: Expr, fold: Callable[[Expr], Expr]) -> Expr:
    """`node` as `fold` makes it over folded subexpressions, made only once; a leaf stays."""
    if type(node) in _LEAVES:
        return node
    try:
        known = node._folded
    except AttributeError:
        parts = children(node)
        new_parts = tuple([folded(part, fold) for part in parts])
        result = fold(rebuild(node, new_parts) if new_parts != parts else node)
        object.__setattr__(result, "_folded", None)
        if result is not node:
            object.__setattr__(node, "_folded", result)
        return result
    return node if known is None else cast("Expr", known)


def free_names(node: Expr) -> frozenset[str]:
    """The names that the expression takes from outside."""
    try:
        return node._names
    except AttributeError:
        object.__setattr__(node, "_names", _free_names(node))
        return node._names


def _free_names(node: Expr) -> frozenset[str]:
    match node:
        case Name(name=name):
            return frozenset((name,))
        case Comprehension(element, variable, source, condition):
            inner = free_names(element) | (free_names(condition) if condition else frozenset())
            return (inner - {variable}) | free_names(source)
        case _:
            return frozenset().union(*(free_names(child) for child in children(node)))


def transform(node: Expr, rewrite: Callable[[Expr], Expr]) -> Expr:
    """Rewrite bottom-up: subexpressions first, then the node over the rewritten parts."""
    parts = children(node)
    new_parts = tuple([transform(part, rewrite) for part in parts])
    return rewrite(rebuild(node, new_parts) if new_parts != parts else node)


def substitute(node: Expr, values: dict[str, Expr]) -> Expr:
    """Replace free names at once; a bound element of a comprehension shadows, never captures."""
    if free_names(node).isdisjoint(values):
        return node
    match node:
        case Name(name=name):
            return values[name]
        case Comprehension():
            return _substitute_inside(node, values)
        case _:
            parts = children(node)
            new_parts = tuple([substitute(part, values) for part in parts])
            return rebuild(node, new_parts) if new_parts != parts else node


def _substitute_inside(node: Comprehension, values: dict[str, Expr]) -> Expr:
    inner = {name: value for name, value in values.items() if name != node.variable}
    used = free_names(node.element)
    if node.condition is not None:
        used |= free_names(node.condition)
    brought = frozenset[str]().union(*(free_names(inner[name]) for name in used & inner.keys()))
    variable = node.variable
    while variable in brought or (variable != node.variable and variable in used):
        variable += "_"
    if variable != node.variable:
        inner[node.variable] = Name(variable)
    return Comprehension(
        substitute(node.element, inner),
        variable,
        substitute(node.source, values),
        None if node.condition is None else substitute(node.condition, inner),
        place=node.place,
    )


def conjunction(*operands: Expr) -> Expr:
    """`and` of all operands: flattened, without the true ones; false of an opposite pair."""
    flat: list[Expr] = []
    for operand in operands:
        inner = (
            operand.operands
            if isinstance(operand, Logical) and operand.junction == "and"
            else (operand,)
        )
        flat.extend(part for part in inner if part != TRUE and part not in flat)
    if FALSE in flat or any(isinstance(part, Not) and part.operand in flat for part in flat):
        return FALSE
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else Logical("and", tuple(flat))


def disjunction(*operands: Expr) -> Expr:
    """`or` of all operands: flattened, without the false ones; true of an opposite pair."""
    flat: list[Expr] = []
    for operand in operands:
        inner = (
            operand.operands
            if isinstance(operand, Logical) and operand.junction == "or"
            else (operand,)
        )
        flat.extend(part for part in inner if part != FALSE and part not in flat)
    if TRUE in flat or any(isinstance(part, Not) and part.operand in flat for part in flat):
        return TRUE
    if not flat:
        return FALSE
    return flat[0] if len(flat) == 1 else Logical("or", tuple(flat))


def negation(operand: Expr) -> Expr:
    """`not operand`, with constants and double negation folded."""
    match operand:
        case Boolean(value=value):
            return Boolean(not value)
        case Not(operand=inner):
            return inner
        case _:
            return Not(operand)
