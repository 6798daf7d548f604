"""Folding: a smaller expression with the same value wherever the given one has a value.

Where the given expression has none (a divisor below one in a part that is dropped, say) the
folded one may have some. Nothing here needs to know what names stand for.
"""

from __future__ import annotations

from dataclasses import replace

from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate
from ullage.expr.lex import MAX_LITERAL
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Binary,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
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
    children,
    conjunction,
    disjunction,
    folded,
    has_ranges,
    negation,
)

_OPPOSITE: dict[ComparisonOperator, ComparisonOperator] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_REFLEXIVE: tuple[ComparisonOperator, ...] = ("==", "<=", ">=")


def fold(expr: Expr) -> Expr:
    """`expr` without constant parts, neutral elements, repetitions and choices already made."""
    return folded(expr, _folded)


def _folded(node: Expr) -> Expr:
    """`node`, whose subexpressions are folded, folded itself."""
    constant = _constant(node)
    if constant is not None:
        return constant
    match node:
        case Binary():
            return _binary(node)
        case Comparison():
            return _comparison(node)
        case Logical(junction=junction, operands=operands):
            join = conjunction if junction == "and" else disjunction
            return _placed(join(*operands), node)
        case Not(operand=Comparison(operator=operator, left=left, right=right)):
            return Comparison(_OPPOSITE[operator], left, right, place=node.place)
        case Not(operand=operand):
            return _placed(negation(operand), node)
        case Conditional():
            return _conditional(node)
        case Call(function="min" | "max"):
            return _extreme(node)
        case Call():
            return _rounded(node)
        case Over():
            return _over(node)
        case Comprehension():
            return _comprehension(node)
        case _:
            return node


def _placed(expr: Expr, origin: Expr) -> Expr:
    """`expr` where it was written, or where `origin` was when the fold made it."""
    if expr == origin:
        return origin
    if any(expr is part for part in (*children(origin), *_grandchildren(origin))):
        return expr
    return replace(expr, place=origin.place)


def _grandchildren(origin: Expr) -> tuple[Expr, ...]:
    return tuple(part for child in children(origin) for part in children(child))


def _is_literal(expr: Expr) -> bool:
    return isinstance(expr, (Integer, Boolean, Enumerant)) or (
        isinstance(expr, ListOf) and all(isinstance(part, Integer) for part in expr.elements)
    )


def _constant(node: Expr) -> Expr | None:
    """The literal that `node` is equal to, if all its parts are literals and it has a value."""
    if not isinstance(node, (Binary, Comparison, Call)) or not all(
        map(_is_literal, children(node))
    ):
        return None
    try:
        value = evaluate(node, {})
    except EvaluationError:
        return None
    if isinstance(value, bool):
        return Boolean(value, place=node.place)
    if isinstance(value, int) and abs(value) <= MAX_LITERAL:
        return Integer(value, place=node.place)
    return None


def _binary(node: Binary) -> Expr:
    left, right = node.left, node.right
    match node.operator, left, right:
        case ("+", Integer(value=0), _) | ("*", Integer(value=1), _):
            return right
        case ("+" | "-", _, Integer(value=0)) | ("*" | "//", _, Integer(value=1)):
            return left
        case ("*", Integer(value=0), _) | ("*", _, Integer(value=0)):
            return Integer(0, place=node.place)
        case ("%", _, Integer(value=1)):
            return Integer(0, place=node.place)
        case ("-", _, _) if left == right:
            return Integer(0, place=node.place)
        case ("+", _, Integer(value=amount)) if amount < 0:
            return Binary("-", left, Integer(-amount, place=right.place), place=node.place)
        case ("-", _, Integer(value=amount)) if amount < 0:
            return Binary("+", left, Integer(-amount, place=right.place), place=node.place)
        case ("-", Integer(value=0), Binary(operator="-", left=Integer(value=0), right=inner)):
            return inner
        case _:
            return node


def _comparison(node: Comparison) -> Expr:
    if node.left == node.right:
        return Boolean(node.operator in _REFLEXIVE, place=node.place)
    for truth, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(truth, Boolean) and node.operator in ("==", "!="):
            keeps = truth.value == (node.operator == "==")
            return other if keeps else _folded(Not(other, place=node.place))
    return node


def _conditional(node: Conditional) -> Expr:
    match node:
        case Conditional(Boolean(value=truth), then, otherwise):
            return then if truth else otherwise
        case Conditional(_, then, otherwise) if then == otherwise:
            return then
        case Conditional(condition, Boolean(value=then), Boolean(value=otherwise)) if (
            then != otherwise
        ):
            return condition if then else _folded(Not(condition, place=node.place))
        case Conditional(Not(operand=condition), then, otherwise):
            return Conditional(condition, otherwise, then, place=node.place)
        case _:
            return node


def _extreme(node: Call) -> Expr:
    """Nested calls of one function flattened, literals merged, repetitions dropped."""
    arguments = _flattened(node)
    if arguments is None:
        return node
    pick = min if node.function == "min" else max
    literals = [part.value for part in arguments if isinstance(part, Integer)]
    kept: list[Expr] = []
    for part in arguments:
        chosen = Integer(pick(literals), place=part.place) if isinstance(part, Integer) else part
        if chosen not in kept:
            kept.append(chosen)
    return kept[0] if len(kept) == 1 else Call(node.function, tuple(kept), place=node.place)


def _flattened(node: Call) -> tuple[Expr, ...] | None:
    """The values compared, or None for those of a list that is not written out."""
    values = node.arguments
    if len(values) == 1:
        (written,) = values
        plain = isinstance(written, ListOf) and not has_ranges(written)
        values = children(written) if plain else ()
    flat: list[Expr] = []
    for value in values:
        nested = isinstance(value, Call) and value.function == node.function
        inner = children(value) if nested else ()
        flat.extend(inner if len(inner) > 1 else (value,))
    return tuple(flat) or None


def _rounded(node: Call) -> Expr:
    match node.function, node.arguments:
        case "align_up" | "cdiv", (value, Integer(value=1)):
            return value
        case "align_up" | "cdiv", (Integer(value=0) as zero, _):
            return replace(zero, place=node.place)
        case "align_up", (Call("align_up", (_, inner)) as value, step) if inner == step:
            return value
        case "next_in", (value, source) if _is_element(value, source):
            return value
        case _:
            return node


def _is_element(value: Expr, source: Expr) -> bool:
    """Whether the value is an element of the list wherever it has a value at all."""
    match value:
        case Call("max", (values,)):
            return values == source
        case Call("next_in", (_, values)):
            return values == source
        case Conditional(_, then, otherwise):
            return _is_element(then, source) and _is_element(otherwise, source)
        case _:
            return False


def _over(node: Over) -> Expr:
    match node:
        case Over("max_ranks", Integer() as value) | Over(_, Integer(value=0) as value):
            return replace(value, place=node.place)
        case _:
            return node


def _comprehension(node: Comprehension) -> Expr:
    if node.condition == FALSE:
        return ListOf((), place=node.place)
    if node.condition == TRUE:
        return _comprehension(replace(node, condition=None))
    if node.condition is None and node.element == Name(node.variable):
        return node.source
    return node
