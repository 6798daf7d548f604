"""What a slot refuses is no configuration: audits ask about the others, and show no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.audits import SMALL, Audited, audited, stating
from support.specs import edited
from ullage.bound.domain import domain_of
from ullage.configuration.values import complete
from ullage.diagnostics.diagnostic import DiagnosticError

NARROW = edited(
    "rest.yaml",
    (
        "lengths: {shape: [requests], dtype: int32, source: batch.lengths, range: [0, 9]}",
        "lengths: {shape: [requests], dtype: uint8, source: batch.lengths, "
        "range: [0, rows * 85], on_overflow: refuse_config}",
    ),
    files=SMALL,
)
"""At most three rows: 85 of them fit a byte three times."""


def of(folder: Path, formula: str, expect: str) -> Audited:
    return audited(
        folder, stating(f"axis: requests, formula: {formula}, expect: {expect}", files=NARROW)
    )


def test_a_formula_holds_that_only_refused_configurations_break(tmp_path: Path) -> None:
    found = of(tmp_path, "4 if padded else 3", "proved")
    verdict = found.report.formulas[0].of("decode")
    assert (verdict.verdict, found.report.diagnostics) == ("proved", ())


def test_a_counterexample_is_a_configuration_that_generated_code_accepts(tmp_path: Path) -> None:
    found = of(tmp_path, "2", "overflows")
    verdict = found.report.formulas[0].of("decode")
    assert verdict.verdict == "overflows"
    for example in verdict.counterexamples:
        complete(found.analysis.resolved, example.parameters, domain=found.analysis.problem.domain)


def test_the_reader_refuses_with_the_reason_and_place_of_the_slot(tmp_path: Path) -> None:
    analysis = of(tmp_path, "5", "proved").analysis
    assert complete(analysis.resolved, {"rows": 4})["rows"] == 4
    with pytest.raises(DiagnosticError) as caught:
        complete(analysis.resolved, {"rows": 4}, domain=analysis.problem.domain)
    (problem,) = caught.value.diagnostics
    assert problem.code == "U702"
    assert problem.message == "the values [0, rows * 85] of 'lengths' must fit uint8: rows = 4"
    (refusal,) = analysis.plan.refusals
    assert [place for place, _ in problem.related] == [refusal[2]]


def test_only_what_the_plan_refuses_is_taken_out_of_the_domain(tmp_path: Path) -> None:
    analysis = of(tmp_path, "5", "proved").analysis
    whole, legal = domain_of(analysis.resolved), analysis.problem.domain
    assert legal.constraints[:-1] == whole.constraints
    assert legal.constraints[-1].place == analysis.plan.refusals[0][2]
