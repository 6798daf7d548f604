"""Kinds: what an expression may be added to, compared with and divided by.

A literal takes the unit that it meets in a sum, a comparison or a choice, and counts as
dimensionless in a product or a quotient. Within a sum over requests, what is per request meets
what one request has. A bare name beside `==` or `!=` of an enum is a value of that enum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ullage.expr import errors
from ullage.expr.errors import ExpressionError, suggestion
from ullage.expr.tree import (
    Binary,
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
    children,
    rebuild,
)
from ullage.expr.units import NO_UNIT, Unit
from ullage.place import Place

__all__ = [
    "BOOLEAN",
    "LITERAL",
    "NO_UNIT",
    "BoolKind",
    "EnumKind",
    "ExpressionError",
    "IntKind",
    "Kind",
    "ListKind",
    "Unit",
    "enumerant",
    "infer",
    "resolve",
]


@dataclass(frozen=True, slots=True)
class IntKind:
    """An integer; the unit None is that of a literal, which takes the unit it meets."""

    unit: Unit | None = None

    def __str__(self) -> str:
        return f"an integer in {_named(self.unit)}"


@dataclass(frozen=True, slots=True)
class BoolKind:
    """True or false."""

    def __str__(self) -> str:
        return "a boolean"


@dataclass(frozen=True, slots=True)
class EnumKind:
    """One of the declared values of the enum `name`; a value's code is its position."""

    name: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"a value of '{self.name}'"


@dataclass(frozen=True, slots=True)
class ListKind:
    """A list of integers of one unit."""

    unit: Unit | None = None

    def __str__(self) -> str:
        return f"a list in {_named(self.unit)}"


Kind = IntKind | BoolKind | EnumKind | ListKind

LITERAL = IntKind(None)
BOOLEAN = BoolKind()


def _named(unit: Unit | None) -> str:
    if unit is None:
        return "any unit"
    return "no unit" if unit.dimensionless else str(unit)


@dataclass(frozen=True, slots=True)
class _Names:
    """The kinds of names; `of_request`: amounts are of one request, so `u/requests` meets `u`."""

    kinds: Mapping[str, Kind]
    of_request: bool = False

    def with_element(self, variable: str, unit: Unit | None) -> _Names:
        """The same with the elements that are drawn from a list."""
        return replace(self, kinds={**self.kinds, variable: IntKind(unit)})

    def meet(self, left: Unit | None, right: Unit | None, place: Place) -> Unit | None:
        """The one unit of both, where a literal adapts; the mismatch is reported at `place`."""
        if left is None or right is None:
            return right if left is None else left
        if left == right:
            return left
        if self.of_request and left.summed() == right.summed():
            return left.summed()
        message = f"{_named(left)} meets {_named(right)}"
        hint = "multiply or divide by an amount that converts one into the other"
        raise ExpressionError(errors.UNITS_DIFFER, message, place, hint)


def infer(expr: Expr, kinds: Mapping[str, Kind], *, of_request: bool = False) -> Kind:
    """The kind of a resolved expression, given those of its names.

    `+ - min max`, comparisons, the arms of a choice and `next_in` need one unit; `*`, `//` and
    `cdiv` multiply and divide units; `%` and `align_up` keep the left one, and take a right side
    in it or without unit. Aggregates over ranks and `upper` keep the unit of their operand.

    What `sum_requests` sums is an amount `of_request`: `tokens` are tokens of one request there, as
    `tokens/requests` are, so the two meet, and the sum is in tokens. Raises ExpressionError at the
    offending part.
    """
    return _infer(expr, _Names(kinds, of_request))


