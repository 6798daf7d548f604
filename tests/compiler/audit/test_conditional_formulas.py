"""A formula with a condition is compared only in the configurations that it is stated for."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from support.audits import SMALL, Audited, audited, stating
from support.specs import edited, problems_of
from ullage.bound.relations import relations_of
from ullage.counterexample.space import Assignment, Space
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.prove.checker import Checker
from ullage.prove.solver import Solver

CONDITIONS = ("padded", "not padded", "style == wider", "width > 1 and rows < 3", "step == 1")
FORMULAS = ("rows * one", "rows * width", "align_up(rows * branches, step)", "15")
IDLE = """\
mode: idle
when: not padded
live: {}
axes: {requests: 0, tokens: 0}
"""
WITH_IDLE = {**SMALL, "idle.yaml": IDLE}


def of(folder: Path, *formulas: str, expect: str = "proved") -> Audited:
    texts = (f"axis: tokens, {each}, expect: {expect}" for each in formulas)
    return audited(folder, stating(*texts, files=WITH_IDLE))


def said(found: Audited) -> list[str]:
    return [f"{each.code}: {each.message}" for each in found.report.diagnostics]


def batches(found: Audited) -> list[Assignment]:
    """All legal configurations with all of their batches in the mode that decodes."""
    domain, (mode, _) = found.analysis.problem.domain, found.analysis.problem.runners[0].modes
    space = Space(domain, mode.live, (mode.guard, *mode.where), {})
    names = ("rows", "step", "width", "padded", "style", "requests")
    values = itertools.product(
        range(1, 6), range(1, 5), range(1, 4), (False, True), range(3), range(1, 6)
    )
    every = (Assignment(domain, mode.live, dict(zip(names, each, strict=True))) for each in values)
    return [batch for batch in every if space.holds(batch)]


@pytest.mark.slow
def test_a_verdict_is_what_enumeration_says_under_the_condition(tmp_path: Path) -> None:
    pairs = list(itertools.product(FORMULAS, CONDITIONS))
    found = of(tmp_path, *(f'formula: "{text}", when: "{when}"' for text, when in pairs))
    every, checker = batches(found), Checker(Solver(found.analysis.problem.domain))
    for report in found.report.formulas:
        mode = found.analysis.problem.runners[0].modes[0]
        where = [batch for batch in every if evaluate_boolean(report.when, batch)]
        extent = mode.extents["tokens"]
        overflows = any(
            evaluate_integer(extent, batch) > evaluate_integer(report.formula, batch)
            for batch in where
        )
        verdict = report.of("decode")
        assert verdict.verdict == ("overflows" if overflows else "proved"), report.place
        for example in verdict.counterexamples:
            shown = {**example.parameters, **example.live}
            assert any({**each.raw, "style": shown["style"]} == shown for each in where)
        if verdict.proof is not None:
            relations = (relation.claim for relation in relations_of(mode))
            given, claim = (mode.guard, report.when, *relations), (extent, report.formula)
            assert checker.holds(verdict.proof, claim, given)


def test_a_batch_outside_of_the_condition_does_not_count(tmp_path: Path) -> None:
    plain, stated = of(
        tmp_path, 'formula: "rows * width"', 'formula: "rows * width", when: not padded'
    ).report.formulas
    assert plain.of("decode").verdict == "overflows"
    assert stated.of("decode").verdict == "proved"


def test_the_smallest_batch_is_one_of_the_condition(tmp_path: Path) -> None:
    (report,) = of(tmp_path, 'formula: "rows * one", when: style == wider').report.formulas
    example = report.of("decode").counterexamples[0]
    assert example.parameters["style"] == "wider"
    assert "style != narrow" not in example.guards


def test_waste_outside_of_the_condition_does_not_count(tmp_path: Path) -> None:
    formula = 'formula: "align_up(rows * branches, step)"'
    everywhere, there = of(tmp_path, formula, f"{formula}, when: padded").report.formulas
    assert everywhere.overall == "wastes"
    assert there.overall == "proved"


def test_a_mode_that_does_not_occur_under_the_condition_has_no_verdict(tmp_path: Path) -> None:
    (report,) = of(
        tmp_path, 'formula: "align_up(rows * width, step)", when: padded'
    ).report.formulas
    assert [mode.mode for mode in report.modes] == ["decode"]


def test_a_verdict_on_such_a_mode_cannot_be_expected(tmp_path: Path) -> None:
    formula = 'formula: "align_up(rows * width, step)", when: padded'
    found = of(tmp_path, formula, expect="{idle: proved, else: wastes}")
    assert said(found) == [
        "U803: audit 'stated', eager.tokens: mode 'idle' does not occur where the formula is stated"
    ]


def test_a_formula_that_is_stated_nowhere_is_an_error(tmp_path: Path) -> None:
    found = of(tmp_path, "formula: rows * width, when: step > 4")
    assert found.report.formulas == ()
    assert said(found) == [
        "U803: audit 'stated', eager.tokens: no mode loads it where the formula is stated"
    ]


def test_a_slot_that_the_worker_never_has_is_not_compared(tmp_path: Path) -> None:
    files = edited(
        "rest.yaml",
        ("range: [0, 9]}\nreaders", "range: [0, 9], when: worker != target}\nreaders"),
        files=SMALL,
    )
    found = audited(tmp_path, stating("slot: lengths, formula: rows, expect: proved", files=files))
    assert said(found) == [
        "U803: audit 'stated', eager.lengths: no mode loads it where the formula is stated"
    ]


def test_a_condition_is_true_or_false_and_knows_local_names(tmp_path: Path) -> None:
    text = (
        "audit: stated\nquoted_from: a test\nlet: {wide: width > 1}\nformulas:\n  - runner: eager\n"
    )
    text += "    axis: tokens\n    when: {when}\n    formula: rows * width\n    expect: proved\n"
    files = {**SMALL, "stated.yaml": text.replace("{when}", "wide and padded")}
    assert problems_of(tmp_path / "a", files) == ""
    number = {**SMALL, "stated.yaml": text.replace("{when}", "rows")}
    assert "the 'when' of a formula of audit 'stated': expected a boolean" in problems_of(
        tmp_path / "b", number
    )
