"""Diagnostics for people, for programs and for pull requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ullage.diagnostics.diagnostic import Diagnostic
from ullage.diagnostics.frame import code_frame, printable
from ullage.place import Place

Record = Mapping[str, str | int | list[dict[str, str | int]] | None]


def render_text(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """A block of lines for each diagnostic, with the source lines where they are known."""
    lines = {name: text.split("\n") for name, text in sources.items()}
    return "\n".join(_block(diagnostic, lines) for diagnostic in diagnostics)


def _block(diagnostic: Diagnostic, lines: Mapping[str, list[str]]) -> str:
    severity = f"{diagnostic.severity}[{diagnostic.code}]"
    block = [
        f"{_shown(diagnostic.place)}: {severity}: {_indented(diagnostic.message)}",
        *_frame(diagnostic.place, lines),
    ]
    for place, note in diagnostic.related:
        block += [f"  {_shown(place)}: {_indented(note)}", *_frame(place, lines)]
    if diagnostic.hint:
        block.append(f"  hint: {_indented(diagnostic.hint)}")
    block.append(f"  see: ullage error {printable(diagnostic.code)}")
    return "\n".join(block) + "\n"


def _shown(place: Place) -> str:
    return printable(str(place))


def _frame(place: Place, lines: Mapping[str, list[str]]) -> list[str]:
    return code_frame(lines.get(place.file, []), place)


def _indented(message: str) -> str:
    """Further lines of a message cannot be taken for lines of the report."""
    return "\n    ".join(printable(line) for line in message.split("\n"))


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A JSON list of `records`."""
    return json.dumps(records(diagnostics), indent=2) + "\n"


def records(diagnostics: Iterable[Diagnostic]) -> list[Record]:
    """What JSON says of each; lines and columns from 1, `end_column` behind the last character."""
    return [
        {
            **_span(diagnostic.place),
            "severity": diagnostic.severity,
            "code": diagnostic.code,
            "message": diagnostic.message,
            "hint": diagnostic.hint,
            "related": [{**_span(place), "message": note} for place, note in diagnostic.related],
        }
        for diagnostic in diagnostics
    ]


def _span(place: Place) -> dict[str, str | int]:
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_column": place.column + place.width,
    }


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands that annotate the lines of a pull request."""
    return "".join(map(_annotation, diagnostics))


def _annotation(diagnostic: Diagnostic) -> str:
    place = diagnostic.place
    properties = {
        "file": place.file,
        "line": str(place.line),
        "col": str(place.column),
        "title": diagnostic.code,
    }
    listed = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    parts = [diagnostic.message]
    if diagnostic.hint:
        parts.append(f"hint: {diagnostic.hint}")
    parts += [f"{place}: {note}" for place, note in diagnostic.related]
    return f"::{diagnostic.severity} {listed}::{_escape_data(chr(10).join(parts))}\n"


def _escape_data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(escaped)


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """How much was found, such as `2 errors, 1 warning`; empty if nothing was."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    counts = {name: severities.count(name) for name in ("error", "warning")}
    return ", ".join(
        f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items() if count
    )
