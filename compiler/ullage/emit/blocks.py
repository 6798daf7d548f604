"""Statements as a tree, and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Block = tuple["Statement", ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One simple statement or comment."""

    text: str


@dataclass(frozen=True, slots=True)
class If:
    """A choice between two blocks; the second may be empty."""

    condition: str
    then: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True)
class With:
    """A block inside of contexts, outermost first."""

    contexts: tuple[str, ...]
    body: Block


Statement = Line | If | With


def lines_of(block: Block) -> Iterator[str]:
    """The lines of a block, without indentation of the outermost."""
    for statement in block:
        yield from _lines(statement)


def _lines(statement: Statement) -> Iterator[str]:
    match statement:
        case Line(text):
            yield text
        case With(contexts, body):
            yield f"with {', '.join(contexts)}:"
            yield from _indented(body)
        case If(condition, (), otherwise):
            yield f"if not ({condition}):"
            yield from _indented(otherwise)
        case If(condition, (If(inner, then, ()),), ()):
            yield from _lines(If(f"{_bracketed(condition)} and {_bracketed(inner)}", then))
        case If(condition, then, otherwise):
            yield f"if {condition}:"
            yield from _indented(then)
            yield from _otherwise(otherwise)


def _otherwise(block: Block) -> Iterator[str]:
    if not block:
        return
    if len(block) == 1 and isinstance(block[0], If) and block[0].then:
        first, *rest = _lines(block[0])
        yield f"el{first}"
        yield from rest
        return
    yield "else:"
    yield from _indented(block)


def _indented(block: Block) -> Iterator[str]:
    return (f"    {line}" for line in lines_of(block))


def _bracketed(condition: str) -> str:
    return f"({condition})" if " or " in condition or " if " in condition else condition
