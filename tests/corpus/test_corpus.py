"""Public bug reports: the right rule is proven and gives the right numbers, faulty ones fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus.corpus import FILES, Batch, Case, Fault, Formula, cases, index
from corpus.study import Study, configuration_size, files_of, measured, replayed, study
from support.simulation import Values
from ullage.audit.model import Counterexample
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.environment import Environment
from ullage.expr.evaluate import evaluate_integer
from ullage.place import Place

CASES = cases()
FAST = index().fast
MOST_LINES = 48


def parameters() -> Iterator[object]:
    for case in CASES:
        marks = () if case.number in FAST else (pytest.mark.slow,)
        yield pytest.param(case, marks=marks, id=case.name)


@pytest.fixture(scope="module", params=list(parameters()))
def case(request: pytest.FixtureRequest) -> Case:
    found = request.param
    assert isinstance(found, Case)
    return found


@pytest.fixture(scope="module")
def right(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The right rule with all formulas that are decided beside it."""
    formulas = (*case.right, *beside(case))
    return study(tmp_path_factory.mktemp(case.name), case, formulas, files_of(case, formulas))


def test_every_report_is_stated_once_or_said_not_to_be() -> None:
    reports = [each.report for each in CASES]
    assert len(CASES) >= 60
    assert len(set(reports)) == len(reports)
    assert not {each.report for each in index().not_stated} & set(reports)
    assert all(each.why for each in index().not_stated)
    assert set(FAST) <= {each.number for each in CASES}


def test_cases_are_short_enough_to_read() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in FILES.glob("*.yaml")}
    assert max(lengths.values()) <= MOST_LINES, lengths


def beside(case: Case) -> tuple[Formula, ...]:
    """The faulty formulas that are decided beside the right spec."""
    return tuple(
        each.formula
        for each in case.faulty
        if each.formula and not each.change and not each.refused
    )


@pytest.mark.slow
def test_the_right_rule_is_proven(right: Study) -> None:
    for proof in right.analysis.certificate.proofs:
        assert proof.proved, (proof.target, proof.flaws)
    assert right.report.diagnostics == ()


@pytest.mark.slow
def test_right_numbers_are_those_of_the_report(right: Study) -> None:
    values = right.values({})
    for of, expected in right.case.capacity.items():
        assert right.capacity(right.case.runner, of, values) == expected, of
    for of, expected in right.case.largest.items():
        stated = right.slot(right.case.runner, of).range
        assert stated is not None
        assert right.evaluate(stated.high, values) == expected, of
    for question, formula in zip(right.questions, right.case.right, strict=False):
        assert right.evaluate(question.formula, values) == formula.gives, formula.formula


def test_batches_of_the_report_get_what_is_right(right: Study) -> None:
    for batch in right.case.batches:
        found = right.outcome(batch)
        values = {**right.values(batch.configuration)}
        axes = found.axes(right.case.runner) if batch.padding or batch.tails else {}
        for of, expected in batch.needs.items():
            assert found.elements(right.case.runner, of) == expected, of
        for axis, expected in batch.padding.items():
            assert axes[axis] - found.live_axes[axis] == expected, axis
        assert {name: found.takes(name) for name in batch.takes} == batch.takes
        for name, expected in batch.tails.items():
            tail = right.slot(right.case.runner, name).tails[batch.own.mode]
            assert tail.fill is not None, f"nothing fills {name}"
            rows = {f"live_{axis}": extent for axis, extent in found.live_axes.items()}
            rows |= {f"padded_{axis}": extent for axis, extent in axes.items()}
            assert evaluate_integer(tail.fill, Environment({**values, **rows})) == expected, name


def test_configurations_without_room_are_refused(right: Study) -> None:
    assert not right.refuses({})
    for configuration in right.case.illegal:
        assert right.refuses(configuration), configuration


