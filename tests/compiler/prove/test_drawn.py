"""A configuration that is drawn for some conditions is legal and satisfies them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bounds import defined, domain, flag, limit, number, read
from ullage.expr.evaluate import evaluate
from ullage.expr.tree import Expr
from ullage.prove.drawn import DrawnExamples
from ullage.prove.solver import Solver
from ullage.prove.standing import StandingSolver

DOMAIN = domain(
    number("rows", 1, "2^40"),
    number("width", 1, 64),
    flag("wide"),
    defined("cells", "rows * width"),
    limit("not wide or width > 8"),
)
POOL = tuple(
    read(text)
    for text in (
        "wide",
        "not wide",
        "width <= 8",
        "width == 16",
        "rows == 1234567",
        "cells > 2^31",
        "cells < 100",
    )
)


@given(st.lists(st.sets(st.sampled_from(POOL)), min_size=1, max_size=4))
def test_what_is_drawn_is_legal_and_satisfies_the_conditions(questions: list[set[Expr]]) -> None:
    drawn = DrawnExamples(DOMAIN)
    for question in questions:
        found = drawn.satisfying([each for each in POOL if each in question])
        if found is not None:
            for each in (*question, *(constraint.that for constraint in DOMAIN.constraints)):
                assert evaluate(each, found) is True
            assert evaluate(read("rows * width == cells"), found) is True


def test_the_same_questions_draw_the_same_examples() -> None:
    first, second = ([DrawnExamples(DOMAIN).satisfying([each]) for each in POOL] for _ in range(2))
    assert first == second
    assert any(each is not None for each in first)


def test_conditions_about_more_than_configurations_draw_nothing() -> None:
    assert DrawnExamples(DOMAIN).satisfying([read("requests <= rows")]) is None


def test_what_a_drawn_configuration_satisfies_is_possible_without_asking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solver = Solver(DOMAIN)

    def refuse(*_: object) -> None:
        raise AssertionError("z3 was asked")

    monkeypatch.setattr(StandingSolver, "check", refuse)
    monkeypatch.setattr(Solver, "query", refuse)
    assert not solver.excludes(read("wide"), read("cells > 2^31"))
    with pytest.raises(AssertionError):
        solver.excludes(read("wide"), read("width <= 8"))


def test_what_no_configuration_satisfies_is_excluded() -> None:
    solver = Solver(DOMAIN)
    assert solver.excludes(read("wide"), read("width <= 8"))
    assert not solver.has_example(read("cells < 1"))


def test_what_a_solver_apart_draws_does_not_depend_on_earlier_questions() -> None:
    asked, other = Solver(DOMAIN), Solver(DOMAIN)
    for each in POOL:
        asked.has_example(each)
    pairs = [
        (one.has_example(*POOL[:2]), one.has_example(POOL[4], POOL[5]))
        for one in (asked.apart(), other.apart())
    ]
    assert pairs[0] == pairs[1]
