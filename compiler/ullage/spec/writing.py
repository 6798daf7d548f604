"""How the values of the model are written: the other way round of `ullage.spec.reading`.

Each function answers None for a value that needs no key. What is spelled is parsed once more, so
that an expression that only its author's spelling keeps within the limits is refused at its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from ullage.expr.parse import SourceRef, parse, parse_call
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr, ListOf, has_ranges
from ullage.expr.units import NO_UNIT, Unit
from ullage.spec.model import NamedText, PipelineEntry, Range
from ullage.text.write import Data


class Named(Protocol):
    """A record with a name."""

    @property
    def name(self) -> str: ...


Record = TypeVar("Record")
NamedRecord = TypeVar("NamedRecord", bound=Named)
Table = Mapping[str, Callable[[Record], "Data | None"]]
"""The keys of a record in the order of writing, each with how its value is made."""

_NUMBER = re.compile(r"\b[0-9]+\b")
_LARGEST_IN_DIGITS = 65536


def written(record: Record, table: Table[Record]) -> Mapping[str, Data]:
    """The keys of a record that say something."""
    values = ((key, write(record)) for key, write in table.items())
    return {key: value for key, value in values if value is not None}


def written_if_any(record: Record | None, table: Table[Record]) -> Data | None:
    return None if record is None else written(record, table)


def entries(records: Iterable[NamedRecord], table: Table[NamedRecord]) -> Mapping[str, Data]:
    """The keys of each record under its name."""
    return {record.name: written(record, table) for record in records}


def formula(expr: Expr) -> str:
    """An expression as one text. Raises ExpressionError if that is over a limit."""
    text = _spelled(expr)
    parse(text, lambda offset, width: expr.place)
    return text


def expression(expr: Expr) -> Data:
    """An expression; one that writes out a list is a YAML list, unless it has ranges."""
    if isinstance(expr, ListOf) and not has_ranges(expr):
        return tuple(formula(element) for element in expr.elements)
    return formula(expr)


def expression_if_any(expr: Expr | None) -> Data | None:
    return None if expr is None else expression(expr)


def condition(when: Expr) -> Data | None:
    """A guard; the one that always holds needs no key."""
    return None if when == TRUE else expression(when)


def span(bounds: Range | None) -> Data | None:
    """The two ends of a range."""
    return None if bounds is None else (expression(bounds.low), expression(bounds.high))


def unit(value: Unit) -> str | None:
    """A unit; pure numbers need no key."""
    return None if value == NO_UNIT else stated_unit(value)


def stated_unit(value: Unit | None) -> str | None:
    """A unit that is also written where it is `1`. Raises ExpressionError for a power above 9."""
    if value is None:
        return None
    text = str(value)
    Unit.parse(text)
    return text


def names(values: tuple[str, ...], *, required: bool = False) -> Data | None:
    """A list; without `required` an empty one needs no key."""
    return values if values or required else None


def one_or_more(values: tuple[str, ...]) -> Data | None:
    """A list, of which a single item stands alone."""
    return values[0] if len(values) == 1 else names(values)


def source(value: SourceRef | None) -> str | None:
    return None if value is None else str(value)


def named(pairs: tuple[tuple[str, Expr], ...]) -> Mapping[str, Data]:
    """Names with an expression each."""
    return {name: expression(value) for name, value in pairs}


def texts(values: tuple[NamedText, ...]) -> Data | None:
    """Names with a description each."""
    return {value.name: value.doc for value in values} or None


def pipeline_entry(entry: PipelineEntry) -> str:
    """A transform's name, with its arguments in brackets if it has any."""
    given = ", ".join(f"{name}={_spelled(value)}" for name, value in entry.arguments)
    text = f"{entry.transform}({given})" if given else entry.transform
    parse_call(text, lambda offset, width: entry.place)
    return text


def _spelled(expr: Expr) -> str:
    return _NUMBER.sub(lambda found: _power_or_digits(int(found[0])), spell(expr))


def _power_or_digits(value: int) -> str:
    """Large powers of two are easier to read, and shorter, as what they are."""
    is_power = value > _LARGEST_IN_DIGITS and value & (value - 1) == 0
    return f"2^{value.bit_length() - 1}" if is_power else str(value)
