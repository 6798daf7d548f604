"""The value of an expression: the meaning that every other use of the tree must agree with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Literal, TypeVar, cast

from ullage.expr.environment import Environment, EvaluationError, Result, Value
from ullage.expr.tree import (
    REMEMBERED,
    TRUE,
    Aggregate,
    Binary,
    BinaryOperator,
    Boolean,
    Call,
    Comparison,
    ComparisonOperator,
    Comprehension,
    Conditional,
    Enumerant,
    Expr,
    Function,
    Integer,
    Junction,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
    Progression,
    has_ranges,
)

Answer = TypeVar("Answer")
Evaluator = Callable[[Environment], Answer]

_COMPARE: dict[ComparisonOperator, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expr: Expr, environment: Environment | Mapping[str, Value]) -> Result:
    """The value of `expr`; a plain mapping serves where there are no aggregates.

    Integers are exact, `and`, `or` and choices evaluate only what they need, an enumerant is its
    code. Raises EvaluationError where there is no value.
    """
    if isinstance(environment, Environment):
        return evaluator(expr)(environment)
    return evaluator(expr)(Environment(environment))


def evaluate_integer(expr: Expr, environment: Environment | Mapping[str, Value]) -> int:
    """`evaluate` for an expression of integer kind; raises EvaluationError for any other."""
    return _checked_integer(evaluate(expr, environment))


def evaluate_boolean(expr: Expr, environment: Environment | Mapping[str, Value]) -> bool:
    """`evaluate` for an expression of boolean kind; raises EvaluationError for any other."""
    return _checked_boolean(evaluate(expr, environment))


def holding(condition: Expr, default: bool) -> Callable[[Environment], bool]:
    """Whether the condition holds, or `default` where it has no value."""
    truth = evaluator(condition)

    def holds(environment: Environment) -> bool:
        try:
            return bool(truth(environment))
        except EvaluationError:
            return default

    return holds


@lru_cache(maxsize=REMEMBERED)
def evaluator(expr: Expr) -> Evaluator[Result]:
    """`evaluate` of one expression as a function: its shape is looked at only once."""
    match expr:
        case Integer(value=value) | Boolean(value=value):
            return lambda environment: value
        case Enumerant(code=code):
            return lambda environment: code
        case Name(name=name):
            return _named(name, _INTEGER | _BOOLEAN, _any)
        case Binary(operator=symbol, left=left, right=right):
            return _arithmetic(symbol, _integer(left), _integer(right))
        case Comparison(operator=symbol, left=left, right=right):
            return _comparison(_COMPARE[symbol], left, right)
        case Logical(junction=junction, operands=operands):
            return _logical(junction, [_boolean(operand) for operand in operands])
        case Not(operand=operand):
            truth = _boolean(operand)
            return lambda environment: not truth(environment)
        case Conditional(condition, then, otherwise):
            arms = evaluator(then), evaluator(otherwise)
            return _remembered(_choice(_boolean(condition), *arms))
        case Call():
            return _remembered(_call(expr))
        case Over(aggregate=aggregate, operand=operand):
            return _over(aggregate, _integer(operand))
        case Progression():
            return _progression(expr)
        case ListOf():
            return _written(expr)
        case Comprehension():
            return _comprehension(expr)


def _result(value: Value) -> Result:
    return value if isinstance(value, int) else list(value)


def _any(value: Result) -> Result:
    return value


def _remembered(value: Evaluator[Result]) -> Evaluator[Result]:
    """The same function, which looks in what the environment knows first."""
    key = object()

    def remembered(environment: Environment) -> Result:
        known = environment.known
        if known is None:
            return value(environment)
        if key not in known:
            known[key] = value(environment)
        return known[key]

    return remembered


def _named(
    name: str, kinds: frozenset[type], checked: Callable[[Result], Answer]
) -> Evaluator[Answer]:
    """The value of a name, at once where it is of one of some kinds: most of what is evaluated."""

    def named(environment: Environment) -> Answer:
        try:
            found = environment.values[name]
        except KeyError:
            raise EvaluationError(f"no value for {name}") from None
        if type(found) in kinds:
            return found  # type: ignore[return-value]  # of the kind; `cast` is a call
        return checked(_result(found))

    return named


_INTEGER = frozenset({int})
_BOOLEAN = frozenset({bool})


def _integer(expr: Expr) -> Evaluator[int]:
    if isinstance(expr, Name):
        return _named(expr.name, _INTEGER, _checked_integer)
    value = evaluator(expr)
    if isinstance(expr, Integer | Enumerant | Binary | Call | Over):
        return cast("Evaluator[int]", value)  # nothing else can come out

    def integer(environment: Environment) -> int:
        found = value(environment)
        return found if type(found) is int else _checked_integer(found)

    return integer


def _checked_integer(value: Result) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise EvaluationError(f"expected an integer, found {value!r}")
    return value


def _boolean(expr: Expr) -> Evaluator[bool]:
    if isinstance(expr, Name):
        return _named(expr.name, _BOOLEAN, _checked_boolean)
    value = evaluator(expr)
    if isinstance(expr, Boolean | Comparison | Logical | Not):
        return cast("Evaluator[bool]", value)  # nothing else can come out
    return lambda environment: _checked_boolean(value(environment))


def _checked_boolean(value: Result) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(f"expected a boolean, found {value!r}")
    return value


def _scalar(expr: Expr) -> Evaluator[int]:
    if isinstance(expr, Name):
        return _named(expr.name, _INTEGER | _BOOLEAN, _checked_scalar)
    value = evaluator(expr)
    if not isinstance(expr, Conditional | ListOf | Comprehension):
        return cast("Evaluator[int]", value)  # nothing else can come out
    return lambda environment: _checked_scalar(value(environment))


def _checked_scalar(value: Result) -> int:
    if isinstance(value, list):
        raise EvaluationError(f"expected an integer or a boolean, found {value!r}")
    return value


def _list(expr: Expr) -> Evaluator[list[int]]:
    value = evaluator(expr)

    def elements(environment: Environment) -> list[int]:
        result = value(environment)
        if not isinstance(result, list):
            raise EvaluationError(f"expected a list, found {result!r}")
        return result

    return elements


def _divisor(value: int) -> int:
    if value < 1:
        raise EvaluationError(f"a divisor of {value}")
    return value


def _arithmetic(
    symbol: BinaryOperator, left: Evaluator[int], right: Evaluator[int]
) -> Evaluator[int]:
    match symbol:
        case "+":
            return lambda environment: left(environment) + right(environment)
        case "-":
            return lambda environment: left(environment) - right(environment)
        case "*":
            return lambda environment: left(environment) * right(environment)
        case "//":
            return lambda environment: left(environment) // _divisor(right(environment))
        case "%":
            return lambda environment: left(environment) % _divisor(right(environment))


def _comparison(compare: Callable[[int, int], bool], left: Expr, right: Expr) -> Evaluator[bool]:
    first, second = _scalar(left), _scalar(right)
    match right:
        case Integer(value=constant) | Enumerant(code=constant):
            return lambda environment: compare(first(environment), constant)
        case _:
            return lambda environment: compare(first(environment), second(environment))


def _logical(junction: Junction, operands: Sequence[Evaluator[bool]]) -> Evaluator[bool]:
    decisive = junction == "or"

    def joined(environment: Environment) -> bool:
        for operand in operands:
            if operand(environment) is decisive:
                return decisive
        return not decisive

    return joined


def _choice(
    condition: Evaluator[bool], then: Evaluator[Result], otherwise: Evaluator[Result]
) -> Evaluator[Result]:
    return lambda environment: (then if condition(environment) else otherwise)(environment)


def _call(expr: Call) -> Evaluator[int]:
    function, arguments = expr.function, expr.arguments
    match function:
        case "min" | "max":
            return _extreme(function, arguments)
        case "upper":
            return partial(_upper, arguments[0])
        case "next_in":
            return _next_in(_integer(arguments[0]), _list(arguments[1]))
        case "align_up" | "cdiv":
            return _rounded(function, _integer(arguments[0]), _integer(arguments[1]))


def _rounded(function: Function, value: Evaluator[int], divisor: Evaluator[int]) -> Evaluator[int]:
    if function == "cdiv":
        return lambda environment: -(-value(environment) // _divisor(divisor(environment)))

    def aligned(environment: Environment) -> int:
        operand, alignment = value(environment), _divisor(divisor(environment))
        return -(-operand // alignment) * alignment

    return aligned


def _extreme(function: Literal["min", "max"], arguments: tuple[Expr, ...]) -> Evaluator[int]:
    choose = min if function == "min" else max
    if len(arguments) > 1:
        operands = [_integer(argument) for argument in arguments]
        return lambda environment: choose([operand(environment) for operand in operands])
    elements = _list(arguments[0])

    def extreme(environment: Environment) -> int:
        values = elements(environment)
        if not values:
            raise EvaluationError(f"{function} of an empty list")
        return choose(values)

    return extreme


def _next_in(operand: Evaluator[int], source: Evaluator[list[int]]) -> Evaluator[int]:
    def bucket(environment: Environment) -> int:
        value, buckets = operand(environment), source(environment)
        fitting = [bucket for bucket in buckets if bucket >= value]
        if not fitting:
            raise EvaluationError(f"no element of {buckets} is at least {value}")
        return min(fitting)

    return bucket


def _upper(argument: Expr, environment: Environment) -> int:
    if not isinstance(argument, Name) or argument.name not in environment.upper:
        raise EvaluationError("no largest value for the argument of upper")
    return environment.upper[argument.name]


def _over(aggregate: Aggregate, operand: Evaluator[int]) -> Evaluator[int]:
    if aggregate == "sum_requests":
        return lambda environment: sum(operand(each) for each in environment.each_request())
    combine = sum if aggregate == "sum_ranks" else max
    return lambda environment: combine([operand(rank) for rank in environment.each_rank()])


def _written(expr: ListOf) -> Evaluator[list[int]]:
    if not has_ranges(expr):
        items = [_integer(element) for element in expr.elements]
        return lambda environment: [item(environment) for item in items]
    parts = [_part(element) for element in expr.elements]
    return lambda environment: [each for part in parts for each in part(environment)]


def _part(element: Expr) -> Evaluator[Sequence[int]]:
    """What one item of a written list adds to it."""
    if isinstance(element, Progression):
        return _progression(element)
    item = _integer(element)
    return lambda environment: (item(environment),)


def _progression(expr: Progression) -> Evaluator[list[int]]:
    first, end, step = _integer(expr.first), _integer(expr.end), _integer(expr.step)

    def elements(environment: Environment) -> list[int]:
        return list(range(first(environment), end(environment), _divisor(step(environment))))

    return elements


def _comprehension(expr: Comprehension) -> Evaluator[list[int]]:
    source, element = _list(expr.source), _integer(expr.element)
    condition = _boolean(TRUE if expr.condition is None else expr.condition)

    def elements(environment: Environment) -> list[int]:
        values = dict(environment.values)
        inner = environment.over(values)  # sees one element after another
        found: list[int] = []
        for values[expr.variable] in source(environment):
            if condition(inner):
                found.append(element(inner))
        return found

    return elements
