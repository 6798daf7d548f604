"""Random wrappers as records: whatever loading accepts."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from support.spec_words import names, texts
from ullage.expr.tree import Expr
from ullage.place import BUILT_IN
from ullage.spec.wrappers import (
    Each,
    FormulaValue,
    GivenKind,
    GivenValue,
    RunArgument,
    SlotValue,
    TextValue,
    Wrapper,
    WrapperArgument,
)

_place = st.just(BUILT_IN)


def wrappers(
    formulas: st.SearchStrategy[Expr], conditions: st.SearchStrategy[Expr]
) -> st.SearchStrategy[tuple[Wrapper, ...]]:
    """Wrappers that take slots at their own index only."""

    run = st.builds(RunArgument, names(), _kinds(), _place)

    def of(each: Each | None) -> st.SearchStrategy[Wrapper]:
        return st.builds(
            Wrapper,
            name=names(),
            library=st.sampled_from(("kernels.Attention", "_a.b_2.C", "a.b")),
            when=conditions,
            each=st.just(each),
            make=_arguments(formulas, each),
            plan=_arguments(formulas, each),
            run=st.lists(run, max_size=3, unique_by=lambda found: found.name).map(tuple),
            doc=texts(),
            place=_place,
        )

    each = st.none() | st.builds(Each, names(), formulas, _place)
    return st.lists(each.flatmap(of), max_size=2, unique_by=lambda found: found.name).map(tuple)


def _arguments(
    formulas: st.SearchStrategy[Expr], each: Each | None
) -> st.SearchStrategy[tuple[WrapperArgument, ...]]:
    at = st.none() if each is None else st.none() | st.just(each.index)
    values = st.one_of(
        st.builds(SlotValue, names(), _place, at, st.booleans()),
        st.builds(GivenValue, _kinds(), _place),
        st.builds(FormulaValue, formulas),
        st.builds(TextValue, texts()),
    )
    arguments = st.builds(WrapperArgument, names(), values, _place)
    return st.lists(arguments, max_size=3, unique_by=lambda found: found.name).map(tuple)


def _kinds() -> st.SearchStrategy[GivenKind]:
    return st.sampled_from(get_args(GivenKind))
