"""Unquoted expressions that YAML took apart inside `{}` or `[]`.

YAML ends a plain text in a flow collection at every comma and bracket, so that
`{requests: next_in(a, b)}` reads as `requests: "next_in(a"` and a key `b)`. The pieces are legal
YAML; only the open bracket tells that they belong together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_COMPREHENSION = re.compile(r"(?P<head>.+?)\sfor\s+(?P<name>[A-Za-z_]\w*)\s+in(?:\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Split:
    """The span of a whole expression in the source; `is_closed`: every bracket is."""

    start: int
    end: int
    is_closed: bool


def find_split(source: str, start: int, end: int) -> Split | None:
    """The expression that begins with the plain flow text `source[start:end]`, if it goes on.

    None if the text leaves no bracket open, or if nothing of the expression lies behind it.
    """
    if source.count("(", start, end) <= source.count(")", start, end):
        return None
    split = whole_expression(source, start)
    return None if split.end <= end else split


def whole_expression(source: str, start: int) -> Split:
    """The expression from `start` to the comma, colon or unmatched bracket that ends it."""
    expected: list[str] = []
    index = start
    while index < len(source):
        char = source[index]
        if char in _CLOSERS:
            expected.append(_CLOSERS[char])
        elif char in ")]}":
            if not expected or expected[-1] != char:
                break
            expected.pop()
        elif not expected and (char == "," or source.startswith((": ", ":\n"), index)):
            break
        elif char in "'\"" and not (index > start and source[index - 1].isalnum()):
            index = _end_of_quoted(source, index)
        index += 1
    return _trimmed(source, start, min(index, len(source)), is_closed=not expected)


def _end_of_quoted(source: str, start: int) -> int:
    """The closing quote on the same line, or `start` itself: a lone quote quotes nothing."""
    stop = source.find("\n", start)
    end = source.find(source[start], start + 1, len(source) if stop < 0 else stop)
    return start if end < 0 else end


def _trimmed(source: str, start: int, end: int, *, is_closed: bool) -> Split:
    while end > start and source[end - 1] in " \t\n":
        end -= 1
    return Split(start, end, is_closed)


def is_comprehension(text: str) -> bool:
    """Whether the first item of a flow sequence is the head of `[x for x in list]`."""
    match = _COMPREHENSION.match(text)
    return match is not None and re.search(rf"\b{match['name']}\b", match["head"]) is not None


def quoted_form(expression: str) -> str:
    """`expression` on one line, in quotes that YAML undoes to the same text."""
    line = " ".join(expression.split())
    if '"' not in line and "\\" not in line:
        return f'"{line}"'
    return "'" + line.replace("'", "''") + "'"
