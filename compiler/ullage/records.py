"""Frozen records as text, and back: whatever a type says of its fields is checked on the way.

A text holds one row for each different record, its parts before it, so that what is shared by many
is written once. Equal records give equal texts, places included, which makes a text good for a
digest. Only the classes that the wanted type leads to are ever made, by their own constructors.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
_Made = Sequence[object]
_Reader = Callable[[object, _Made], object]

_SCALARS: Final = (bool, int, str, type(None))

# By type, and not by patterns: most of what is written are numbers and texts.
_WRITTEN: Final[Mapping[type, Callable[[Any], str]]] = {
    str: encode_basestring_ascii,
    int: int.__repr__,
    bool: json.dumps,
    type(None): json.dumps,
}


class _OtherFormError(Exception):
    """The text is not one of the wanted type."""


def to_text(record: object) -> str:
    """A record as text. TypeError for what is no record, nor made of records and plain values."""
    writer = _Writer()
    root = writer.written(record)
    named = json.dumps([_named(each) for each in writer.classes])
    return f'{{"classes": {named}, "rows": [{",".join(writer.rows)}], "root": {root}}}'


def from_text(wanted: type[Record], text: str) -> Record | None:
    """The record of a text that `to_text` made of one of this type; None for any other text."""
    try:
        made = _root(wanted, json.loads(text))
    except (ValueError, TypeError, RecursionError, _OtherFormError):
        return None
    return made if isinstance(made, wanted) else None


@dataclass(slots=True, init=False)
class _Writer:
    """Gives every different record a row."""

    classes: dict[type, int]
    parts_of: dict[type, Callable[[object], Sequence[object]]]
    rows: dict[str, int]
    known: dict[int, str]

    def __init__(self) -> None:
        self.classes, self.parts_of, self.rows, self.known = {}, {}, {}, {}

    def written(self, value: object) -> str:
        """A plain value as JSON, a record as the number of its row."""
        kind = type(value)
        if kind in self.classes:
            return self._numbered(value)
        if kind in _WRITTEN:
            return _WRITTEN[kind](value)
        match value:
            case tuple() | list():
                return f"[{','.join(map(self.written, value))}]"
            case Mapping():
                pairs = (f"[{self.written(k)},{self.written(v)}]" for k, v in value.items())
                return f"[{','.join(pairs)}]"
            case frozenset() | set():
                return f"[{','.join(sorted(map(self.written, value)))}]"
            case _:
                return self._numbered(value)

    def _numbered(self, value: object) -> str:
        number = self.known.get(id(value))  # the whole record is alive, so that ids stay its own
        if number is None:
            kind = type(value)
            if kind not in self.classes:
                self.classes[kind] = len(self.classes)
                self.parts_of[kind] = _parts_of(kind)
            parts = ",".join(map(self.written, self.parts_of[kind](value)))
            row = f"[{self.classes[kind]},{parts}]" if parts else f"[{self.classes[kind]}]"
            number = self.known[id(value)] = str(self.rows.setdefault(row, len(self.rows)))
        return number


def _parts_of(kind: type) -> Callable[[object], Sequence[object]]:
    """What gives all fields of a record of a class, in the order in which they are written."""
    names = [*_field_names(kind)]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: [getattr(value, name) for name in names]


def _field_names(kind: type) -> Iterator[str]:
    """The fields that a constructor takes by position, then those that it takes by name."""
    if not is_dataclass(kind):
        raise TypeError(f"{_named(kind)} is not a record")
    for by_name in (False, True):
        yield from (each.name for each in fields(kind) if each.kw_only is by_name)


def _named(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _root(wanted: type, document: object) -> object:
    match document:
        case {"classes": list(classes), "rows": list(rows), "root": root}:
            forms = [_forms(wanted).get(str(name)) for name in classes]
        case _:
            raise _OtherFormError
    made: list[object] = []
    for row in rows:
        match row:
            case [int(number), *parts] if 0 <= number < len(forms):
                form = forms[number]
            case _:
                raise _OtherFormError
        if form is None or len(parts) != len(form.readers):
            raise _OtherFormError
        values = [read(part, made) for read, part in zip(form.readers, parts, strict=True)]
        made.append(form.record(values))
    return _of_class(wanted)(root, made)


@dataclass(frozen=True, slots=True)
class _Form:
    """How the row of one class is read."""

    kind: type
    readers: tuple[_Reader, ...]
    by_name: tuple[str, ...]

    def record(self, values: Sequence[object]) -> object:
        if not self.by_name:
            return self.kind(*values)
        first = len(values) - len(self.by_name)
        return self.kind(*values[:first], **dict(zip(self.by_name, values[first:], strict=True)))


@cache
def _forms(wanted: type) -> Mapping[str, _Form]:
    """The classes that records of a type are made of, by name."""
    found: dict[str, _Form] = {}
    pending = [wanted]
    while pending:
        kind = pending.pop()
        if _named(kind) not in found:
            hints = get_type_hints(kind)
            names = [*_field_names(kind)]
            by_name = tuple(each.name for each in fields(kind) if each.kw_only)
            readers = tuple(_reader(hints[name]) for name in names)
            found[_named(kind)] = _Form(kind, readers, by_name)
            pending.extend(inner for name in names for inner in _classes(hints[name]))
    return found


def _classes(hint: object) -> Iterator[type]:
    """The records that a type names."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    elif get_origin(hint) is not Literal:
        for inner in get_args(hint):
            yield from _classes(inner)


