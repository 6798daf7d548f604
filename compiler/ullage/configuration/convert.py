"""From what was given to the value of a parameter's type."""

from __future__ import annotations

from ullage.configuration.given import Given
from ullage.diagnostics.diagnostic import Collector, did_you_mean
from ullage.spec.model import Parameter
from ullage.text.values import INTEGER_RULE, parse_integer

Value = int | bool | list[int]

WRONG_VALUE = "U701"


def convert(parameter: Parameter, name: str, value: Given, collector: Collector) -> Value | None:
    """The value, an enum's as its code; records an error and answers None for another type."""
    match parameter.type:
        case "int":
            return _integer(f"'{name}'", value, collector)
        case "bool":
            return _truth(name, value, collector)
        case "enum":
            return _code(parameter, name, value, collector)
        case "list":
            return _list(name, value, collector)


def shown(parameter: Parameter, value: Value) -> str:
    """A value as one would give it."""
    match value:
        case bool(truth):
            return "true" if truth else "false"
        case int(number) if parameter.type == "enum":
            return parameter.choices[number]
        case _:
            return str(value)


def _integer(what: str, value: Given, collector: Collector) -> int | None:
    found = value.value
    if isinstance(found, str):
        number = parse_integer(found)
        if number is not None:
            return number
    elif isinstance(found, int) and not isinstance(found, bool):
        return found
    collector.error(WRONG_VALUE, f"{what} is {value.shown}, expected {INTEGER_RULE}", value.place)
    return None


def _truth(name: str, value: Given, collector: Collector) -> bool | None:
    found = value.value
    if isinstance(found, bool):
        return found
    if found in ("true", "false"):
        return found == "true"
    lowered = found.lower() if isinstance(found, str) else ""
    hint = f"write {lowered}" if lowered in ("true", "false") else None
    message = f"'{name}' is {value.shown}, expected true or false"
    collector.error(WRONG_VALUE, message, value.place, hint=hint)
    return None


def _code(parameter: Parameter, name: str, value: Given, collector: Collector) -> int | None:
    found = value.value
    if isinstance(found, str) and found in parameter.choices:
        return parameter.choices.index(found)
    message = f"'{name}' is {value.shown}, expected one of {', '.join(parameter.choices)}"
    hint = did_you_mean(found.lower(), parameter.choices) if isinstance(found, str) else None
    collector.error(WRONG_VALUE, message, value.place, hint=hint)
    return None


def _list(name: str, value: Given, collector: Collector) -> list[int] | None:
    if not isinstance(value.value, tuple):
        message = f"'{name}' is {value.shown}, expected a list of integers"
        collector.error(WRONG_VALUE, message, value.place)
        return None
    if not value.value:
        message = f"'{name}' is an empty list, expected at least one element"
        collector.error(WRONG_VALUE, message, value.place)
        return None
    elements = [_integer(f"an element of '{name}'", each, collector) for each in value.value]
    known = [element for element in elements if element is not None]
    return known if len(known) == len(elements) else None
