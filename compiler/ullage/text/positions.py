"""From offsets in a scalar's text to lines and columns of its file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from ullage.place import Place
from ullage.text.nodes import Run

_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}


class Source:
    """A text with its line starts; indices count characters from 0."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]

    def position(self, index: int) -> tuple[int, int]:
        """Line and column, from 1, of the character at `index`."""
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1

    def place(self, start: int, end: int | None = None) -> Place:
        """The span from `start` to `end`, cut at the end of its first line."""
        line, column = self.position(start)
        stop = start + 1 if end is None else end
        if line < len(self._starts):
            stop = min(stop, self._starts[line] - 1)
        return Place(self.name, line, column, max(1, stop - start))


def runs_of(source: Source, text: str, start: int, end: int, style: str) -> tuple[Run, ...]:
    """The runs of a scalar whose token is `source.text[start:end]`; `style` is YAML's mark."""
    runs: list[Run] = []
    previous = -2
    for offset, index in enumerate(_origins(source.text, text, start, end, style)):
        if index != previous + 1 or source.text[previous] == "\n":
            runs.append(Run(offset, *source.position(index)))
        previous = index
    return tuple(runs)


def _origins(source: str, text: str, start: int, end: int, style: str) -> Iterator[int]:
    """The index in `source` that each character of `text` comes from."""
    if style in ("|", ">"):
        cursor = source.find("\n", start, end) + 1 or end
    else:
        cursor = start + (style in ("'", '"'))
    for char in text:
        if style == '"':
            cursor = _skip_continuations(source, cursor, end)
        if char not in " \t\n":
            cursor = _skip_blanks(source, cursor, end)
        yield min(cursor, max(start, end - 1))
        cursor = _after(source, cursor, end, char, style)


def _after(source: str, cursor: int, end: int, char: str, style: str) -> int:
    """The index behind the character of the source that stands for `char`."""
    if style == '"' and source.startswith("\\", cursor):
        return cursor + 2 + _ESCAPE_DIGITS.get(source[cursor + 1 : cursor + 2], 0)
    if style == "'" and char == "'":
        return cursor + 2
    if char in " \t\n" and cursor < end and source[cursor] != char:
        return cursor  # folded away or joined: the next visible character finds its own place
    return cursor + 1


def _skip_blanks(source: str, cursor: int, end: int) -> int:
    while cursor < end and source[cursor] in " \t\n":
        cursor += 1
    return cursor


def _skip_continuations(source: str, cursor: int, end: int) -> int:
    while source.startswith("\\\n", cursor) and cursor < end:
        cursor = _skip_blanks(source, cursor + 2, end)
    return cursor
