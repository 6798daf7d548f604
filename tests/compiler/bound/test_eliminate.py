"""The peaks of an extent are its maximum: never exceeded, and attained at their witnesses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from support.bounds import defined, domain, eliminator, flag, limit, live, mode, number, read
from ullage.bound.eliminate import NoMaximumError, Peak
from ullage.bound.problem import ModeProblem
from ullage.bound.relations import relations_of
from ullage.expr.environment import EvaluationError, Value
from ullage.expr.evaluate import evaluate, evaluate_integer
from ullage.expr.spell import spell
from ullage.expr.tree import free_names, substitute
from ullage.prove.checker import Checker
from ullage.prove.solver import Solver

DOMAIN = domain(
    number("cap", 1, 4),
    number("pool", 1, 6),
    number("step", 1, 3),
    flag("on"),
    defined("factor", "step if on else 1"),
    limit("step <= pool"),
)
Values = dict[str, Value]

ROWS = (live("rows", 1, "cap"),)
ROWS_AND_TOKENS = (live("rows", 1, "cap"), live("toks", 0, "pool"))
NESTED = (live("rows", 0, "cap"), live("more", 0, "cap - rows"))
CHAINED = (live("a", 1, "cap"), live("b", "a", "a + step"), live("c", "b", "pool + b"))

MODES: dict[str, ModeProblem] = {
    "one variable": mode(*ROWS, x="rows"),
    "a product": mode(*ROWS, x="rows * factor"),
    "aligned": mode(*ROWS, x="align_up(align_up(rows * factor, step), 2)"),
    "falling": mode(*ROWS, x="10 - rows"),
    "falling when rounded": mode(*ROWS, x="20 // rows"),
    "rising and falling parts": mode(*ROWS_AND_TOKENS, x="toks - rows + 4"),
    "cancelling": mode(*ROWS_AND_TOKENS, x="(rows + toks) * 2 - rows * 2"),
    "both of two": mode(*ROWS_AND_TOKENS, x="rows * step + toks"),
    "coupled above": mode(*ROWS_AND_TOKENS, where=["rows + toks <= 5"], x="rows + toks"),
    "coupled below": mode(*ROWS_AND_TOKENS, where=["rows * step <= toks"], x="rows"),
    "coupled to a parameter": mode(*ROWS_AND_TOKENS, where=["rows <= toks"], x="step * rows"),
    "coupled and rounded": mode(
        *ROWS_AND_TOKENS, where=["2 * rows + toks <= 9"], x="cdiv(toks, 2)"
    ),
    "equal": mode(*ROWS_AND_TOKENS, where=["toks == rows * step"], x="align_up(toks, 2)"),
    "nested": mode(*NESTED, x="rows + more"),
    "nested, weighted": mode(*NESTED, x="rows * 2 + more * 2 + 1"),
    "chained": mode(*CHAINED, x="c"),
    "chained, the middle": mode(*CHAINED, x="b - a + 3"),
    "several, one of which has no say": mode(
        *ROWS_AND_TOKENS, live("more", 1, "step"), x="rows * 2 + more"
    ),
    "several, one of which falls": mode(
        *ROWS_AND_TOKENS, live("more", 1, "step"), x="rows * 2 + more + 6 - toks"
    ),
    "several, one of which cancels": mode(
        *ROWS_AND_TOKENS, live("more", 1, "step"), x="(rows + toks) * 2 + more - rows * 2"
    ),
    "the larger of several": mode(
        *ROWS_AND_TOKENS, live("more", 1, "step"), x="max(rows, toks * 2, more) if on else rows"
    ),
    "the larger of two": mode(*ROWS_AND_TOKENS, x="max(rows * 2, toks)"),
    "the larger of two directions": mode(*ROWS, x="max(rows, 5 - rows)"),
    "the smaller of two": mode(*ROWS_AND_TOKENS, x="min(rows * 2, toks + 1)"),
    "a choice by configuration": mode(*ROWS, x="rows * 2 if on else 7 - rows"),
    "a choice by batch": mode(*ROWS, x="10 - rows if rows >= 3 else rows * 2"),
    "a choice by batch and another": mode(
        *ROWS_AND_TOKENS, x="toks + 3 if rows > toks else rows * step"
    ),
    "a constant": mode(*ROWS, x="align_up(cap, step)"),
    "without live variables": mode(x="cap + 1"),
    "never above a constant": mode(*ROWS, x="min(rows, 1) + 3"),
    "a guarded mode": mode(*ROWS, when="on and step >= 2", x="rows // (step - 1)"),
    "no batch at all": mode(live("rows", "step", 1), x="rows * 3"),
    "an empty range for some": mode(live("rows", 2, "cap"), x="rows * 3"),
    "coupled beyond the range": mode(*ROWS, where=["step <= rows"], x="rows + step"),
    "a minimum of couplings": mode(
        *ROWS_AND_TOKENS, where=["toks <= rows * 3", "toks <= 7 - rows"], x="rows"
    ),
}


def configurations() -> Iterator[Values]:
    for cap, pool, step, on in itertools.product(
        range(1, 5), range(1, 7), range(1, 4), (False, True)
    ):
        if step <= pool:
            yield {"cap": cap, "pool": pool, "step": step, "on": on, "factor": step if on else 1}


def batches(wanted: ModeProblem, values: Values) -> list[Values]:
    """Every legal batch of a mode in one configuration, by trying all values."""
    if not evaluate(wanted.guard, values):
        return []
    found = [values]
    for each in wanted.live:
        found = [
            batch | {each.name: value}
            for batch in found
            for value in range(
                evaluate_integer(each.low, batch), evaluate_integer(each.high, batch) + 1
            )
        ]
    return [
        batch
        for batch in found
        if all(evaluate(coupling.condition, batch) for coupling in wanted.couplings)
    ]


def peaks(wanted: ModeProblem) -> list[Peak]:
    return [peak for _, _, peak in eliminator(DOMAIN, wanted).peaks(wanted.extents["x"])]


@pytest.mark.parametrize("name", MODES)
def test_the_largest_peak_is_what_trying_all_batches_gives(name: str) -> None:
    wanted = MODES[name]
    found = peaks(wanted)
    for values in configurations():
        extents = [
            evaluate_integer(wanted.extents["x"], batch) for batch in batches(wanted, values)
        ]
        heights = [
            evaluate_integer(peak.formula, values) for peak in found if _true(wanted, peak, values)
        ]
        assert max(extents, default=None) == max(heights, default=None), (values, found)


def _true(wanted: ModeProblem, peak: Peak, values: Values) -> bool:
    """Where the peak can occur; what has no value there has none of it."""
    try:
        return bool(evaluate(wanted.guard, values) and evaluate(peak.condition, values))
    except EvaluationError:
        return False


@pytest.mark.parametrize("name", MODES)
def test_a_witness_is_a_legal_batch_that_attains_its_peak(name: str) -> None:
    wanted = MODES[name]
    for peak in peaks(wanted):
        assert {each.name for each in wanted.live} == peak.witness.keys()
        for values in configurations():
            if _true(wanted, peak, values):
                batch = values | {
                    each: evaluate(value, values) for each, value in peak.witness.items()
                }
                assert all(evaluate(each.claim, batch) for each in relations_of(wanted))
                extent = evaluate(wanted.extents["x"], batch)
                assert extent == evaluate(peak.formula, values)


@pytest.mark.parametrize("name", MODES)
def test_a_peak_is_a_formula_over_parameters_with_an_accepted_proof(name: str) -> None:
    wanted = MODES[name]
    solver = Solver(DOMAIN)
    relations = tuple(each.claim for each in relations_of(wanted))
    for cases, extent, peak in eliminator(DOMAIN, wanted).peaks(wanted.extents["x"]):
        assert not free_names(peak.formula) & {each.name for each in wanted.live}
        given = (wanted.guard, *relations, *cases)
        checker = Checker(solver)
        assert checker.holds(peak.sound, (extent, peak.formula), given), checker.flaws


def test_variables_are_eliminated_last_declared_first() -> None:
    (peak,) = peaks(MODES["chained"])
    assert [each.variable for each in peak.eliminations] == ["c", "b", "a"]
    assert [spell(each.value) for each in peak.eliminations] == ["pool + b", "a + step", "cap"]


def test_variables_of_which_none_bounds_another_go_in_one_step() -> None:
    (peak,) = peaks(MODES["both of two"])
    assert peak.sound.rule == "monotone"
    shown = [(each.variable, spell(each.value), spell(each.extent)) for each in peak.eliminations]
    assert shown == [
        ("toks", "pool", "rows * step + pool"),
        ("rows", "cap", "cap * step + pool"),
    ]


def test_a_choice_that_the_upper_ends_make_is_not_left_open() -> None:
    wanted = mode(*ROWS_AND_TOKENS, x="rows + toks if toks >= rows - cap else rows")
    (peak,) = peaks(wanted)
    assert spell(peak.formula) == "cap + pool"


@pytest.mark.parametrize(
    "extent", ["rows % step", "rows * (5 - rows)", "cap - rows + 3 * (rows // 2)"]
)
def test_an_extent_without_a_direction_is_refused(extent: str) -> None:
    wanted = mode(*ROWS, x=extent)
    with pytest.raises(NoMaximumError):
        peaks(wanted)


@pytest.mark.parametrize("extent", ["rows + (5 - rows) // 2", "rows * (5 - rows)", "toks // rows"])
def test_with_slack_a_bound_is_never_exceeded(extent: str) -> None:
    wanted = mode(*ROWS_AND_TOKENS, x=extent)
    found = [
        peak for _, _, peak in eliminator(DOMAIN, wanted, slack=True).peaks(wanted.extents["x"])
    ]
    for values in configurations():
        extents = [
            evaluate_integer(wanted.extents["x"], batch) for batch in batches(wanted, values)
        ]
        assert max(extents) <= max(evaluate_integer(peak.formula, values) for peak in found)


def test_a_witness_is_what_the_ends_were_when_all_are_put_in() -> None:
    (peak,) = peaks(MODES["chained"])
    assert {name: spell(value) for name, value in peak.witness.items()} == {
        "a": "cap",
        "b": "cap + step",
        "c": "pool + cap + step",
    }
    reached = substitute(read("c - b - a"), peak.witness)
    assert evaluate(reached, {"cap": 2, "pool": 3, "step": 1}) == 1
