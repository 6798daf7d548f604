"""Writing wrappers, the inverse of `load_wrappers`."""

from __future__ import annotations

from collections.abc import Mapping

from ullage.spec.wrappers import (
    Each,
    FormulaValue,
    GivenValue,
    SlotValue,
    TextValue,
    Wrapper,
    WrapperArgument,
    WrapperValue,
)
from ullage.spec.writing import Table, condition, expression, written
from ullage.text.write import Data

_SLOT: Table[SlotValue] = {
    "slot": lambda value: value.slot,
    "at": lambda value: value.at,
    "flat": lambda value: "true" if value.flat else None,
}

WRAPPER: Table[Wrapper] = {
    "doc": lambda wrapper: wrapper.doc or None,
    "library": lambda wrapper: wrapper.library,
    "when": lambda wrapper: condition(wrapper.when),
    "each": lambda wrapper: None if wrapper.each is None else _each(wrapper.each),
    "make": lambda wrapper: _arguments(wrapper.make),
    "plan": lambda wrapper: _arguments(wrapper.plan),
    "run": lambda wrapper: {argument.name: argument.kind for argument in wrapper.run},
}


def _each(each: Each) -> Data:
    return {each.index: expression(each.count)}


def _arguments(arguments: tuple[WrapperArgument, ...]) -> Mapping[str, Data] | None:
    return {argument.name: _value(argument.value) for argument in arguments} or None


def _value(value: WrapperValue) -> Data:
    """A slot always as a mapping, for its name alone might be that of a parameter too."""
    match value:
        case SlotValue():
            return written(value, _SLOT)
        case GivenValue(kind=kind):
            return {"given": kind}
        case TextValue(text=text):
            return {"text": text}
        case FormulaValue(formula=formula):
            return expression(formula)
