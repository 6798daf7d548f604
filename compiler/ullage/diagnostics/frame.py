"""The source line of a place with a caret span below it, safe to print on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from ullage.place import Place

TAB_STOP: Final = 4
MAX_COLUMNS: Final = 100
_LEAD: Final = 30
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    """`text` with controls and invisible characters as escapes such as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if unicodedata.category(char) in _UNSEEN:
        return char.encode("unicode_escape").decode("ascii")
    return char


def code_frame(lines: Sequence[str], place: Place) -> list[str]:
    """Gutter, source line and carets; no lines if the place is not in `lines`.

    Tabs are widened, wide characters count two columns and long lines are cut around the span.
    """
    if not 1 <= place.line <= len(lines) or place.column < 1:
        return []
    line = lines[place.line - 1]
    start = min(place.column - 1, len(line))
    stop = min(start + place.width, len(line))
    first = max(0, start - _LEAD) if len(line) > MAX_COLUMNS else 0
    shown, edges = _cells(line, first, start)
    begin = edges[start - first]
    end = min(edges[min(stop - first, len(edges) - 1)], MAX_COLUMNS + _LEAD)
    number = str(place.line)
    gutter = " " * len(number)
    carets = " " * begin + "^" * max(1, end - begin)
    return [f"  {gutter} |", f"  {number} | {shown}".rstrip(), f"  {gutter} | {carets}"]


def _cells(line: str, first: int, start: int) -> tuple[str, list[int]]:
    """The visible form of `line[first:]` up to the limit, and the column of each edge."""
    parts = ["…"] if first else []
    column = len(parts)
    edges = [column]
    for index in range(first, len(line)):
        if column >= MAX_COLUMNS and index > start:
            parts.append("…")
            break
        cell, width = _cell(line[index], column)
        parts.append(cell)
        column += width
        edges.append(column)
    return "".join(parts), edges


def _cell(char: str, column: int) -> tuple[str, int]:
    if char == "\t":
        width = TAB_STOP - column % TAB_STOP
        return " " * width, width
    shown = _visible(char)
    if shown != char:
        return shown, len(shown)
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return char, 0
    return char, 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