def _infer(expr: Expr, names: _Names) -> Kind:
    match expr:
        case Integer():
            return LITERAL
        case Boolean():
            return BOOLEAN
        case Enumerant(enum=enum):
            return EnumKind(enum, ())
        case Name():
            return _of_name(expr, names)
        case Binary():
            return _binary(expr, names)
        case Comparison():
            return _comparison(expr, names)
        case Logical(operands=operands):
            for operand in operands:
                _boolean(operand, names)
            return BOOLEAN
        case Not(operand=operand):
            return _boolean(operand, names)
        case Conditional(condition, then, otherwise):
            _boolean(condition, names)
            return _joined(_infer(then, names), _infer(otherwise, names), otherwise.place, names)
        case Call():
            return _call(expr, names)
        case Over(aggregate="sum_requests", operand=operand):
            unit = _integer(operand, replace(names, of_request=True)).unit
            return IntKind(None if unit is None else unit.summed())
        case Over(operand=operand):
            return _integer(operand, names)
        case Progression(first, end, step):
            return _stepped(_common((first, end), names).unit, step, names)
        case ListOf(elements=elements):
            return ListKind(_common(elements, names).unit)
        case Comprehension():
            return _comprehension(expr, names)


def _of_name(name: Name, names: _Names) -> Kind:
    kind = names.kinds.get(name.name)
    if kind is None:
        hint = suggestion(name.name, names.kinds)
        message = f"there is no '{name.name}' here"
        raise ExpressionError(errors.UNKNOWN_NAME, message, name.place, hint)
    return kind


def _expected(wanted: str, kind: Kind, place: Place) -> ExpressionError:
    return ExpressionError(errors.WRONG_KIND, f"expected {wanted}, found {kind}", place)


def _integer(expr: Expr, names: _Names) -> IntKind:
    kind = _infer(expr, names)
    if not isinstance(kind, IntKind):
        raise _expected("an integer", kind, expr.place)
    return kind


def _boolean(expr: Expr, names: _Names) -> BoolKind:
    kind = _infer(expr, names)
    if not isinstance(kind, BoolKind):
        raise _expected("a boolean", kind, expr.place)
    return kind


def _list(expr: Expr, names: _Names) -> ListKind:
    kind = _infer(expr, names)
    if not isinstance(kind, ListKind):
        raise _expected("a list", kind, expr.place)
    return kind


def _joined(left: Kind, right: Kind, place: Place, names: _Names) -> Kind:
    """The one kind of two values that stand for each other."""
    match left, right:
        case (IntKind(unit=one), IntKind(unit=other)):
            return IntKind(names.meet(one, other, place))
        case (ListKind(unit=one), ListKind(unit=other)):
            return ListKind(names.meet(one, other, place))
        case (EnumKind(name=one_name), EnumKind(name=other_name)) if one_name == other_name:
            return left if left.values else right
        case (BoolKind(), BoolKind()):
            return left
        case _:
            raise _expected(str(left), right, place)


def _common(parts: tuple[Expr, ...], names: _Names) -> IntKind:
    """The one integer kind of all parts."""
    unit: Unit | None = None
    for part in parts:
        unit = names.meet(unit, _integer(part, names).unit, part.place)
    return IntKind(unit)


def _binary(expr: Binary, names: _Names) -> IntKind:
    if expr.operator in ("+", "-"):
        left, right = _integer(expr.left, names).unit, _integer(expr.right, names).unit
        return IntKind(names.meet(left, right, expr.place))
    if expr.operator == "%":
        return _aligned(expr.left, expr.right, names)
    return _scaled(expr.left, expr.right, 1 if expr.operator == "*" else -1, names)


def _scaled(left: Expr, right: Expr, power: int, names: _Names) -> IntKind:
    """A product or quotient; one of literals only stays a literal."""
    one, other = _integer(left, names).unit, _integer(right, names).unit
    if one is None and other is None:
        return LITERAL
    return IntKind((one or NO_UNIT).times(other or NO_UNIT, power))


def _aligned(value: Expr, step: Expr, names: _Names) -> IntKind:
    """The unit of `value`; `step` is in it too, or without unit."""
    return _stepped(_integer(value, names).unit, step, names)


