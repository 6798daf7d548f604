"""Frozen records of dozens of fields, which are made for every step of an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, fields
from functools import wraps
from typing import Any, NoReturn, TypeVar

RecordT = TypeVar("RecordT")


def made_at_once(record: type[RecordT]) -> type[RecordT]:
    """The same dataclass, whose objects get all of their fields in one assignment.

    `record`: frozen, its fields by keyword only, none with a factory. What `dataclass` makes
    assigns them one by one, which takes longer than loading a batch does. ValueError for another.
    """
    given: Any = record  # a dataclass, which its type does not say
    every: tuple[Field[Any], ...] = fields(given)
    if not all(field.kw_only and field.default_factory is MISSING for field in every):
        raise ValueError(f"Fields of {record.__name__} are not by keyword, or have a factory.")
    defaults = {field.name: field.default for field in every if field.default is not MISSING}
    required = frozenset(field.name for field in every) - defaults.keys()
    given.__init__ = _initialise(record.__init__, defaults, required)
    return record


def _initialise(
    original: Callable[..., None], defaults: Mapping[str, object], required: Collection[str]
) -> Callable[..., None]:
    """What takes the place of `original`, and takes what that takes."""
    known = {**defaults, **dict.fromkeys(required, MISSING)}
    needed, count = tuple(required), len(known)

    @wraps(original)
    def initialise(self: object, /, **given: object) -> None:
        values = known | given
        if len(values) != count:
            _refuse(original, unknown=given.keys() - known.keys())
        for name in needed:
            if values[name] is MISSING:
                _refuse(original, missing=set(needed) - given.keys())
        object.__setattr__(self, "__dict__", values)  # a frozen one has no other way

    return initialise


def _refuse(
    original: Callable[..., None],
    *,
    unknown: Collection[str] = (),
    missing: Collection[str] = (),
) -> NoReturn:
    """What Python says of such a call."""
    if unknown:
        problem = f"got an unexpected keyword argument '{min(unknown)}'"
    else:
        problem = f"missing keyword-only arguments: {', '.join(sorted(missing))}"
    raise TypeError(f"{original.__qualname__}() {problem}")
