"""What a compilation gives, as it is kept in the cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

from ullage.diagnostics.diagnostic import Diagnostic, Severity
from ullage.place import Place


@dataclass(frozen=True, slots=True)
class Compiled:
    """The generated files of one engine by path below its package, and what is to be said of them.

    `provenance` is what they were made from. `warnings` never fail a run; `unproven` do, unless
    unproven capacities are allowed.
    """

    engine: str
    files: Mapping[str, str]
    provenance: Mapping[str, str]
    warnings: tuple[Diagnostic, ...]
    unproven: tuple[Diagnostic, ...]


def to_text(compiled: Compiled) -> str:
    """A text from which `from_text` makes the same again."""
    document = {
        "engine": compiled.engine,
        "files": dict(compiled.files),
        "provenance": dict(compiled.provenance),
        "warnings": [_to_record(found) for found in compiled.warnings],
        "unproven": [_to_record(found) for found in compiled.unproven],
    }
    return json.dumps(document, ensure_ascii=False)


def from_text(text: str) -> Compiled | None:
    """The compilation of a text that `to_text` made, None for any other text."""
    try:
        document: object = json.loads(text)
        return _compiled(document)
    except (ValueError, RecursionError, _OtherFormError):
        return None


class _OtherFormError(Exception):
    """The text is JSON of another form."""


def _compiled(document: object) -> Compiled:
    record = _record(document)
    return Compiled(
        _text(record.get("engine")),
        _texts(record.get("files")),
        _texts(record.get("provenance")),
        tuple(_diagnostic(each) for each in _list(record.get("warnings"))),
        tuple(_diagnostic(each) for each in _list(record.get("unproven"))),
    )


def _to_record(found: Diagnostic) -> dict[str, object]:
    return {
        "code": found.code,
        "message": found.message,
        "place": _to_place(found.place),
        "hint": found.hint,
        "related": [[_to_place(place), note] for place, note in found.related],
        "severity": found.severity,
    }


def _to_place(place: Place) -> list[str | int]:
    return [place.file, place.line, place.column, place.width]


def _diagnostic(document: object) -> Diagnostic:
    record = _record(document)
    hint = record.get("hint")
    severity = record.get("severity")
    if not _is_severity(severity):
        raise _OtherFormError
    related = []
    for each in _list(record.get("related")):
        place, note = _list(each)
        related.append((_place(place), _text(note)))
    return Diagnostic(
        _text(record.get("code")),
        _text(record.get("message")),
        _place(record.get("place")),
        None if hint is None else _text(hint),
        tuple(related),
        severity,
    )


def _is_severity(value: object) -> TypeGuard[Severity]:
    return value in ("error", "warning")


def _place(document: object) -> Place:
    file, line, column, width = _list(document)
    return Place(_text(file), _number(line), _number(column), _number(width))


def _record(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _OtherFormError
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _OtherFormError
    return value


def _texts(value: object) -> dict[str, str]:
    return {name: _text(text) for name, text in _record(value).items()}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _OtherFormError
    return value


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise _OtherFormError
    return value
