"""From the text of an expression to its tree.

The text passes `lex.scan` first; then Python's own parser builds a syntax tree, of which the
part listed here is converted and everything else is refused. Nothing is ever evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from ullage.expr import errors, lex
from ullage.expr.errors import ExpressionError, suggestion
from ullage.expr.tree import (
    Aggregate,
    Binary,
    BinaryOperator,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
    Comprehension,
    Conditional,
    Expr,
    Function,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
    Progression,
)
from ullage.place import Place

__all__ = ["At", "ExpressionError", "SourceRef", "parse", "parse_call", "parse_dotted"]

At = Callable[[int, int], Place]

_ARITY: dict[Function, int] = {"align_up": 2, "cdiv": 2, "next_in": 2, "upper": 1}
_EXTREMES: dict[str, Function] = {"min": "min", "max": "max"}
_FIXED: dict[str, Function] = {name: name for name in _ARITY}
_AGGREGATES: dict[str, Aggregate] = {name: name for name in get_args(Aggregate)}
_RANGE = "range"
FUNCTIONS = frozenset((*_EXTREMES, *_FIXED, *_AGGREGATES, _RANGE))
"""The names that are called; none of them can name a value."""

_BINARY: dict[type[ast.operator], BinaryOperator] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARISON: dict[type[ast.cmpop], ComparisonOperator] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_LIST_LIKE = (Name, ListOf, Comprehension, Conditional)

_REFUSED: dict[type[ast.expr], tuple[str, str]] = {
    ast.Tuple: ("there are no tuples", "write a list: '[a, b]'"),
    ast.Subscript: ("there are no subscripts", "use 'min', 'max' or 'next_in' of the list"),
    ast.GeneratorExp: ("there are no generators", "write the list in brackets: '[x for x in xs]'"),
    ast.Starred: ("'*' unpacks a range inside of a list only", "write '[a, *range(b, c, d)]'"),
    ast.UnaryOp: ("a number has no '+' sign", "leave it out"),
}


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A field of the batch, or one dimension of it: `batch.seq_lens`, `batch.input_ids[0]`."""

    path: tuple[str, ...]
    dimension: int | None = None

    def __str__(self) -> str:
        tail = "" if self.dimension is None else f"[{self.dimension}]"
        return ".".join(self.path) + tail


def parse(text: str, at: At) -> Expr:
    """The expression that `text` spells; `at(offset, width)` is the place of a part of it.

    Raises ExpressionError, and nothing else, for a text that is not in the language.
    """
    tokens = lex.scan(text, at)
    return _Converter(tokens, at).convert(_syntax(text, tokens, at), 1)


def parse_call(text: str, at: At) -> tuple[str, dict[str, Expr]]:
    """A name with keyword arguments, `mlp_sync(tokens_per_request=w)`, or a bare name.

    Raises ExpressionError for any other text.
    """
    tokens = lex.scan(text, at, keywords=True)
    node = _syntax(text, tokens, at)
    converter = _Converter(tokens, at)
    match node:
        case ast.Name():
            return converter.identifier(node, node.id), {}
        case ast.Call(func=ast.Name() as function, args=[], keywords=keywords):
            return converter.identifier(function, function.id), converter.keywords(keywords)
        case ast.Call(func=ast.Name(), args=[first, *_]):
            message, hint = "an argument needs its name", "write 'name=value'"
            raise ExpressionError(errors.NOT_AN_EXPRESSION, message, converter.place(first), hint)
        case _:
            message, hint = "expected a name, or a call", "write 'name' or 'name(argument=value)'"
            raise ExpressionError(errors.NOT_AN_EXPRESSION, message, converter.place(node), hint)


