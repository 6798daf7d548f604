"""Texts in lists and mappings as the YAML that `compose` reads back.

The style is that of the specs: blocks at the top of a file; below, a collection that fits on the
line stands in brackets; a text is in quotes only where it would not be read as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from textwrap import wrap
from typing import Final, TypeAlias

from ullage.text.splits import is_comprehension

Data: TypeAlias = "str | tuple[Data, ...] | Mapping[str, Data]"
"""A text, a list or a mapping whose keys are names."""

WIDTH: Final = 96
INDENT: Final = 2

_NOT_PLAIN = re.compile(
    r"""^$|^\ |\ $|[\n\t]            # nothing, or blanks that YAML drops
    |^[][{},\#&*!|>'"%@`?:]|^-(\ |$) # a start that means something
    |:(\ |$)|\ \#                    # a key or a comment behind it""",
    re.VERBOSE,
)
_NOT_PLAIN_IN_FLOW = re.compile(r"[][{},?]")


def write_yaml(document: Mapping[str, Data]) -> str:
    """The text of a file with these keys at the top."""
    lines: list[str] = []
    was_section = False
    for key, value in document.items():
        is_section = _is_section(value)
        if lines and (is_section or was_section):
            lines.append("")
        lines += _block(f"{key}:", value, 0) if is_section else _lines(f"{key}:", value, 0)
        was_section = is_section
    return "".join(f"{line}\n" for line in lines)


def _is_section(value: Data) -> bool:
    """Whether a value at the top of a file is a block even where it would fit on the line."""
    if isinstance(value, tuple):
        return any(not isinstance(item, str) for item in value)
    return bool(value) and not isinstance(value, str)


def _lines(head: str, value: Data, indent: int) -> list[str]:
    """`head`, which is a key or a dash, with its value: on the same line if that is wide enough."""
    start = " " * indent + head
    text = _scalar(value, in_flow=False) if isinstance(value, str) else _flow(value)
    if not value or len(start) + 1 + len(text) <= WIDTH:
        return [f"{start} {text}"]
    if not isinstance(value, str):
        return _block(head, value, indent)
    folded = _folded(value, indent + INDENT)
    return [f"{start} >-", *folded] if folded else [f"{start} {text}"]


def _block(head: str, value: Data, indent: int) -> list[str]:
    """`head` over its indented items; what stands in a list begins beside its dash."""
    inner = indent + INDENT
    items = value.items() if isinstance(value, Mapping) else (("-", item) for item in value)
    lines = [
        line
        for key, item in items
        for line in _lines(key if key == "-" else f"{key}:", item, inner)
    ]
    start = " " * indent + head
    return [f"{start} {lines[0][inner:]}", *lines[1:]] if head == "-" else [start, *lines]


def _folded(text: str, indent: int) -> list[str]:
    """The lines under `>-`, which YAML joins by blanks; none for a text that these would change."""
    lines = wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    if "" in text.split(" ") or " ".join(lines) != text:
        return []
    return [" " * indent + line for line in lines]


def _flow(value: Data) -> str:
    """The value on one line."""
    if isinstance(value, str):
        return _scalar(value, in_flow=True)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(_flow(item) for item in value) + "]"


def _scalar(text: str, *, in_flow: bool) -> str:
    """The text, in quotes where it needs them; what JSON escapes, YAML reads in the same way."""
    special = _NOT_PLAIN.search(text) or (in_flow and _is_taken_apart(text))
    return json.dumps(text, ensure_ascii=False) if special else text


def _is_taken_apart(text: str) -> bool:
    """Whether a plain text inside brackets would be, or would look like, a part of another."""
    is_open = text.count("(") > text.count(")")
    return is_open or is_comprehension(text) or _NOT_PLAIN_IN_FLOW.search(text) is not None
