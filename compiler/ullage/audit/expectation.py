"""Holding verdicts against what an audit expects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ullage.audit.model import Counterexample, FormulaReport, ModeVerdict, Shown
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.spec.load_audits import OTHERWISE

DIFFERS = "U801"
UNDECIDED = "U802"


def expected(expect: tuple[tuple[str, str], ...], mode: str) -> str | None:
    """The verdict that is expected of a mode, by its name or as one of the rest."""
    verdicts = dict(expect)
    return verdicts.get(mode, verdicts.get(OTHERWISE))


def diagnostics_of(report: FormulaReport) -> Iterator[Diagnostic]:
    """What came out otherwise than expected: by named mode, and for the rest together."""
    named = dict(report.expect)
    rest = [mode for mode in report.modes if mode.mode not in named]
    for mode in report.modes:
        if mode.mode in named:
            yield from _held(report, named[mode.mode], [mode])
    if OTHERWISE in named:
        yield from _held(report, named[OTHERWISE], rest)


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
    where = ", ".join(f"{name} = {_shown(value)}" for name, value in values.items())
    return f"a batch takes {example.extent} where the formula gives {example.stated}: {where}"


def _shown(value: Shown) -> str:
    match value:
        case bool(truth):
            return "true" if truth else "false"
        case tuple(elements):
            return f"[{', '.join(map(str, elements))}]"
        case _:
            return str(value)
