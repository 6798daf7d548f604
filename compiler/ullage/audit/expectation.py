"""Holding verdicts against what an audit expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ullage.audit.model import Counterexample, FormulaReport, ModeVerdict
from ullage.counterexample.values import spelled
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.place import Place
from ullage.spec.load_audits import OTHERWISE
from ullage.spec.problems import NOTHING_TO_COMPARE
from ullage.spec.stated import Audit

if TYPE_CHECKING:  # what is asked takes the solver, which reports that are remembered do without
    from ullage.audit.stated import Question

DIFFERS = "U801"
UNDECIDED = "U802"


def diagnostics_of(report: FormulaReport) -> Iterator[Diagnostic]:
    """What came out otherwise than expected: by named mode, and for the rest together."""
    named = dict(report.expect)
    rest = [mode for mode in report.modes if mode.mode not in named]
    for mode in report.modes:
        if mode.mode in named:
            yield from _held(report, named[mode.mode], [mode])
    if OTHERWISE in named:
        yield from _held(report, named[OTHERWISE], rest)


def without_verdict(audits: Iterable[Audit], questions: Iterable[Question]) -> Iterator[Diagnostic]:
    """Formulas that no worker can be asked about, and expected modes that never occur."""
    compared: dict[Place, set[str]] = {}
    for question in questions:
        modes = compared.setdefault(question.stated.place, set())
        modes.update(mode.name for mode in question.modes)
    for audit in audits:
        for stated in {each.place: each for each in audit.formulas}.values():
            subject = f"audit '{audit.name}', {stated.runner}.{stated.target}"
            if stated.place not in compared:
                message = f"{subject}: no mode loads it where the formula is stated"
                yield Diagnostic(NOTHING_TO_COMPARE, message, stated.place)
                continue
            for mode, _ in stated.expect:
                if mode not in (OTHERWISE, *compared[stated.place]):
                    message = f"{subject}: mode '{mode}' does not occur where the formula is stated"
                    yield Diagnostic(NOTHING_TO_COMPARE, message, stated.place)


def _held(report: FormulaReport, expect: str, modes: Sequence[ModeVerdict]) -> Iterator[Diagnostic]:
    """`overflows`: at least one does. `proved`: none does. `wastes`: and one gives too much."""
    overflowing = [mode for mode in modes if mode.verdict == "overflows"]
    undecided = [mode for mode in modes if mode.verdict == "undecided"]
    if expect == "overflows":
        if overflowing or not modes:
            return
        if not undecided:
            yield _differs(report, expect, modes, "every batch fits")
    for mode in undecided:
        yield _undecided(report, mode)
    if expect == "overflows":
        return
    for mode in overflowing:
        yield _differs(report, expect, [mode], _overflow(mode.counterexamples[0]))
    if expect == "wastes" and modes and not overflowing and not undecided:
        yield from _waste_missing(report, modes)


def _waste_missing(report: FormulaReport, modes: Sequence[ModeVerdict]) -> Iterator[Diagnostic]:
    if any(mode.wastes for mode in modes):
        return
    if all(mode.wastes is False for mode in modes):
        yield _differs(report, "wastes", modes, "it is nowhere more than is needed")
    else:
        subject = _subject(report, modes)
        message = f"{subject}: it was not decided whether it is anywhere more than is needed"
        yield Diagnostic(UNDECIDED, message, report.place)


def _differs(
    report: FormulaReport, expect: str, modes: Sequence[ModeVerdict], found: str
) -> Diagnostic:
    message = f"{_subject(report, modes)}: expected '{expect}', but {found}"
    return Diagnostic(DIFFERS, message, report.place)


def _undecided(report: FormulaReport, mode: ModeVerdict) -> Diagnostic:
    message = f"{_subject(report, [mode])}: neither a proof nor a batch that overflows was found"
    return Diagnostic(UNDECIDED, message, report.place)


def _subject(report: FormulaReport, modes: Sequence[ModeVerdict]) -> str:
    where = f" in mode '{modes[0].mode}'" if len(modes) == 1 else ""
    return f"audit '{report.audit}', {report.runner}.{report.target}{where}"


def _overflow(example: Counterexample) -> str:
    values = {**example.configuration, **example.live}
    where = ", ".join(f"{name} = {spelled(value)}" for name, value in values.items())
    return f"a batch takes {example.extent} where the formula gives {example.stated}: {where}"
