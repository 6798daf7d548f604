"""Verdicts, counterexamples and waste on a spec whose every batch can be enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from support.audits import Audited, audited, stating
from ullage.audit.model import Counterexample, FormulaReport, ModeVerdict
from ullage.audit.stated import questions
from ullage.bound.relations import relations_of
from ullage.counterexample.space import Assignment, Space
from ullage.expr.evaluate import evaluate_integer
from ullage.prove.checker import Checker
from ullage.prove.solver import Solver

TOKENS = (
    "rows * width",
    "rows * one",
    "align_up(rows * branches, step)",
    "align_up(rows * branches, step) if padded else rows * branches",
    "max(rows * one, 4)",
    "rows * branches if style != wider else rows * one",
    "rows * branches + (2 if padded else 0)",
    "15",
    "18",
    "1",
    "rows * width * step",
)
REQUESTS = ("rows", "align_up(rows, step)", "8", "align_up(rows, 4)", "rows * step", "2")
EVERY = (*(("tokens", each) for each in TOKENS), *(("requests", each) for each in REQUESTS))


@dataclass(frozen=True, slots=True)
class Small:
    """The audit of all formulas, and all legal batches."""

    audited: Audited
    batches: Sequence[Assignment]

    def report(self, formula: tuple[str, str]) -> FormulaReport:
        return self.audited.report.formulas[EVERY.index(formula)]

    def verdict(self, formula: tuple[str, str]) -> ModeVerdict:
        return self.report(formula).of("decode")

    def numbers(self, formula: tuple[str, str], batch: Assignment) -> tuple[int, int]:
        """The extent of a batch, and what the formula gives for it."""
        report, (mode,) = self.report(formula), self.audited.analysis.problem.runners[0].modes
        extent = mode.extents[report.target]
        return evaluate_integer(extent, batch), evaluate_integer(report.formula, batch)

    def overflowing(self, formula: tuple[str, str]) -> list[Assignment]:
        """All batches for which the formula is too small."""
        numbers = ((batch, *self.numbers(formula, batch)) for batch in self.batches)
        return [batch for batch, extent, stated in numbers if extent > stated]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    formulas = [f'axis: {axis}, formula: "{text}", expect: proved' for axis, text in EVERY]
    found = audited(tmp_path_factory.mktemp("spec"), stating(*formulas))
    return Small(found, tuple(every_batch(found)))


def every_batch(found: Audited) -> list[Assignment]:
    """All legal configurations with all of their batches."""
    domain, (mode,) = found.analysis.problem.domain, found.analysis.problem.runners[0].modes
    space = Space(domain, mode.live, (mode.guard, *mode.where), {})
    names = ("rows", "step", "width", "padded", "style", "requests")
    values = itertools.product(
        range(1, 6), range(1, 5), range(1, 4), (False, True), range(3), range(1, 6)
    )
    batches = (
        Assignment(domain, mode.live, dict(zip(names, each, strict=True))) for each in values
    )
    return [batch for batch in batches if space.holds(batch)]


def switched_on(batch: Assignment) -> frozenset[str]:
    """What is on, as guards name it."""
    names = {"padded": batch["padded"], "style != narrow": batch["style"] != 0}
    return frozenset(name for name, on in names.items() if on)


def raised(batch: Assignment) -> frozenset[str]:
    """The integers above their least values, as counterexamples name them."""
    return frozenset(f"{name} > 1" for name in ("rows", "step", "width") if batch[name] != 1)


def size(batch: Assignment) -> int:
    """The sum that a smallest counterexample minimises."""
    names = ("rows", "step", "width", "requests")
    return sum(evaluate_integer_of(batch, name) - 1 for name in names)


def evaluate_integer_of(batch: Assignment, name: str) -> int:
    value = batch[name]
    assert isinstance(value, int)
    return value


def explains(example: Counterexample, batch: Assignment) -> bool:
    """Whether everything is on that the counterexample needs."""
    return {*example.guards, *example.raised} <= switched_on(batch) | raised(batch)


@pytest.mark.parametrize("formula", EVERY)
@pytest.mark.slow
def test_a_verdict_is_what_enumeration_says(small: Small, formula: tuple[str, str]) -> None:
    expected = "overflows" if small.overflowing(formula) else "proved"
    assert small.verdict(formula).verdict == expected
    assert small.verdict(formula).complete


@pytest.mark.parametrize("formula", EVERY)
def test_a_counterexample_is_the_smallest_one_of_its_cause(
    small: Small, formula: tuple[str, str]
) -> None:
    left = small.overflowing(formula)
    for example in small.verdict(formula).counterexamples:
        sizes = [size(batch) for batch in left if switched_on(batch) == set(example.guards)]
        assert example.minimal
        assert example.size == min(sizes)
        left = [batch for batch in left if not explains(example, batch)]
    assert not left, "every batch that overflows has one of the causes"


@pytest.mark.parametrize("formula", EVERY)
def test_no_guard_can_be_done_without(small: Small, formula: tuple[str, str]) -> None:
    left = small.overflowing(formula)
    for example in small.verdict(formula).counterexamples:
        fewer = [batch for batch in left if switched_on(batch) < set(example.guards)]
        assert not fewer
        left = [batch for batch in left if not explains(example, batch)]


@pytest.mark.parametrize("formula", EVERY)
def test_a_counterexample_has_the_numbers_of_its_batch(
    small: Small, formula: tuple[str, str]
) -> None:
    overflowing = small.overflowing(formula)
    styles = ("narrow", "wide", "wider")
    for example in small.verdict(formula).counterexamples:
        batch = next(
            each
            for each in overflowing
            if {**each.raw, "style": styles[evaluate_integer_of(each, "style")]}
            == {**example.parameters, **example.live}
        )
        assert small.numbers(formula, batch) == (example.extent, example.stated)


@pytest.mark.parametrize("formula", EVERY)
def test_a_proof_stands_before_the_checker(small: Small, formula: tuple[str, str]) -> None:
    verdict, report = small.verdict(formula), small.report(formula)
    (mode,) = small.audited.analysis.problem.runners[0].modes
    if verdict.verdict == "proved" and report.within is not None:
        solver = Solver(small.audited.analysis.problem.domain)
        (asked,) = (
            each
            for each in questions(small.audited.analysis, solver)
            if (each.stated.target, each.formula) == (report.target, report.formula)
        )
        assert Checker(solver).holds(report.within, (asked.limited, report.formula), asked.given)
    elif verdict.verdict == "proved":
        assert verdict.proof is not None
        given = (mode.guard, *(relation.claim for relation in relations_of(mode)))
        claim = (mode.extents[report.target], report.formula)
        assert Checker(Solver(small.audited.analysis.problem.domain)).holds(
            verdict.proof, claim, given
        )


@pytest.mark.parametrize("formula", EVERY)
def test_waste_is_where_the_formula_is_above_the_capacity(
    small: Small, formula: tuple[str, str]
) -> None:
    report = small.report(formula)
    excess = [
        evaluate_integer(report.formula, batch) - evaluate_integer(report.capacity, batch)
        for batch in small.batches
    ]
    assert bool(report.wastes) == (max(excess) > 0)
    assert all(0 < waste.rows <= max(excess) for waste in report.wastes)
    if small.verdict(formula).verdict == "proved":
        assert small.verdict(formula).wastes is (max(excess) > 0)


def test_wasted_bytes_are_those_of_all_slots_that_follow_the_axis(small: Small) -> None:
    tokens, requests = (
        small.report(each).wastes[0] for each in (("tokens", "18"), ("requests", "8"))
    )
    assert tokens.origin == requests.origin == "the defaults"
    assert (tokens.stated, tokens.needed) == (18, 3)
    assert tokens.bytes_by_device == {"compute": 15 * 8, "host": 15 * 3 * 4}
    assert requests.bytes_by_device == {"compute": 5 * 4}
    assert tokens.bytes == 300


def test_a_second_fault_is_found_behind_the_first(small: Small) -> None:
    examples = small.verdict(("tokens", "rows * one")).counterexamples
    assert {example.guards for example in examples} == {("padded",), ("style != narrow",)}


def test_integers_are_named_where_no_switch_matters(small: Small) -> None:
    first, *_ = small.verdict(("requests", "2")).counterexamples
    assert first.guards == ()
    assert first.raised == ("rows > 1",)
    assert (first.extent, first.stated) == (3, 2)


def test_a_counterexample_shows_what_enters_its_numbers(small: Small) -> None:
    (example,) = small.verdict(("requests", "rows")).counterexamples
    assert example.configuration == {"rows": 1, "step": 2, "padded": True}
    assert example.parameters == {**example.configuration, "width": 1, "style": "narrow"}
    assert example.live == {"requests": 1}
    assert example.guards == ("padded",)
