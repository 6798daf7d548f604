"""Random expressions as they are loaded, before a name is resolved."""

from __future__ import annotations

from hypothesis import strategies as st

from support.expressions import (
    FULL,
    boolean_expressions,
    expressions,
    integer_expressions,
    list_expressions,
)
from support.spec_words import names
from ullage.expr.tree import TRUE, Enumerant, Expr, Name, transform


def _bare(expr: Expr) -> Expr:
    """As it is loaded: only resolving tells the value of an enum from another name."""
    return transform(expr, lambda node: Name(node.value) if isinstance(node, Enumerant) else node)


@st.composite
def integers(draw: st.DrawFn) -> Expr:
    return _bare(draw(integer_expressions(FULL, 2)))


@st.composite
def relations(draw: st.DrawFn) -> Expr:
    return _bare(draw(boolean_expressions(FULL, 2)))


def conditions() -> st.SearchStrategy[Expr]:
    return st.one_of(st.just(TRUE), relations())


@st.composite
def lists(draw: st.DrawFn) -> Expr:
    return _bare(draw(list_expressions(FULL, 2)))


@st.composite
def anything(draw: st.DrawFn) -> Expr:
    return _bare(draw(expressions(FULL, 2)))


def pairs() -> st.SearchStrategy[tuple[tuple[str, Expr], ...]]:
    return st.dictionaries(names(), anything(), max_size=2).map(lambda found: tuple(found.items()))
