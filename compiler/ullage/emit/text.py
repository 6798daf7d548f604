"""Text from specs as it may stand in generated Python: comments, docstrings and literals.

Whatever an author wrote, nothing here can end a comment, a docstring or a string early.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

WIDTH = 100
"""The longest line of generated code."""

LITERAL_WIDTH = 72
"""The longest piece of a string literal, which leaves room for its indentation."""

# Characters that linters hold for the ones beside them: a multiplication sign, dashes, quotes.
_ASCII = str.maketrans("\u00d7\u2013\u2010\u2212\u2018\u2019\u00b4", "x---'''")
_KEPT = frozenset("…≤≥→·—“”°µ²³")


def plain(text: str) -> str:
    """One line in which every character is what it looks like; others are written as escapes."""
    line = " ".join(text.split())
    if line.isascii() and line.isprintable():
        return line
    return "".join(map(_plain, line.translate(_ASCII)))


def _plain(character: str) -> str:
    is_letter = "\u00c0" <= character <= "\u00ff" and character != "\u00f7"
    is_ideograph = "\u4e00" <= character <= "\u9fff"
    if " " <= character <= "~" or character in _KEPT or is_letter or is_ideograph:
        return character
    return character.encode("unicode_escape").decode("ascii")


def literal(text: str) -> str:
    """The text as a string literal; a long one in several pieces that stand side by side."""
    return " ".join(ascii(piece) for piece in _pieces(text) or [""])


def _pieces(text: str) -> list[str]:
    wrapper = textwrap.TextWrapper(
        LITERAL_WIDTH,
        expand_tabs=False,
        replace_whitespace=False,
        drop_whitespace=False,
        break_on_hyphens=False,
    )
    return wrapper.wrap(text)


def comment(text: str, indent: int = 0) -> str:
    """The text as comment lines, without indentation of the first."""
    width = max(WIDTH - indent - 2, 20)
    lines = textwrap.wrap(plain(text), width, break_long_words=False, break_on_hyphens=False)
    return ("\n" + " " * indent).join(f"# {line}" for line in lines or [""])


def docstring(paragraphs: Iterable[str], indent: int = 4, *, listing: Iterable[str] = ()) -> str:
    """A docstring of these paragraphs, each wrapped, without indentation of the first line.

    `listing`: lines that follow as they are.
    """
    texts = [_in_docstring(sentence) for each in paragraphs if (sentence := plain(each))]
    margin = " " * indent
    listed = "".join(f"\n{margin}{_in_docstring(each)}".rstrip(" ") for each in listing)
    if not listed and len(texts) == 1 and len(texts[0]) <= WIDTH - indent - 6:
        return f'"""{texts[0]}"""'
    # The first line leaves room for closing quotes, which the formatter puts behind a lone line.
    rooms = [WIDTH - indent - 6, *(WIDTH - indent for _ in texts[1:])]
    wrapped = [
        f"\n{margin}".join(
            textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        )
        for text, room in zip(texts, rooms, strict=False)
    ]
    body = f"\n\n{margin}".join(wrapped)
    separator = "\n" if listed else ""
    return f'"""{body}{separator}{listed}\n{margin}"""'


def entries(described: Iterable[tuple[str, str]], indent: int = 4) -> Iterator[str]:
    """Names with what they are, each wrapped, as lines for a docstring of this indentation."""
    for name, text in described:
        yield from textwrap.wrap(
            plain(f"{name}: {text}"),
            WIDTH - indent,
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _in_docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "'")


def sentence(text: str) -> str:
    """The text as the first sentence of a docstring: a capital in front, a full stop behind."""
    cleaned = plain(text)
    if not cleaned:
        return ""
    return cleaned[0].upper() + cleaned[1:] + ("" if cleaned[-1] in ".!?:" else ".")


def tuple_of(parts: Iterable[str]) -> str:
    """A tuple of these sources; only one of a single element ends with a comma."""
    listed = list(parts)
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"
