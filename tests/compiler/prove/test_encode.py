"""z3 and `evaluate` agree on what an expression means, wherever it has a value."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from support.bounds import defined, domain, flag, kinds_of, limit, number, read, values
from support.expressions import (
    ELEMENT,
    LARGEST,
    Vocabulary,
    boolean_expressions,
    integer_expressions,
    value_or_none,
)
from support.expressions import values as assignments
from ullage.bound.problem import Domain
from ullage.expr.environment import Environment, Value
from ullage.expr.tree import (
    Boolean,
    Call,
    Comparison,
    Comprehension,
    Expr,
    Integer,
    ListOf,
    Name,
    Progression,
    conjunction,
    negation,
    walk,
)
from ullage.prove.solver import Solver

ENUM = ("target", "draft", "other")
WORDS = Vocabulary(enums=(("worker", ENUM),))
DOMAIN = domain(
    *(number(name, -LARGEST, LARGEST) for name in WORDS.integers),
    *(flag(name) for name in WORDS.booleans),
    *(values(name, -LARGEST, LARGEST) for name in WORDS.lists),
    number("worker", 0, len(ENUM) - 1),
)
SOLVER = Solver(DOMAIN)


def pins(assignment: dict[str, Value]) -> list[Expr]:
    """What fixes every name; a list only by its extremes, which is all that z3 knows of it."""
    found: list[Expr] = []
    for name, value in assignment.items():
        match value:
            case bool():
                found.append(Name(name) if value else negation(Name(name)))
            case int():
                found.append(Comparison("==", Name(name), Integer(value)))
            case _:
                found.append(_extreme_is(name, "max", max(value)))
    return found


def _extreme_is(name: str, function: str, value: int) -> Expr:
    call = Call("max" if function == "max" else "min", (Name(name),))
    return Comparison("==", call, Integer(value))


def equals(expr: Expr, value: Value | None) -> Expr:
    """The claim that the expression has the value."""
    if isinstance(value, bool):
        return expr if value else negation(expr)
    assert isinstance(value, int)
    return Comparison("==", expr, Integer(value))


def has_lists(expr: Expr) -> bool:
    """Whether z3 may know less of the expression than its value."""
    return any(
        isinstance(part, Comprehension | Progression)
        or (isinstance(part, Name) and part.name in WORDS.lists)
        or (isinstance(part, Call) and part.function == "next_in")
        for part in walk(expr)
    )


def possible(solver: Solver, condition: Expr) -> bool:
    """Whether z3 takes the condition for possible in the domain."""
    query, _ = solver.query((condition,))
    return bool(query.check() == z3.sat)


@given(st.one_of(integer_expressions(WORDS), boolean_expressions(WORDS)), assignments(WORDS))
def test_z3_finds_the_value_that_evaluate_finds(expr: Expr, found: dict[str, Value]) -> None:
    value = value_or_none(expr, Environment(found))
    if value is None:
        return
    wanted = equals(expr, value)
    assert possible(SOLVER, conjunction(*pins(found), wanted))
    if not has_lists(expr):
        assert not possible(SOLVER, conjunction(*pins(found), negation(wanted)))


@pytest.mark.parametrize("value", range(-9, 10))
@pytest.mark.parametrize("divisor", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "text",
    ["m // n", "m % n", "cdiv(m, n)", "align_up(m, n)", "align_up(align_up(m, n), n + 1)"],
)
def test_rounding_is_that_of_python_below_zero_too(text: str, value: int, divisor: int) -> None:
    found: dict[str, Value] = {"m": value, "n": divisor}
    expr = read(text)
    wanted = equals(expr, value_or_none(expr, Environment(found)))
    assert SOLVER.proves(wanted, pins(found))


@pytest.mark.parametrize("text", ["m // n", "m % n", "cdiv(m, n)", "align_up(m, n)"])
def test_a_divisor_below_one_makes_nothing_impossible(text: str) -> None:
    for divisor in (0, -1):
        found: dict[str, Value] = {"m": 7, "n": divisor}
        somehow = read(f"{text} >= x or {text} < x")
        assert possible(SOLVER, conjunction(*pins(found), somehow))


@pytest.mark.parametrize("text", ["m // n", "cdiv(m, n)"])
def test_a_quotient_by_less_than_one_may_be_anything(text: str) -> None:
    for divisor in (0, -1):
        found: dict[str, Value] = {"m": 7, "n": divisor}
        for value in (-5, 0, 7):
            assert possible(SOLVER, conjunction(*pins(found), equals(read(text), value)))


def test_a_part_without_value_says_nothing_about_the_rest() -> None:
    for text in ("m // n + 1 if n >= 1 else m", "next_in(m, [1, 2]) if m <= 2 else m"):
        expr = conjunction(read("n == 0 and m == 9"), equals(read(text), 9))
        assert possible(SOLVER, expr)


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [
        (a, o, b)
        for a in (False, True)
        for o in ("==", "!=", "<", "<=", ">", ">=")
        for b in (False, True)
    ],
)
def test_booleans_compare_as_in_python(left: bool, operator: str, right: bool) -> None:
    expr = Comparison(operator, Name("p"), Name("q"))  # type: ignore[arg-type]  # one of the six
    found: dict[str, Value] = {"p": left, "q": right}
    wanted = equals(expr, value_or_none(expr, Environment(found)))
    assert SOLVER.proves(wanted, pins(found))


def test_an_enumerant_is_its_code_and_nothing_else() -> None:
    kinds = kinds_of(DOMAIN, {"worker": ENUM})
    assert SOLVER.proves(read("worker != draft", kinds), [read("worker == other", kinds)])
    one_of = "worker == target or worker == draft or worker == other"
    assert SOLVER.proves(read(one_of, kinds))
    assert not SOLVER.proves(read("worker == target or worker == draft", kinds))


def test_huge_integers_are_exact() -> None:
    huge = 2**63
    expr = Call("align_up", (Integer(huge * huge + 1), Integer(huge)))
    assert SOLVER.proves(Comparison("==", expr, Integer(huge * huge + huge)))


# Lists


BUCKETS = domain(
    number("step", 1, 9),
    number("cap", 1, 50),
    flag("graphs"),
    values("xs", 1, 40),
    values("ys", 1, "cap - 1", when="graphs"),
    defined("fitting", "[x for x in xs if x % step == 0 and x <= cap]"),
    defined("doubled", "[x * 2 for x in fitting]"),
    defined("guarded", "[x for x in xs if x >= cap]", when="graphs"),
    limit("not graphs or cap >= 2"),
)
OF_LISTS = Solver(BUCKETS)


@pytest.mark.parametrize(
    "text",
    [
        "1 <= max(xs) and max(xs) <= 40",
        "min(xs) <= max(xs)",
        "max(fitting) % step == 0 and max(fitting) <= cap",
        "max(fitting) <= max(xs)",
        "min(doubled) % 2 == 0 and max(doubled) <= 2 * cap",
        "next_in(step, xs) >= step or max(xs) < step",
        "next_in(step, fitting) % step == 0 or max(fitting) < step",
        "not graphs or max(ys) < cap",
        "not graphs or max(guarded) >= cap",
        "max([3, step, 7]) >= 7 and min([3, step]) <= 3",
        "next_in(step, [3, 9]) == 3 or next_in(step, [3, 9]) == 9",
        "next_in(3, [step, 5]) >= 3",
    ],
)
def test_what_holds_of_every_element_is_known(text: str) -> None:
    assert OF_LISTS.proves(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "max(fitting) == max(xs)",
        "next_in(step, xs) <= step",
        "next_in(step, xs) >= step",
        "step <= max(xs)",
        "max(xs) == min(xs)",
        "max(doubled) <= cap",
        "max([x for x in xs if x >= cap]) >= cap",
    ],
)
def test_what_holds_of_some_elements_only_is_not_proved(text: str) -> None:
    assert not OF_LISTS.proves(read(text))


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("(max(guarded) if graphs else cap) <= 40", "not graphs and cap == 50"),
        ("2 <= (max(ys) + 1 if graphs else cap)", "not graphs and cap == 1"),
        ("(max([x for x in xs if x > 40]) if graphs else cap) <= 10", "not graphs and cap == 11"),
        ("(next_in(1, guarded) if graphs else cap) <= 40", "not graphs and cap == 50"),
        ("(min(ys) if graphs else 1) <= cap - 1", "not graphs and cap == 1"),
        ("graphs and max(ys) >= 1 or cap >= 2", "not graphs and cap == 1"),
    ],
)
def test_a_list_that_is_absent_or_empty_says_nothing_about_the_rest(text: str, breaks: str) -> None:
    """Where its guard is false, or nothing passes a filter, the other parts are as free as ever."""
    assert not OF_LISTS.proves(read(text))
    assert possible(OF_LISTS, conjunction(read(breaks), negation(read(text))))


def test_elements_of_two_lists_are_not_taken_for_one_another() -> None:
    two = Solver(domain(values("xs", 1, 9), values("ys", 1, 9)))
    for text in ("max(xs) == max(ys)", "next_in(1, xs) == next_in(1, ys)", "min(xs) <= max(ys)"):
        assert not two.proves(read(text))
    same_variable = "max([x + 1 for x in xs]) == max([x + 1 for x in ys])"
    assert not two.proves(read(same_variable))


def test_a_bound_element_is_not_the_name_outside() -> None:
    found = Solver(domain(number("x", 1, 9), values("xs", 1, 9), defined("ys", "[x for x in xs]")))
    assert not found.proves(read("max(ys) == x"))


# Guards


GUARDED = domain(
    flag("on"),
    number("cap", 0, 9),
    number("extra", 1, "cap", when="on"),
    defined("double", "extra * 2", when="on"),
    defined("big", "cap >= 5", when="on"),
)


@pytest.mark.parametrize(
    ("text", "proved"),
    [
        ("not on or extra <= cap", True),
        ("not on or double <= 2 * cap", True),
        ("not on or cap >= 1", False),
        ("(extra if on else cap) <= cap", True),
        ("extra <= cap", False),
        ("cap >= 1 or extra <= 0 or on", False),
        ("double >= 2", False),
        ("not on or double >= 2", True),
        ("not on or not big or cap >= 5", True),
        ("not big or cap >= 5", False),
    ],
)
def test_a_guarded_name_is_anything_where_its_guard_is_false(text: str, proved: bool) -> None:
    assert Solver(GUARDED).proves(read(text)) == proved


def test_a_constant_truth_is_a_truth() -> None:
    assert SOLVER.proves(Boolean(True))
    assert SOLVER.decide(Boolean(False)).answer == "refuted"


@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 14), st.integers(1, 4))
@pytest.mark.slow
def test_a_list_as_it_is_satisfies_all_that_z3_believes_of_it(
    xs: list[int], cap: int, step: int
) -> None:
    """Every real list is a model of the axioms, so nothing false of it can be proved."""
    found = Solver(_with_lists())
    fitting = [x for x in xs if x % step == 0]
    facts = [equals(read("cap"), cap), equals(read("step"), step)]
    facts += [equals(read("max(xs)"), max(xs)), equals(read("min(xs)"), min(xs))]
    if fitting:
        facts += [equals(read("max(fitting)"), max(fitting))]
        bucket = [x for x in fitting if x >= cap]
        if bucket:
            facts.append(equals(read("next_in(cap, fitting)"), min(bucket)))
            assert possible(found, conjunction(*facts))


def _with_lists() -> Domain:
    return domain(
        number("cap", 1, 14),
        number("step", 1, 4),
        values("xs", 1, 12),
        defined("fitting", "[x for x in xs if x % step == 0]"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "max([b for b in [2, *range(4, m, 3)] if b > 2]) % 3 == 1",
        "max([*range(4, m, 3)]) < m",
        "max([2, *range(4, m, 3)]) >= 4",
        "min([2, *range(4, m, 3)]) <= 2",
        "next_in(5, [*range(4, m, 3)]) >= 7",
    ],
)
def test_elements_of_a_range_are_within_its_ends_and_a_step_apart(text: str) -> None:
    assert SOLVER.proves(read(text), (read("m >= 12"),))


def test_a_range_has_elements_only_if_its_end_is_behind_its_first() -> None:
    claim = read("max([*range(4, m, 3)]) < m")
    assert SOLVER.proves(claim, (read("m == 5"),))
    assert not SOLVER.proves(claim, (read("m == 4"),))


def test_a_list_written_out_has_exactly_its_elements() -> None:
    listed = ListOf((Name("m"), Integer(4)))
    largest = Call("max", (listed,))
    assert SOLVER.proves(Comparison("==", largest, Call("max", (Name("m"), Integer(4)))))
    some = Call("max", (Comprehension(Name(ELEMENT), ELEMENT, listed, read("b >= 4")),))
    assert not SOLVER.proves(Comparison("==", some, Integer(4)))
