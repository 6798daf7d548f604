"""What somebody gave for the parameters of an engine, each value with its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ullage.place import Place

ARGUMENTS = Place("<arguments>", 1, 1)
"""Where values stand that come from code."""

Plain = int | bool | str | Sequence["int | str"] | Mapping[str, "Plain"]


@dataclass(frozen=True, slots=True)
class Given:
    """One value as it was given: a text means what its parameter's type makes of it.

    `key` is the name as it was spelled, which stands at `key_place`.
    """

    value: int | bool | str | tuple[Given, ...] | Mapping[str, Given]
    place: Place
    key: str = ""
    key_place: Place = ARGUMENTS

    @property
    def shown(self) -> str:
        """How messages call the value."""
        match self.value:
            case bool(truth):
                return "true" if truth else "false"
            case int(number):
                return str(number)
            case str(text):
                return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}...'"
            case tuple():
                return "a list"
            case _:
                return "a mapping"


def given(value: Plain | Given, place: Place = ARGUMENTS, key: str = "") -> Given:
    """A value from code, with the place that errors about it point to."""
    if isinstance(value, Given):
        return value
    if isinstance(value, (int, str)):
        return Given(value, place, key)
    if isinstance(value, Mapping):
        return Given({name: given(each, place, name) for name, each in value.items()}, place, key)
    return Given(tuple(given(each, place) for each in value), place, key)


def parameter_name(key: str) -> str:
    """The name that a key means, which may be spelled as on a command line."""
    return key.removeprefix("--").replace("-", "_")


def spelled_like(key: str, name: str) -> str:
    """`name` spelled as `key` is: with dashes and in front two of them, or as it stands."""
    if key.startswith("--"):
        return "--" + name.replace("_", "-")
    return name.replace("_", "-") if "-" in key else name
