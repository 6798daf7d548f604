"""Checks that a generated `Config.validate` is made of: all problems are collected, then raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard, TypeVar

from ullage_runtime.errors import ConfigurationError, ConfigurationProblem

T = TypeVar("T")


def present(value: T | None) -> T:
    """A value of a parameter whose guard holds here, so that it is there. ValueError if not."""
    if value is None:
        raise ValueError("A parameter is used that has no meaning in this configuration.")
    return value


class Defaults:
    """Defaults that are computed from other arguments, which may be illegal still."""

    def __init__(self) -> None:
        self._undefined: list[ConfigurationProblem] = []

    def value(self, parameter: str, compute: Callable[[], T], otherwise: T, place: str) -> T:
        """The default of `parameter`; `otherwise` where other arguments leave it undefined."""
        try:
            return compute()
        except (ArithmeticError, ValueError) as error:
            expected = f"its default cannot be computed from the other arguments: {error}"
            self._undefined.append(ConfigurationProblem("U701", parameter, None, expected, place))
            return otherwise

    def check(self, validate: Callable[[], None]) -> None:
        """Validate it all; ConfigurationError for undefined defaults if nothing else is wrong."""
        validate()
        if self._undefined:
            raise ConfigurationError(self._undefined)


class Problems:
    """Collects what is wrong with a configuration.

    Each check takes the parameter's name, its value and the spec line (`place`), and answers
    whether the value passed, so that a constraint over broken values can be skipped.
    """

    def __init__(self) -> None:
        self._found: list[ConfigurationProblem] = []
        self._undefined: list[ConfigurationProblem] = []

    @property
    def found(self) -> tuple[ConfigurationProblem, ...]:
        return tuple(self._found)

    def integer(self, parameter: str, value: object, low: int, high: int, place: str) -> bool:
        """`value` is an integer, not a bool, in [low, high]."""
        if _is_integer(value) and low <= value <= high:
            return True
        return self._add("U701", parameter, value, f"must be an integer in [{low}, {high}]", place)

    def integers(self, parameter: str, value: object, low: int, high: int, place: str) -> bool:
        """`value` is a non-empty tuple or list of integers, each in [low, high]."""
        members = value if isinstance(value, tuple | list) else ()
        if members and all(_is_integer(each) and low <= each <= high for each in members):
            return True
        expected = f"must be a non-empty list of integers in [{low}, {high}]"
        return self._add("U701", parameter, value, expected, place)

    def boolean(self, parameter: str, value: object, place: str) -> bool:
        """`value` is True or False."""
        if isinstance(value, bool):
            return True
        return self._add("U701", parameter, value, "must be True or False", place)

    def choice(self, parameter: str, value: object, choices: Sequence[str], place: str) -> bool:
        """`value` is one of `choices`."""
        if isinstance(value, str) and value in choices:
            return True
        listed = ", ".join(repr(each) for each in choices)
        return self._add("U701", parameter, value, f"must be one of {listed}", place)

    def member(
        self, parameter: str, value: int | None, listed: Sequence[int] | None, name: str, place: str
    ) -> bool:
        """`value` is one of the elements of list `name`, if the configuration has both."""
        if value is None or listed is None or value in listed:
            return True
        elements = ", ".join(map(str, listed))
        return self._add("U701", parameter, value, f"must be in {name}: {elements}", place)

    def unset(self, parameter: str, value: object, guard: str, place: str) -> bool:
        """`value` is None because the parameter's `guard` is false in this configuration."""
        if value is None:
            return True
        expected = f"has no meaning unless {guard}"
        self._found.append(ConfigurationProblem("U701", parameter, value, expected, place, True))
        return False

    def constraint(
        self, holds: bool, statement: str, reason: str, values: Mapping[str, object], place: str
    ) -> bool:
        """The relation `statement` between `values` holds; `reason` says why it has to."""
        if holds:
            return True
        given = ", ".join(f"{name} = {value!r}" for name, value in values.items())
        return self._add("U702", statement, given, reason, place)

    def passed(self, *parameters: str) -> bool:
        """Whether none of these parameters was found to be wrong."""
        return not any(each.parameter in parameters for each in self._found)

    def attempt(self, check: Callable[[], bool]) -> None:
        """Make a check whose expressions are only known to have values in legal configurations.

        Where they have none, something else is wrong, which is what will be reported.
        """
        try:
            check()
        except (ArithmeticError, ValueError) as error:
            self._undefined.append(
                ConfigurationProblem("U702", "a check", "", f"it has no value: {error}", "specs")
            )

    def raise_if_any(self) -> None:
        """Raise ConfigurationError with every problem, if there is one."""
        self._found = self._found or self._undefined
        if self._found:
            raise ConfigurationError(self._found)

    def _add(self, code: str, parameter: str, value: object, expected: str, place: str) -> bool:
        self._found.append(ConfigurationProblem(code, parameter, value, expected, place))
        return False


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
