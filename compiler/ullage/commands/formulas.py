"""Formulas over several lines, broken where they are put together.

Works on the text that the printer wrote: its brackets are balanced, and outside of them the
operator that binds least is where the formula falls apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

INDENT: Final = "  "

_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
# From the loosest to the tightest; an operator starts the line that it continues.
_OPERATORS: Final = (
    (" if ", " else ", " for "),
    (" or ",),
    (" and ",),
    (" == ", " != ", " <= ", " >= ", " < ", " > "),
    (" + ", " - "),
    (" * ", " // ", " % "),
)


def broken(formula: str, width: int) -> list[str]:
    """The lines of `formula`, at most `width` wide where its names allow; blanks aside it stays.

    >>> broken("min(rows, 8) if sync else rows * tokens_per_request", 34)
    ['min(rows, 8)', '  if sync', '  else rows * tokens_per_request']
    """
    if len(formula) <= width:
        return [formula]
    for operators in _OPERATORS:
        parts = _split(formula, operators)
        if len(parts) > 1:
            return _chain(parts, width) if _is_chain(parts) else _joined(parts, width)
    return _bracketed(formula, width)


def _joined(parts: Sequence[str], width: int) -> list[str]:
    """The first operand, and below it the others with their operators, filled into lines."""
    lines = broken(parts[0], width)
    indent = "" if lines[-1] in _CLOSING else INDENT
    takes_more = lines[-1] in _CLOSING
    for part in parts[1:]:
        if takes_more and len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
            continue
        continued = _continued(part, width - len(indent), indent)
        lines.extend(continued)
        takes_more = len(continued) == 1
    return lines


def _is_chain(parts: Sequence[str]) -> bool:
    """Whether the parts are of choices that follow one another: a if c else b if d else e."""
    conditions = all(part.startswith("if ") for part in parts[1::2])
    return len(parts) > 3 and conditions and all(part.startswith("else ") for part in parts[2::2])


def _chain(parts: Sequence[str], width: int) -> list[str]:
    """A line or more for each arm of a choice, with its condition behind it."""
    lines: list[str] = []
    for start in range(0, len(parts), 2):
        arm = parts[start : start + 2]
        word = "else " if start else ""
        together = " ".join(arm)
        if len(together) <= width:
            lines.append(together)
            continue
        first, *rest = _joined([arm[0].removeprefix(word), *arm[1:]], width - len(word))
        lines.extend([word + first, *rest])
    return lines


def _continued(part: str, width: int, indent: str) -> list[str]:
    operator, _, operand = part.partition(" ")
    first, *rest = broken(operand, width - len(operator) - 1)
    return [f"{indent}{operator} {first}", *(indent + line for line in rest)]


def _bracketed(formula: str, width: int) -> list[str]:
    """`head(a, b)` with an operand on each line; a name that is too long stays as it is."""
    start = next((i for i, char in enumerate(formula) if char in _OPENING), None)
    if start is None or _closing(formula, start) != len(formula) - 1 or start + 2 == len(formula):
        return [formula]
    operands = list(_separated(formula[start + 1 : -1]))
    lines = [formula[: start + 1]]
    for position, operand in enumerate(operands):
        comma = "," if position < len(operands) - 1 else ""
        *rest, last = broken(operand, width - len(INDENT) - len(comma))
        lines.extend(INDENT + line for line in (*rest, last + comma))
    return [*lines, formula[-1]]


def _split(formula: str, operators: Sequence[str]) -> list[str]:
    """The formula cut before each of the operators that stands outside of all brackets."""
    cuts = [0]
    for index in _outside(formula):
        if any(formula.startswith(operator, index) for operator in operators):
            cuts.append(index)
    ends = [*cuts[1:], len(formula)]
    return [formula[start:end].strip() for start, end in zip(cuts, ends, strict=True)]


def _separated(operands: str) -> Iterator[str]:
    start = 0
    for index in _outside(operands):
        if operands[index] == ",":
            yield operands[start:index].strip()
            start = index + 1
    yield operands[start:].strip()


def _outside(text: str) -> Iterator[int]:
    """The indices of all characters that no bracket encloses."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth == 0:
            yield index


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] in _OPENING) - (text[index] in _CLOSING)
        if depth == 0:
            return index
    return len(text)