def _stepped(unit: Unit | None, step: Expr, names: _Names) -> IntKind:
    step_unit = _integer(step, names).unit
    if step_unit is not None and not step_unit.dimensionless:
        unit = names.meet(unit, step_unit, step.place)
    return IntKind(step_unit if unit is None else unit)


def _comparison(expr: Comparison, names: _Names) -> BoolKind:
    left, right = _infer(expr.left, names), _infer(expr.right, names)
    if isinstance(left, ListKind):
        raise _expected("an integer", left, expr.left.place)
    amounts = isinstance(left, IntKind) and isinstance(right, IntKind)
    _joined(left, right, expr.place if amounts else expr.right.place, names)
    if expr.operator not in ("==", "!=") and not isinstance(left, IntKind):
        message = f"'{expr.operator}' orders integers, not {left}"
        raise ExpressionError(errors.WRONG_KIND, message, expr.place, "compare with '==' or '!='")
    return BOOLEAN


def _call(expr: Call, names: _Names) -> IntKind:
    arguments = expr.arguments
    match expr.function:
        case "min" | "max" if len(arguments) == 1:
            return IntKind(_list(arguments[0], names).unit)
        case "min" | "max":
            return _common(arguments, names)
        case "align_up":
            return _aligned(arguments[0], arguments[1], names)
        case "cdiv":
            return _scaled(arguments[0], arguments[1], -1, names)
        case "next_in":
            unit, bucket = _integer(arguments[0], names).unit, _list(arguments[1], names).unit
            return IntKind(names.meet(unit, bucket, expr.place))
        case "upper":
            return _integer(arguments[0], names)


def _comprehension(expr: Comprehension, names: _Names) -> ListKind:
    inner = names.with_element(expr.variable, _list(expr.source, names).unit)
    if expr.condition is not None:
        _boolean(expr.condition, inner)
    return ListKind(_integer(expr.element, inner).unit)


def resolve(expr: Expr, kinds: Mapping[str, Kind]) -> Expr:
    """The expression with each bare name that stands beside `==` or `!=` of an enum replaced.

    Raises ExpressionError for a name that is not among the values of that enum.
    """
    match expr:
        case Comparison(operator="==" | "!=" as operator, left=left, right=right):
            left, right = _sides(resolve(left, kinds), resolve(right, kinds), kinds)
            return Comparison(operator, left, right, place=expr.place)
        case Comprehension(element, variable, source, condition):
            inner = {**kinds, variable: LITERAL}
            return Comprehension(
                resolve(element, inner),
                variable,
                resolve(source, kinds),
                None if condition is None else resolve(condition, inner),
                place=expr.place,
            )
        case _:
            parts = children(expr)
            return rebuild(expr, tuple(resolve(part, kinds) for part in parts)) if parts else expr


def enumerant(name: Name, enum: EnumKind) -> Enumerant:
    """The value of `enum` that a bare name spells. Raises ExpressionError if there is none."""
    if name.name not in enum.values:
        message = f"'{enum.name}' has no value '{name.name}'"
        hint = suggestion(name.name, enum.values)
        raise ExpressionError(errors.UNKNOWN_VALUE, message, name.place, hint)
    return Enumerant(enum.name, name.name, enum.values.index(name.name), place=name.place)


def _sides(left: Expr, right: Expr, kinds: Mapping[str, Kind]) -> tuple[Expr, Expr]:
    left_enum, right_enum = _enum_of(left, kinds), _enum_of(right, kinds)
    if left_enum is not None and right_enum is None and isinstance(right, Name):
        return left, enumerant(right, left_enum)
    if right_enum is not None and left_enum is None and isinstance(left, Name):
        return enumerant(left, right_enum), right
    return left, right


def _enum_of(expr: Expr, kinds: Mapping[str, Kind]) -> EnumKind | None:
    match expr:
        case Name(name=name):
            kind = kinds.get(name)
            return kind if isinstance(kind, EnumKind) else None
        case Conditional(then=then, otherwise=otherwise):
            return _enum_of(then, kinds) or _enum_of(otherwise, kinds)
        case _:
            return None