def test_faulty_rules_are_refused(right: Study, tmp_path: Path) -> None:
    decided = len(right.case.right)
    for place, fault in enumerate(right.case.faulty):
        folder = tmp_path / str(place)
        if fault.refused is not None:
            assert_refused(right.case, fault, folder)
        elif fault.formula is None:
            assert_decides_otherwise(right, fault, folder)
        elif fault.change:
            files = files_of(right.case, (fault.formula,), fault.change)
            assert_insufficient(study(folder, right.case, (fault.formula,), files), 0, fault)
        else:
            assert_insufficient(right, decided, fault)
            decided += 1


def assert_refused(case: Case, fault: Fault, folder: Path) -> None:
    """The spec has the expected error, at the expected text."""
    formulas = (fault.formula,) if fault.formula else ()
    with pytest.raises(DiagnosticError) as refused:
        study(folder, case, formulas, files_of(case, formulas, fault.change))
    errors = [each for each in refused.value.diagnostics if each.severity == "error"]
    assert {each.code for each in errors} == {fault.refused}
    line, underlined = written(refused.value, errors[0].place)
    assert fault.at is not None
    assert line.startswith(fault.at)
    assert fault.at.startswith(underlined)


def written(error: DiagnosticError, place: Place) -> tuple[str, str]:
    """The rest of the line from a place on, and how much of it is underlined."""
    line = error.sources[place.file].splitlines()[place.line - 1][place.column - 1 :]
    return line, line[: place.width]


def assert_decides_otherwise(right: Study, fault: Fault, folder: Path) -> None:
    """With the faulty condition another runner has the batch."""
    assert fault.batch is not None
    assert fault.batch.takes
    faulty = study(folder, right.case, (), files_of(right.case, (), fault.change))
    for name, expected in fault.batch.takes.items():
        assert faulty.outcome(fault.batch).takes(name) == expected
        assert right.outcome(fault.batch).takes(name) != expected


def assert_insufficient(found: Study, position: int, fault: Fault) -> None:
    """The formula is refused in a way that the report agrees with."""
    formula, report = fault.formula, found.report.formulas[position]
    assert formula is not None
    assert found.report.diagnostics == ()
    batch = fault.batch or first_of(found.case, formula.mode)
    needed = found.outcome(batch).elements(formula.runner, formula.of)
    assert batch.needs.get(formula.of, needed) == needed
    values = found.values(batch.configuration)
    stated = found.evaluate(report.formula, values)
    assert stated == formula.gives, f"{formula.formula} gives {stated}"
    if formula.expect == "wastes":
        assert_waste(found, position, stated, values)
        return
    reported = measured(found, found.questions[position], batch)
    assert (reported.stated, reported.extent) == (stated, needed)
    examples = report.of(batch.own.mode).counterexamples
    assert min(each.size for each in examples) <= reported.size
    for example in examples:
        assert_counterexample(found, position, batch.own.mode, example)


def first_of(case: Case, mode: str | None) -> Batch:
    """The batch that the report is about, or the first one of a mode."""
    return next(each for each in case.batches if mode in (None, each.own.mode))


def assert_counterexample(found: Study, position: int, mode: str, example: Counterexample) -> None:
    """It is a legal configuration with a legal batch, and the two numbers are theirs."""
    values = found.values_of(example.parameters)
    report = found.report.formulas[position]
    assert found.evaluate(report.formula, values) == example.stated < example.extent
    capacity = found.evaluate(found.questions[position].capacity, values)
    assert example.extent <= capacity
    outcome = replayed(found, mode, example)
    if outcome is not None:
        runner = found.questions[position].runner.runner
        assert outcome.elements(runner, report.target) == example.extent


def assert_waste(found: Study, position: int, stated: int, values: Values) -> None:
    """The formula gives more than the capacity, in the report's configuration as in those found."""
    question, report = found.questions[position], found.report.formulas[position]
    assert stated > found.evaluate(question.capacity, values)
    sizes: list[int] = []
    for waste in report.wastes:
        known = found.values_of(waste.parameters)
        numbers = (
            found.evaluate(report.formula, known),
            found.evaluate(question.capacity, known),
        )
        assert numbers == (waste.stated, waste.needed)
        assert waste.stated > waste.needed
        sizes.append(configuration_size(found, known))
    assert min(sizes) <= configuration_size(found, values)