def parse_dotted(text: str, at: At) -> SourceRef:
    """A field path with an optional dimension. Raises ExpressionError for any other text."""
    stripped = text.strip(lex.BLANKS)
    if not stripped or len(text) > lex.MAX_LENGTH:
        message, hint = "expected a field of the batch", "write it as 'batch.seq_lens'"
        raise ExpressionError(errors.NOT_AN_EXPRESSION, message, at(0, 1), hint)
    offset = text.index(stripped)
    names, bracket, rest = stripped.partition("[")
    path: list[str] = []
    for name in names.split("."):
        lex.check_identifier(name, at(offset, max(1, len(name))))
        path.append(name)
        offset += len(name) + 1
    dimension = _dimension(rest, at(offset - 1, len(rest) + 1)) if bracket else None
    return SourceRef(tuple(path), dimension)


def _dimension(text: str, place: Place) -> int:
    digits = text.removesuffix("]")
    plain = digits.isascii() and digits.isdigit() and str(int(digits[:4])) == digits
    if not plain or digits == text:
        message = "a dimension is one small number in brackets"
        raise ExpressionError(errors.NOT_AN_EXPRESSION, message, place, "write it as '[0]'")
    return int(digits)


def _syntax(text: str, tokens: tuple[lex.Token, ...], at: At) -> ast.expr:
    """Python's syntax tree; offsets in it are one more than in `text`, for the bracket before."""
    masked = [" "] * len(text)
    for token in tokens:
        shown = "1" * token.width if token.kind == "number" else token.text
        masked[token.offset : token.offset + token.width] = shown
    try:
        return ast.parse(f"({''.join(masked)})", mode="eval").body
    except SyntaxError as error:
        raise _translated(error, tokens, at) from None
    except (MemoryError, RecursionError):
        raise lex.too_deep(at(tokens[0].offset, tokens[0].width)) from None


def _translated(error: SyntaxError, tokens: tuple[lex.Token, ...], at: At) -> ExpressionError:
    explained = lex.explain(tokens, at)
    if explained is not None:
        return explained
    token = _first_from((error.offset or 1) - 2, tokens)
    place = at(token.offset, token.width)
    if "else" in error.msg:
        hint = "write 'a if condition else b'"
        return ExpressionError(errors.NOT_AN_EXPRESSION, "an 'if' without 'else'", place, hint)
    return ExpressionError(errors.NOT_AN_EXPRESSION, f"unexpected '{token.text}'", place)


def _first_from(offset: int, tokens: tuple[lex.Token, ...]) -> lex.Token:
    """The token that a refusal at `offset` is about; a misplaced `=` comes before everything."""
    reached = (token for token in tokens if token.offset + token.width > offset)
    assignment = (token for token in tokens if token.text == "=")
    return next(assignment, next(reached, tokens[-1]))


