"""Formulas over several lines: nothing is lost, nothing is wider than it must be."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.commands.formulas import broken
from ullage.expr.parse import parse
from ullage.expr.spell import spell
from ullage.place import BUILT_IN

NAMES = st.sampled_from(
    ["rows", "tp_size", "max_running_requests", "speculative_draft_tokens", "4"]
)


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("align_up({}, {})".format, parts, parts),
        st.builds("max({}, {}, {})".format, parts, parts, parts),
        st.builds("({} {} {})".format, parts, st.sampled_from(["+", "-", "*", "//", "%"]), parts),
        st.builds("({} if {} <= {} else {})".format, parts, parts, parts, parts),
        st.builds("({0} if {1} < {2} and {1} != {0} else {2})".format, parts, parts, parts),
    )


FORMULAS = st.recursive(NAMES, combined, max_leaves=20).map(
    lambda text: spell(parse(text, lambda offset, width: BUILT_IN))
)


@given(FORMULAS, st.integers(min_value=20, max_value=100))
def test_only_blanks_change(formula: str, width: int) -> None:
    lines = broken(formula, width)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", formula)


@given(FORMULAS, st.integers(min_value=20, max_value=100))
def test_the_lines_joined_by_blanks_are_the_same_expression(formula: str, width: int) -> None:
    joined = parse(" ".join(broken(formula, width)), lambda offset, width: BUILT_IN)
    assert spell(joined) == formula


@given(FORMULAS, st.integers(min_value=20, max_value=100))
def test_a_line_that_is_too_wide_has_nowhere_to_break(formula: str, width: int) -> None:
    for line in broken(formula, width):
        words = line.split()
        assert len(line) <= width or len(words) <= 2, f"{line!r} is wider than {width}"


@given(FORMULAS)
def test_a_formula_that_fits_stays_on_one_line(formula: str) -> None:
    assert broken(formula, len(formula)) == [formula]


@pytest.mark.parametrize(
    ("formula", "lines"),
    [
        ("min(rows, 8) if sync else rows * long_names",
         ["min(rows, 8)", "  if sync", "  else rows * long_names"]),
        ("align_up(requests * draft_tokens, tp_size)",
         ["align_up(", "  requests * draft_tokens,", "  tp_size", ")"]),
        ("(a_long_name + another_name + 1) * factor",
         ["(", "  a_long_name", "    + another_name + 1", ") * factor"]),
        ("an_unbreakable_name_of_many_characters", ["an_unbreakable_name_of_many_characters"]),
    ],
)  # fmt: skip
def test_a_formula_breaks_at_the_operator_that_binds_least(formula: str, lines: list[str]) -> None:
    assert broken(formula, 30) == lines