def _reader(hint: object) -> _Reader:
    """What makes a value of a type from its JSON."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _of_union(arguments)
    if origin is Literal:
        return _of_literal(arguments)
    if origin is tuple:
        if arguments[1:] == (...,):
            return _of_many(_reader(arguments[0]), tuple)
        return _of_tuple(tuple(map(_reader, arguments)))
    if origin is frozenset:
        return _of_many(_reader(arguments[0]), frozenset)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _of_many(_of_tuple(tuple(map(_reader, arguments))), _mapping)
    if isinstance(hint, type) and is_dataclass(hint):
        return _of_class(hint)
    if isinstance(hint, type) and hint in _SCALARS:
        return _of_scalar(hint)
    raise TypeError(f"a record cannot hold {hint}")


def _of_scalar(kind: type) -> _Reader:
    def read(value: object, made: _Made) -> object:
        if type(value) is not kind:
            raise _OtherFormError
        return value

    return read


def _of_literal(allowed: tuple[object, ...]) -> _Reader:
    texts = frozenset(allowed)
    if not all(isinstance(each, str) for each in texts):
        raise TypeError("a record holds literals of text only")

    def read(value: object, made: _Made) -> object:
        if not isinstance(value, str) or value not in texts:
            raise _OtherFormError
        return value

    return read


def _of_class(*kinds: type) -> _Reader:
    def read(value: object, made: _Made) -> object:
        if type(value) is not int or not 0 <= value < len(made):
            raise _OtherFormError
        record = made[value]
        if not isinstance(record, kinds):
            raise _OtherFormError
        return record

    return read


def _of_tuple(readers: tuple[_Reader, ...]) -> _Reader:
    def read(value: object, made: _Made) -> object:
        if not isinstance(value, list) or len(value) != len(readers):
            raise _OtherFormError
        return tuple(each(part, made) for each, part in zip(readers, value, strict=True))

    return read


def _of_many(reader: _Reader, collected: Callable[[Iterator[object]], object]) -> _Reader:
    def read(value: object, made: _Made) -> object:
        if not isinstance(value, list):
            raise _OtherFormError
        return collected(reader(part, made) for part in value)

    return read


def _mapping(pairs: Iterator[object]) -> object:
    found: dict[object, object] = {}
    for pair in pairs:
        match pair:
            case (key, value) if key not in found:
                found[key] = value
            case _:
                raise _OtherFormError
    return found


def _of_union(kinds: Collection[object]) -> _Reader:
    """By what the JSON looks like; a record and an integer would look alike."""
    records = tuple(each for each in kinds if isinstance(each, type) and is_dataclass(each))
    by_look: dict[type, _Reader] = {}
    if records:
        by_look[int] = _of_class(*records)
    for each in kinds:
        if each not in records:
            for look in _looks(each):
                if look in by_look:
                    raise TypeError(f"a record cannot tell apart {kinds}")
                by_look[look] = _reader(each)

    def read(value: object, made: _Made) -> object:
        reader = by_look.get(type(value))
        if reader is None:
            raise _OtherFormError
        return reader(value, made)

    return read


def _looks(hint: object) -> Iterator[type]:
    """The classes of the JSON that a type is written as."""
    if isinstance(hint, type) and hint in _SCALARS:
        yield hint
    elif get_origin(hint) is Literal:
        yield str
    else:
        yield list
