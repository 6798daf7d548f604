"""Where in the specs something was written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span of one source line; `line` and `column` count from 1, `width` in characters."""

    file: str
    line: int
    column: int
    width: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def __reduce__(self) -> tuple[type[Place], tuple[str, int, int, int]]:
        """As another process makes it again, at a third of what dataclasses take for it."""
        return Place, (self.file, self.line, self.column, self.width)

    @property
    def short(self) -> str:
        """`file:line`, as generated code and explanations cite it."""
        return f"{self.file}:{self.line}"

    def within(self, offset: int, width: int) -> Place:
        """The part of this span that starts `offset` characters in."""
        return Place(self.file, self.line, self.column + offset, max(1, width))


BUILT_IN = Place("<built in>", 1, 1)
