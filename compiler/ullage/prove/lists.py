"""When a list has an element, as far as proofs know.

Of a list that has a name they know that it is not empty, since `validate` refuses one that is, and
its extremes. Of any other one they know what follows from the lists that it is made of.
"""

from __future__ import annotations

from collections.abc import Iterator

from ullage.expr.tree import (
    TRUE,
    Binary,
    Call,
    Comparison,
    Comprehension,
    Conditional,
    Expr,
    Integer,
    ListOf,
    Progression,
    conjunction,
    disjunction,
    negation,
    substitute,
)


def has_element(source: Expr) -> Expr:
    """A condition under which the list has an element; where it does not hold, it may be empty."""
    return disjunction(*(condition for condition, _ in known_elements(source)))


def has_at_least(least: Expr, source: Expr) -> Expr:
    """A condition under which the list has an element that is at least `least`."""
    if has_element(source) == TRUE:
        return Comparison("<=", least, Call("max", (source,)))
    return disjunction(
        *(
            conjunction(where, Comparison("<=", least, each))
            for where, each in known_elements(source)
        )
    )


def known_elements(source: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Some elements that the list has, each with the condition under which it has it."""
    match source:
        case ListOf(elements=elements):
            for each in elements:
                yield from _known_of(each) if isinstance(each, Progression) else ((TRUE, each),)
        case Comprehension(element, variable, inner, condition):
            for where, drawn in known_elements(inner):
                value: dict[str, Expr] = {variable: drawn}
                lets_through = TRUE if condition is None else substitute(condition, value)
                yield conjunction(where, lets_through), substitute(element, value)
        case Conditional(condition, then, otherwise):
            for where, each in known_elements(then):
                yield conjunction(condition, where), each
            for where, each in known_elements(otherwise):
                yield conjunction(negation(condition), where), each
        case _:
            yield TRUE, Call("max", (source,))
            yield TRUE, Call("min", (source,))


def _known_of(progression: Progression) -> Iterator[tuple[Expr, Expr]]:
    """The first and the last of a range, which are there if its end is behind its first."""
    first, end, step = progression.first, progression.end, progression.step
    exists = Comparison("<", first, end)
    width = Binary("-", Binary("-", end, Integer(1)), first)
    steps = Binary("*", Binary("//", width, step), step)
    yield exists, first
    yield exists, Binary("+", first, steps)
