"""The value of an expression: the meaning that every other use of the tree must agree with."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    Enumerant,
    Expr,
    Function,
    Integer,
    ListOf,
    Logical,
    Name,
    Not,
    Over,
)

Value = int | bool | Sequence[int]
Result = int | bool | list[int]


class EvaluationError(ValueError):
    """An expression without a value: a divisor below one, an absent name, no large enough element.

    Also raised for a value of the wrong kind, which `infer` would have refused.
    """


@dataclass(frozen=True, slots=True)
class Environment:
    """What names stand for on one rank.

    `values`: integers, booleans, lists, and enums by code. `requests`: for each per-request
    variable, its value for every request, all of one length. `peers`: the environments of the
    other ranks of the group. `upper`: the largest value of each varying parameter.
    """

    values: Mapping[str, Value]
    requests: Mapping[str, Sequence[int]] = field(default_factory=dict)
    peers: tuple[Environment, ...] = ()
    upper: Mapping[str, int] = field(default_factory=dict)

    def binding(self, values: Mapping[str, Value]) -> Environment:
        """The same environment where some names have other values."""
        return replace(self, values={**self.values, **values})

    def each_request(self) -> list[Environment]:
        """One environment for each request, where per-request names are that request's values."""
        lengths = {len(values) for values in self.requests.values()}
        if len(lengths) != 1:
            raise EvaluationError("per-request values are missing or differ in length")
        (count,) = lengths
        return [
            self.binding({name: values[index] for name, values in self.requests.items()})
            for index in range(count)
        ]

    def each_rank(self) -> list[Environment]:
        """One environment for each rank of the group, this one first."""
        group = (self, *self.peers)
        return [
            replace(member, peers=group[:index] + group[index + 1 :])
            for index, member in enumerate(group)
        ]


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
        return _value(expr, environment)
    return _value(expr, Environment(environment))


def evaluate_integer(expr: Expr, environment: Environment | Mapping[str, Value]) -> int:
    """`evaluate` for an expression of integer kind; raises EvaluationError for any other."""
    return _checked_integer(evaluate(expr, environment))


def evaluate_boolean(expr: Expr, environment: Environment | Mapping[str, Value]) -> bool:
    """`evaluate` for an expression of boolean kind; raises EvaluationError for any other."""
    return _checked_boolean(evaluate(expr, environment))


def _value(expr: Expr, environment: Environment) -> Result:
    match expr:
        case Integer(value=value) | Boolean(value=value):
            return value
        case Name(name=name):
            return _looked_up(name, environment)
        case Binary(operator=symbol, left=left, right=right):
            return _arithmetic(symbol, _integer(left, environment), _integer(right, environment))
        case Comparison(operator=symbol, left=left, right=right):
            return _COMPARE[symbol](_scalar(left, environment), _scalar(right, environment))
        case Logical(junction="and", operands=operands):
            return all(_boolean(operand, environment) for operand in operands)
        case Logical(operands=operands):
            return any(_boolean(operand, environment) for operand in operands)
        case Not(operand=operand):
            return not _boolean(operand, environment)
        case Conditional(condition, then, otherwise):
            return _value(then if _boolean(condition, environment) else otherwise, environment)
        case Enumerant(code=code):
            return code
        case Call():
            return _call(expr, environment)
        case Over(aggregate=aggregate, operand=operand):
            return _over(aggregate, operand, environment)
        case ListOf(elements=elements):
            return [_integer(element, environment) for element in elements]
        case Comprehension():
            return _comprehension(expr, environment)


def _looked_up(name: str, environment: Environment) -> Result:
    value = environment.values.get(name)
    if value is None:
        raise EvaluationError(f"no value for {name}")
    return value if isinstance(value, int) else list(value)


def _integer(expr: Expr, environment: Environment) -> int:
    return _checked_integer(_value(expr, environment))


def _checked_integer(value: Result) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise EvaluationError(f"expected an integer, found {value!r}")
    return value


def _boolean(expr: Expr, environment: Environment) -> bool:
    return _checked_boolean(_value(expr, environment))


def _checked_boolean(value: Result) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(f"expected a boolean, found {value!r}")
    return value


def _scalar(expr: Expr, environment: Environment) -> int:
    value = _value(expr, environment)
    if isinstance(value, list):
        raise EvaluationError(f"expected an integer or a boolean, found {value!r}")
    return value


def _list(expr: Expr, environment: Environment) -> list[int]:
    value = _value(expr, environment)
    if not isinstance(value, list):
        raise EvaluationError(f"expected a list, found {value!r}")
    return value


def _divisor(value: int) -> int:
    if value < 1:
        raise EvaluationError(f"a divisor of {value}")
    return value


def _arithmetic(symbol: BinaryOperator, left: int, right: int) -> int:
    match symbol:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//":
            return left // _divisor(right)
        case "%":
            return left % _divisor(right)


def _call(expr: Call, environment: Environment) -> int:
    if expr.function in ("min", "max"):
        return _extreme(expr, environment)
    if expr.function == "upper":
        return _upper(expr.arguments[0], environment)
    left = _integer(expr.arguments[0], environment)
    if expr.function == "next_in":
        return _next_in(left, _list(expr.arguments[1], environment))
    return _rounded(expr.function, left, _integer(expr.arguments[1], environment))


def _rounded(function: Function, value: int, divisor: int) -> int:
    quotient = -(-value // _divisor(divisor))
    return quotient * divisor if function == "align_up" else quotient


def _extreme(expr: Call, environment: Environment) -> int:
    arguments = expr.arguments
    if len(arguments) == 1:
        values = _list(arguments[0], environment)
    else:
        values = [_integer(argument, environment) for argument in arguments]
    if not values:
        raise EvaluationError(f"{expr.function} of an empty list")
    return min(values) if expr.function == "min" else max(values)


def _next_in(value: int, buckets: list[int]) -> int:
    fitting = [bucket for bucket in buckets if bucket >= value]
    if not fitting:
        raise EvaluationError(f"no element of {buckets} is at least {value}")
    return min(fitting)


def _upper(argument: Expr, environment: Environment) -> int:
    if not isinstance(argument, Name) or argument.name not in environment.upper:
        raise EvaluationError("no largest value for the argument of upper")
    return environment.upper[argument.name]


def _over(aggregate: Aggregate, operand: Expr, environment: Environment) -> int:
    if aggregate == "sum_requests":
        return sum(_integer(operand, request) for request in environment.each_request())
    values = [_integer(operand, rank) for rank in environment.each_rank()]
    return sum(values) if aggregate == "sum_ranks" else max(values)


def _comprehension(expr: Comprehension, environment: Environment) -> list[int]:
    elements: list[int] = []
    for value in _list(expr.source, environment):
        inner = environment.binding({expr.variable: value})
        if expr.condition is None or _boolean(expr.condition, inner):
            elements.append(_integer(expr.element, inner))
    return elements
