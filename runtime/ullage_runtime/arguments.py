"""Arguments of an engine whose names and types nobody has checked yet."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ullage_runtime.errors import ConfigurationError, ConfigurationProblem


@dataclass(frozen=True, slots=True)
class Argument:
    """A known argument: a whole number, a truth value, an enum by value, or a list of numbers.

    `keyword`: what Python calls it, if its name is one that Python uses itself. `required`: it
    has no default.
    """

    name: str
    kind: type[int] | type[bool] | type[tuple[int, ...]] | type[StrEnum]
    place: str
    keyword: str = ""
    required: bool = False


# Any: the values go on as keyword arguments, whose types are those that were checked here.
def argument_values(
    arguments: Mapping[str, object], known: Sequence[Argument], place: str
) -> dict[str, Any]:
    """The arguments that are given (None counts as not given), each of its type.

    `place`: where the engine is declared. Raises ConfigurationError with all that are unknown,
    missing or of another type.
    """
    by_name = {each.name: each for each in known}
    values: dict[str, Any] = {}
    problems: list[ConfigurationProblem] = []
    for name, value in arguments.items():
        argument = by_name.get(name)
        if argument is None:
            expected = f"there is no such parameter{_hint(name, by_name)}"
            problems.append(ConfigurationProblem("U701", name, value, expected, place))
        elif value is not None:
            expected = _store(values, argument, value)
            if expected:
                problems.append(ConfigurationProblem("U701", name, value, expected, argument.place))
    for argument in known:
        if argument.required and arguments.get(argument.name) is None:
            expected = "it has no default, so it must be given"
            problems.append(
                ConfigurationProblem("U701", argument.name, None, expected, argument.place)
            )
    if problems:
        raise ConfigurationError(problems)
    return values


def _store(values: dict[str, Any], argument: Argument, value: object) -> str:
    """Keep a value as what it should be; what was expected instead if it is something else."""
    kind, keyword = argument.kind, argument.keyword or argument.name
    if issubclass(kind, StrEnum):
        if isinstance(value, str) and value in [member.value for member in kind]:
            values[keyword] = kind(value)
            return ""
        return f"must be one of {', '.join(repr(member.value) for member in kind)}"
    if issubclass(kind, tuple):
        members = value if isinstance(value, tuple | list) else (None,)
        values[keyword] = tuple(members)
        return "" if all(type(each) is int for each in members) else "must be a list of integers"
    values[keyword] = value
    return "" if type(value) is kind else f"must be {_DESCRIBED[kind]}"


_DESCRIBED: Mapping[type, str] = {int: "an integer", bool: "True or False"}


def _hint(name: str, known: Mapping[str, Argument]) -> str:
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
