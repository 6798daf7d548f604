"""PyYAML's syntax errors in the words of this compiler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Reading:
    """How to say a problem whose PyYAML text contains `clue`."""

    clue: str
    message: str
    hint: str | None


_QUOTE = "put the value in quotes"
_READINGS = (
    _Reading(
        "'\\t' that cannot start", "a tab cannot stand here", "indent and separate with blanks"
    ),
    _Reading(
        "mapping values are not allowed",
        "a second ': ' on the line, or a key that is indented unlike its neighbours",
        "put a value that contains ': ' in quotes, or align the keys",
    ),
    _Reading("'%' that cannot start", "a plain value cannot start with '%'", _QUOTE),
    _Reading("'@' that cannot start", "a plain value cannot start with '@'", _QUOTE),
    _Reading("'`' that cannot start", "a plain value cannot start with '`'", _QUOTE),
    _Reading(
        "could not find expected ':'",
        "a line without ': ' among the keys of a mapping",
        "write 'key: value', or indent the line under the value that it continues",
    ),
    _Reading(
        "expected ',' or '}'",
        "expected ',' or '}' here: the text does not fit into a mapping in braces",
        "close the mapping, or put the value in quotes",
    ),
    _Reading(
        "expected ',' or ']'",
        "expected ',' or ']' here: the text does not fit into a list in brackets",
        "close the list, or put the value in quotes",
    ),
    _Reading(
        "expected <block end>, but found",
        "the line does not fit what stands before it",
        "align the keys of a mapping and the dashes of a list, and put an expression that "
        "starts with a bracket in quotes",
    ),
    _Reading("end of stream", "the file ends inside a quoted text", "close the quote"),
    _Reading("found unknown escape character", "unknown escape in a double-quoted text",
             "use single quotes, or double the backslash"),
    _Reading("sequence entries are not allowed", "a list item cannot start here",
             "put the '- ' on a line of its own below the key"),
    _Reading("expected the node content", "a value is missing before this",
             "put a value that starts with punctuation in quotes"),
)  # fmt: skip


def reading_of(problem: str) -> tuple[str, str | None]:
    """Message and hint for the text of a PyYAML problem."""
    for reading in _READINGS:
        if reading.clue in problem:
            return reading.message, reading.hint
    return f"this is not YAML: {problem}", None
