"""The names in generated source, found without a parser: a tree of it would cost far more.

Enough for source that this package writes, where `=` has blanks around it but for keyword
arguments. Found are names that stand for themselves: not those behind a dot, of keyword arguments,
of what is being defined, in comments or in strings, but for the fields of f-strings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"""'
    r"|(?P<fields>f\"(?:[^\"\\\n]|\\.)*\"|f'(?:[^'\\\n]|\\.)*')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|#[^\n]*"
    r"|\.\s*[^\W\d]\w*"
    r"|\b(?:class|def) +\w+"
    r"|(?<!\w)(?P<name>[^\W\d]\w*)(?!\w|=[^=])",
    re.DOTALL,
)
_FIELD: Final = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Named:
    """A name, and the line that it stands on, counted from 0."""

    name: str
    line: int


def names_of(source: str) -> Iterator[Named]:
    """Every name, in order."""
    line, counted = 0, 0
    for token in _TOKEN.finditer(source):
        if token.lastgroup is None:
            continue
        line += source.count("\n", counted, token.start())
        counted = token.start()
        if token.lastgroup == "name":
            yield Named(token.group(), line)
        else:
            fields = _FIELD.findall(token.group())
            yield from (Named(each.name, line) for text in fields for each in names_of(text))


def without_unused(source: str, names: Iterable[Named], prepared: Collection[str]) -> str:
    """The source without those of the `prepared` assignments whose name is not used after them.

    `names`: those of the source.
    """
    lines = source.split("\n")
    targets = {statement: statement.partition(" = ")[0] for statement in prepared}
    used = [each for each in names if each.name in targets.values()]
    unused: set[int] = set()
    for number, text in enumerate(lines):
        statement = text.strip()
        if statement in targets:
            last = _end(lines, number, text.removesuffix(statement))
            after = (each.name for each in used if number < each.line < last)
            unused |= set() if targets[statement] in after else {number}
    return "\n".join(text for number, text in enumerate(lines) if number not in unused)


def _end(lines: list[str], start: int, margin: str) -> int:
    """The first line behind the block that line `start` is in."""
    rest = enumerate(lines[start:], start)
    return next((n for n, text in rest if text.strip() and not text.startswith(margin)), len(lines))
