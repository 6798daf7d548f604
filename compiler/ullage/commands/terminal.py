"""Writing for people: one console for results."""

from __future__ import annotations

import sys
from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH: Final = 100
NO_BREAK: Final = "\u00a0"  # stands for a blank that keeps words together
_LEAST_WIDTH: Final = 60
_MOST_WIDTH: Final = 120

Styled = str | tuple[str, str]


class _Console(Console):
    """rich would end the process with exit code 1, which here means that errors were found."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _stripped(line: list[Segment]) -> Text:
    """A rendered line without the blanks that fill up its last column."""
    text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
    text.rstrip()
    return text


def result_console() -> Console:
    """The standard output; without a terminal it has one width, so that output is stable."""
    console = _Console(file=sys.stdout, highlight=False, emoji=False, markup=False)
    if console.is_terminal:
        console.width = max(_LEAST_WIDTH, min(console.width, _MOST_WIDTH))
    else:
        console.width = PLAIN_WIDTH
    return console


class Page:
    """Lines for the console, styled where it can show styles."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def width(self) -> int:
        """The number of columns that lines should keep to."""
        return self._console.width

    def line(self, *parts: Styled, indent: int = 0) -> None:
        """One line of texts and (text, style) pairs."""
        text = Text.assemble(" " * indent, *parts)
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def lines(self, lines: list[str], indent: int = 0, style: str = "") -> None:
        """Several lines in one style."""
        for line in lines:
            self.line((line, style), indent=indent)

    def wrapped(self, text: str, indent: int = 0) -> None:
        """A text over as many lines as it takes; it is not broken at NO_BREAK."""
        margin = " " * indent
        lines = wrap(
            text,
            self.width,
            initial_indent=margin,
            subsequent_indent=f"{margin}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        self.lines([line.replace(NO_BREAK, " ") for line in lines])

    def table(self, table: Table) -> None:
        """A table, as wide as its content and at most as the console."""
        for line in self._console.render_lines(table, pad=False):
            self._console.print(_stripped(line), soft_wrap=True)

    def sides(self, left: list[Styled], right: str, indent: int = 0) -> None:
        """`left` and, at the right margin if there is room, `right` dimmed."""
        start = Text.assemble(" " * indent, *left)
        gap = self.width - start.cell_len - len(right)
        self._console.print(start + Text(" " * max(2, gap) + right, "dim"), soft_wrap=True)