class _Converter:
    """Converts one syntax tree, given the tokens that it was made of."""

    def __init__(self, tokens: tuple[lex.Token, ...], at: At) -> None:
        self._at = at
        self._literals = {token.offset: token.value for token in tokens if token.kind == "number"}

    def place(self, node: ast.expr | ast.keyword) -> Place:
        """Where `node` is written; a tuple without brackets takes ours, so it is cut to fit."""
        start = max(0, node.col_offset - 1)
        end = (node.end_col_offset or start + 2) - 1
        return self._at(start, max(1, end - start))

    def identifier(self, node: ast.expr | ast.keyword, text: str) -> str:
        """A name that is free to name something."""
        if text in FUNCTIONS or text in ("true", "false"):
            message = f"'{text}' is taken by the language"
            raise ExpressionError(errors.NOT_A_NAME, message, self.place(node))
        return text

    def keywords(self, keywords: list[ast.keyword]) -> dict[str, Expr]:
        values: dict[str, Expr] = {}
        for word in keywords:
            name = self.identifier(word, word.arg or "")
            if name in values:
                message = f"'{name}' is given twice"
                raise ExpressionError(errors.NOT_AN_EXPRESSION, message, self.place(word))
            values[name] = self.convert(word.value, 1)
        return values

    def convert(self, node: ast.expr, depth: int) -> Expr:
        """The tree of `node`, whose root is `depth` nodes below the whole."""
        if depth > lex.MAX_DEPTH:
            raise lex.too_deep(self.place(node))
        place = self.place(node)
        match node:
            case ast.Constant():
                return Integer(self._literals[node.col_offset - 1], place=place)
            case ast.Name():
                return self._name(node, place)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(operand, depth, place)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.convert(operand, depth + 1), place=place)
            case ast.BinOp(left=left, op=operator, right=right):
                sides = self.convert(left, depth + 1), self.convert(right, depth + 1)
                return Binary(_BINARY[type(operator)], *sides, place=place)
            case ast.BoolOp(op=junction, values=values):
                operands = tuple(self.convert(value, depth + 1) for value in values)
                both = isinstance(junction, ast.And)
                return Logical("and" if both else "or", operands, place=place)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = (self.convert(part, depth + 1) for part in (test, body, orelse))
                return Conditional(*parts, place=place)
            case ast.Compare():
                return self._compare(node, depth, place)
            case ast.Call():
                return self._call(node, depth, place)
            case ast.List(elts=elements):
                return ListOf(tuple(self._item(item, depth) for item in elements), place=place)
            case ast.ListComp():
                return self._comprehension(node, depth, place)
            case _:
                message, hint = _REFUSED.get(type(node), ("this has no meaning here", None))
                raise ExpressionError(errors.NOT_IN_THE_LANGUAGE, message, place, hint)

    def _all(self, nodes: list[ast.expr], depth: int) -> tuple[Expr, ...]:
        return tuple(self.convert(node, depth + 1) for node in nodes)

    def _item(self, node: ast.expr, depth: int) -> Expr:
        """One item of a written list, or a range of them."""
        match node:
            case ast.Starred(value=ast.Call() as inner) if self._function(inner) == _RANGE:
                return self._progression(inner, depth + 1)
            case _:
                return self.convert(node, depth + 1)

    def _progression(self, node: ast.Call, depth: int) -> Progression:
        place = self.place(node)
        arguments = self._arguments(node, _RANGE, depth)
        if len(arguments) != 3:
            message, hint = "'range' takes three arguments", "write 'range(first, end, step)'"
            raise ExpressionError(errors.WRONG_ARGUMENTS, message, place, hint)
        return Progression(*arguments, place=place)

    def _name(self, node: ast.Name, place: Place) -> Expr:
        if node.id in ("true", "false"):
            return Boolean(node.id == "true", place=place)
        if node.id in FUNCTIONS:
            message = f"'{node.id}' is a function"
            hint = f"call it: '{node.id}(…)'"
            raise ExpressionError(errors.NOT_A_NAME, message, place, hint)
        return Name(node.id, place=place)

    def _negative(self, operand: ast.expr, depth: int, place: Place) -> Expr:
        """A literal takes the sign; anything else is subtracted from zero."""
        value = self.convert(operand, depth + 1)
        if isinstance(value, Integer):
            return Integer(-value.value, place=place)
        return Binary("-", Integer(0, place=place), value, place=place)

    def _compare(self, node: ast.Compare, depth: int, place: Place) -> Expr:
        if len(node.ops) == 1:
            return self._comparison(node.left, node.ops[0], node.comparators[0], depth, place)
        sides = [node.left, *node.comparators]
        links = zip(sides, node.ops, node.comparators, strict=False)
        parts = (self._comparison(a, operator, b, depth + 1, place) for a, operator, b in links)
        return Logical("and", tuple(parts), place=place)

    def _comparison(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr, depth: int, place: Place
    ) -> Expr:
        if isinstance(operator, (ast.In, ast.NotIn)):
            return self._membership(left, operator, right, depth, place)
        sides = self.convert(left, depth + 1), self.convert(right, depth + 1)
        return Comparison(_COMPARISON[type(operator)], *sides, place=place)

    def _membership(
        self,
        left: ast.expr,
        operator: ast.In | ast.NotIn,
        right: ast.expr,
        depth: int,
        place: Place,
    ) -> Expr:
        """`x in [a, b]` is `x == a or x == b`; `not in` is its negation, `!=` joined by `and`."""
        if not isinstance(right, (ast.List, ast.Tuple)) or not right.elts:
            message, hint = "'in' needs a list that is written out", "write 'x in [a, b]'"
            raise ExpressionError(errors.NOT_AN_EXPRESSION, message, self.place(right), hint)
        value = self.convert(left, depth + 2)
        inside = isinstance(operator, ast.In)
        parts = tuple(
            Comparison("==" if inside else "!=", value, element, place=place)
            for element in self._all(right.elts, depth + 1)
        )
        if len(parts) == 1:
            return parts[0]
        return Logical("or" if inside else "and", parts, place=place)

    def _call(self, node: ast.Call, depth: int, place: Place) -> Expr:
        function = self._function(node)
        if function == _RANGE:
            return ListOf((self._progression(node, depth + 1),), place=place)
        arguments = self._arguments(node, function, depth)
        self._check_arguments(function, arguments, place)
        if function in _AGGREGATES:
            return Over(_AGGREGATES[function], arguments[0], place=place)
        return Call({**_EXTREMES, **_FIXED}[function], arguments, place=place)

    def _arguments(self, node: ast.Call, function: str, depth: int) -> tuple[Expr, ...]:
        if node.keywords:
            message = f"'{function}' takes no keyword arguments"
            raise ExpressionError(errors.NOT_IN_THE_LANGUAGE, message, self.place(node.keywords[0]))
        return self._all(node.args, depth)

    def _function(self, node: ast.Call) -> str:
        place = self.place(node.func)
        if not isinstance(node.func, ast.Name):
            raise ExpressionError(
                errors.NOT_IN_THE_LANGUAGE, "only a function can be called", place
            )
        name = node.func.id
        if name not in FUNCTIONS:
            hint = suggestion(name, FUNCTIONS) or "functions: " + ", ".join(sorted(FUNCTIONS))
            raise ExpressionError(
                errors.UNKNOWN_FUNCTION, f"there is no function '{name}'", place, hint
            )
        return name

    def _check_arguments(self, function: str, arguments: tuple[Expr, ...], place: Place) -> None:
        count = len(arguments)
        if function in _EXTREMES:
            wanted = "two or more arguments, or one list"
            right = count > 1 or (count == 1 and isinstance(arguments[0], _LIST_LIKE))
        else:
            expected = _ARITY[_FIXED[function]] if function in _FIXED else 1
            wanted = "one argument" if expected == 1 else f"{expected} arguments"
            right = count == expected
        if not right:
            raise ExpressionError(errors.WRONG_ARGUMENTS, f"'{function}' takes {wanted}", place)
        if function == "upper" and not isinstance(arguments[0], Name):
            message, hint = "'upper' takes the name of a varying parameter", "write 'upper(name)'"
            raise ExpressionError(errors.WRONG_ARGUMENTS, message, arguments[0].place, hint)

    def _comprehension(self, node: ast.ListComp, depth: int, place: Place) -> Expr:
        if len(node.generators) > 1:
            second = self.place(node.generators[1].target)
            message = "a list is made from one other list only"
            raise ExpressionError(errors.NOT_IN_THE_LANGUAGE, message, second)
        (generator,) = node.generators
        if not isinstance(generator.target, ast.Name):
            message, hint = "'for' binds one name", "write '[x for x in xs]'"
            raise ExpressionError(
                errors.NOT_IN_THE_LANGUAGE, message, self.place(generator.target), hint
            )
        variable = self.identifier(generator.target, generator.target.id)
        source = self.convert(generator.iter, depth + 1)
        element = self.convert(node.elt, depth + 1)
        filters = self._all(generator.ifs, depth + 1)
        condition: Expr | None = filters[0] if filters else None
        if len(filters) > 1:
            condition = Logical("and", filters, place=filters[0].place)
        return Comprehension(element, variable, source, condition, place=place)
