"""The search proposes proofs that the checker accepts, and none of what is false."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.bounds import Proving, defined, domain, flag, limit, number, read, values
from support.expressions import Vocabulary, boolean_expressions, integer_expressions
from support.proofs import altered, claim_of
from ullage.bound.search import Search
from ullage.bound.steps import Step
from ullage.expr.environment import EvaluationError, Value
from ullage.expr.evaluate import evaluate
from ullage.expr.spell import spell
from ullage.expr.tree import (
    Binary,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    negation,
    substitute,
)
from ullage.prove.checker import Checker
from ullage.prove.solver import Solver

HALF = settings(max_examples=settings().max_examples // 2)
"""For properties of which each example asks z3 many times."""

WORDS = Vocabulary(enums=(("worker", ("target", "draft")),))
DOMAIN = domain(
    number("m", 0, 3),
    number("n", 1, 3),
    number("x", 1, 4),
    flag("p"),
    flag("q"),
    values("xs", 1, 3),
    number("worker", 0, 1),
    limit("m <= n"),
)
SOLVER = Solver(DOMAIN)
LISTS: tuple[list[int], ...] = ([1], [2, 3])
ASSIGNMENTS: list[dict[str, Value]] = [
    {"m": m, "n": n, "x": x, "p": p, "q": q, "worker": worker, "xs": xs}
    for m, n, x, p, q, worker, xs in itertools.product(
        range(4), range(1, 4), range(1, 5), (False, True), (False, True), (0, 1), LISTS
    )
    if m <= n
]


def breaks(left: Expr, right: Expr, given_too: tuple[Expr, ...] = ()) -> dict[str, Value] | None:
    """A legal assignment in which left > right, if there is one."""
    for found in ASSIGNMENTS:
        try:
            if all(evaluate(each, found) for each in given_too) and evaluate(
                Comparison(">", left, right), found
            ):
                return found
        except EvaluationError:
            continue
    return None


def larger(expr: Expr, other: Expr, how: int) -> Expr:
    """An expression that is often no less than `expr`, in one of the ways that padding has."""
    ways = (
        lambda: Call("max", (expr, other)),
        lambda: Call("align_up", (expr, Name("n"))),
        lambda: Binary("+", expr, Name("m")),
        lambda: substitute(expr, {"m": Name("n")}),
        lambda: Binary("*", expr, Name("x")),
        lambda: Conditional(Name("p"), expr, Call("max", (other, expr))),
        lambda: other,
        lambda: Call("min", (Call("align_up", (expr, Name("x"))), Binary("+", expr, Integer(3)))),
    )
    return ways[how % len(ways)]()


def proposal(left: Expr, right: Expr, given_too: tuple[Expr, ...] = ()) -> Step | None:
    return Search(Proving(SOLVER), given_too).at_most(left, right)


@HALF
@given(
    integer_expressions(WORDS, 2),
    integer_expressions(WORDS, 2),
    st.integers(0, 7),
    st.integers(0, 7),
)
def test_what_is_proposed_is_accepted_and_true(
    expr: Expr, other: Expr, first: int, second: int
) -> None:
    right = larger(larger(expr, other, first), other, second)
    step = proposal(expr, right)
    if step is not None:
        checker = Checker(SOLVER)
        assert checker.holds(step, (expr, right), ()), [str(flaw) for flaw in checker.flaws]
        assert breaks(expr, right) is None


@HALF
@given(integer_expressions(WORDS, 2), boolean_expressions(WORDS, 1), st.integers(0, 7))
def test_what_is_proposed_under_assumptions_is_true_where_they_hold(
    expr: Expr, assumption: Expr, how: int
) -> None:
    right = larger(expr, Integer(1), how)
    for case in (assumption, negation(assumption)):
        step = proposal(expr, right, (case,))
        if step is not None:
            assert Checker(SOLVER).holds(step, (expr, right), (case,))
            assert breaks(expr, right, (case,)) is None


@HALF
@given(integer_expressions(WORDS, 2), integer_expressions(WORDS, 2))
def test_nothing_false_is_proposed(left: Expr, right: Expr) -> None:
    for smaller, greater in ((left, right), (right, left)):
        step = proposal(smaller, greater)
        if breaks(smaller, greater) is not None and step is not None:
            assert not Checker(SOLVER).holds(step, (smaller, greater), ())


@pytest.mark.slow
@given(integer_expressions(WORDS, 2), integer_expressions(WORDS, 1), st.integers(0, 7))
def test_an_altered_proposal_is_rejected(expr: Expr, other: Expr, how: int) -> None:
    step = proposal(expr, larger(expr, other, how))
    for broken in altered(step) if step is not None else ():
        assert not Checker(SOLVER).holds(broken, claim_of(step), ())  # type: ignore[arg-type]  # a step


ENGINE = domain(
    number("cap", 1, 4096),
    number("tp", 1, 64),
    number("cp", 1, 8),
    number("topk", 1, 64),
    number("width", 1, 512),
    number("pool", 1, 2**31),
    number("page", 1, 1024),
    flag("sync"),
    values("sizes", 1, 4096),
    defined("align", "2 * cp if sync else 1"),
    limit("tp % cp == 0"),
)
ENGINE_SOLVER = Solver(ENGINE)
BATCH = ("1 <= rows", "rows <= cap", "rows <= toks", "toks <= pool")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("rows", "cap"),
        ("rows * width", "cap * width"),
        ("rows * topk * width", "cap * topk * width"),
        ("align_up(rows, tp)", "align_up(cap, tp)"),
        ("align_up(align_up(rows * topk, tp), align)", "align_up(align_up(cap * topk, tp), align)"),
        ("align_up(rows * width, tp)", "align_up(cap, tp) * width"),
        ("align_up(align_up(rows, tp), cp) * width", "align_up(align_up(cap, tp), cp) * width"),
        ("cdiv(rows * width, page)", "cdiv(cap, page) * width"),
        ("rows", "align_up(cap, tp)"),
        ("rows", "max(align_up(cap, tp), pool)"),
        ("min(rows * width, pool)", "min(cap * width, pool)"),
        ("max(rows, toks)", "max(cap, pool)"),
        ("rows if sync else align_up(rows, tp)", "align_up(cap, tp)"),
        ("align_up(rows * width, tp) // width", "align_up(cap * width, tp) // width"),
        ("rows * width // width", "rows"),
        ("rows", "rows * width // width"),
        ("align_up(cap, tp) * width // width", "align_up(cap, tp)"),
        ("rows + (toks - rows) // page", "cap + (pool - cap) // page if cap <= pool else toks"),
        ("rows + (toks - rows) // page", "min(cap, toks) + (toks - min(cap, toks)) // page"),
        ("cdiv(toks, page)", "rows + (toks - rows) // page"),
        ("toks - rows", "pool - 1"),
        ("pool // page", "pool"),
    ],
)
def test_what_capacities_need_is_found_and_accepted(left: str, right: str) -> None:
    given_too = tuple(read(each) for each in BATCH)
    step = Search(Proving(ENGINE_SOLVER), given_too).at_most(read(left), read(right))
    assert step is not None
    checker = Checker(ENGINE_SOLVER)
    assert checker.holds(step, (read(left), read(right)), given_too), checker.flaws


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("align_up(rows, tp)", "cap"),
        ("align_up(rows * width, tp)", "cap * width"),
        ("align_up(rows, tp) * width", "align_up(cap * width, tp)"),
        ("rows * topk", "cap * width"),
        ("cap", "rows"),
        ("max(rows, toks)", "cap"),
        ("rows + toks", "cap + pool - 1"),
        ("cap - rows", "cap - 2"),
        ("rows // page", "cap // width"),
        ("rows if sync else toks", "cap"),
        ("toks // rows", "pool // cap"),
    ],
)
def test_what_capacities_need_not_be_is_not_found(left: str, right: str) -> None:
    given_too = tuple(read(each) for each in BATCH)
    assert Search(Proving(ENGINE_SOLVER), given_too).at_most(read(left), read(right)) is None


def test_a_proof_is_looked_for_once() -> None:
    asked: list[str] = []

    class Counting(Proving):
        def __call__(self, wanted: Expr, given_too: tuple[Expr, ...]) -> bool:
            asked.append(spell(wanted))
            return self.decider.proves(wanted, given_too)

    search = Search(Counting(ENGINE_SOLVER), ())
    sides = (read("align_up(cap, tp) * width"), read("align_up(pool, tp) * width"))
    first = search.at_most(*sides)
    before = len(asked)
    assert search.at_most(*sides) == first
    assert len(asked) == before


def test_signs_are_found_by_form_or_asked_for() -> None:
    search = Search(Proving(SOLVER), ())
    assert search.at_least(read("n * x"), 1)
    assert search.at_least(read("max(m - 3, 1)"), 1)
    assert search.at_least(read("align_up(m, x)"), 0)
    assert search.at_least(read("n - m"), 0)
    assert not search.at_least(read("m"), 1)
    assert not search.at_least(read("m - n"), 0)
    assert not search.at_least(read("min(m, x)"), 1)
    assert search.at_least(read("(m if m >= 1 else x)"), 1)
    assert not search.at_least(read("(x if m >= 1 else m)"), 1)


@HALF
@given(integer_expressions(WORDS, 2), st.integers(0, 2))
@pytest.mark.slow
def test_a_sign_that_is_found_is_true(expr: Expr, bound: int) -> None:
    if Search(Proving(SOLVER), ()).at_least(expr, bound):
        assert breaks(Integer(bound), expr) is None


def test_the_next_element_is_compared_only_where_there_is_one() -> None:
    beyond = (read("next_in(m, xs)"), read("next_in(n, xs)"))
    assert proposal(*beyond) is None
    inside = (read("n <= max(xs)"),)
    step = proposal(*beyond, inside)
    assert step is not None
    assert Checker(SOLVER).holds(step, beyond, inside)


def test_what_an_example_refutes_is_not_looked_for() -> None:
    class Refuting(Proving):
        def refutes(self, wanted: Expr, given_too: tuple[Expr, ...]) -> bool:
            return True

    assert Search(Refuting(SOLVER), ()).at_most(read("x"), read("x + 1")) is None


class Silent:
    """An oracle that is not to be asked, since everything is assumed."""

    def __call__(self, wanted: Expr, given: tuple[Expr, ...]) -> bool:
        raise AssertionError(f"asked for {spell(wanted)}")

    def refutes(self, wanted: Expr, given: tuple[Expr, ...]) -> bool:
        return False


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("max(m, n, x)", "max(1, 2, 3) if p else 0"),
        ("max(m, n, x) if p else 7", "max(1, 2, 3)"),
        ("n", "max(1, 2 * x, 3, 2)"),
        ("min(5 * x, 3 * x, n)", "2"),
        ("x * x", "max(n * n, x * x if p else 7)"),
        ("max(m, n)", "max(1, 2) if 1 <= 1 else m * m"),
    ],
)
def test_what_is_assumed_is_looked_for_before_anything_is_asked(left: str, right: str) -> None:
    assumed = ("p", "m <= 1", "n <= 2", "x <= 3")
    search = Search(Silent(), tuple(map(read, assumed)))
    assert search.at_most(read(left), read(right)) is not None
