"""`ullage audit`: an engine's own formulas beside the derived capacities."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.audit.expectation import diagnostics_of
from ullage.audit.model import (
    AuditReport,
    Counterexample,
    FormulaReport,
    ModeVerdict,
    Overall,
    Waste,
)
from ullage.audit.report import audited
from ullage.commands.formulas import broken
from ullage.commands.progress import progress
from ullage.commands.reporting import (
    Exit,
    Format,
    Json,
    UsageError,
    exit_code,
    json_of,
    leaving_allowed,
    write_diagnostics,
    write_json,
)
from ullage.commands.terminal import NO_BREAK, Page, result_console
from ullage.counterexample.values import Shown
from ullage.diagnostics.diagnostic import Diagnostic, did_you_mean
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE
from ullage.memory import memory_of
from ullage.spec.load_audits import OTHERWISE
from ullage.spec.stated import Audit

_STYLES: Mapping[Overall, str] = {
    "proved": "green",
    "wastes": "yellow",
    "overflows": "red",
    "undecided": "magenta",
}
_IN_WORDS: Mapping[Overall, str] = {
    "proved": "proved",
    "wastes": "found wasteful",
    "overflows": "shown to overflow",
    "undecided": "undecided",
}


def run(specs: Path, only: Sequence[str], verbose: bool, output: Format) -> Exit:
    """Decide the stated formulas, of the audits `only` if any are named.

    A verdict that is not the expected one is an error, and shown with its reasons; `verbose`
    shows those of all verdicts.
    """
    with progress(output is Format.TEXT) as report:
        memory = memory_of(os.environ)
        analysis = analyse(specs, report, memory=memory)
        audits = _chosen(analysis, only)
        found = audited(analysis, report, [each.name for each in audits], memory)
    diagnostics = (*analysis.warnings, *found.diagnostics)
    with leaving_allowed():
        if output is Format.JSON:
            write_json(document(analysis, found, diagnostics))
        elif output is Format.TEXT:
            show(audits, found, verbose, Page(result_console()))
    with leaving_allowed():
        write_diagnostics(diagnostics, analysis.sources.texts, output)
    return exit_code(diagnostics)


def _chosen(analysis: Analysis, only: Sequence[str]) -> tuple[Audit, ...]:
    """The audits of these names, all without any. Raises UsageError for a name without audit."""
    audits = {each.name: each for each in analysis.resolved.spec.audits}
    for name in only:
        if name not in audits:
            hint = did_you_mean(name, audits) or f"there are {', '.join(audits) or 'none'}"
            raise UsageError(f"there is no audit '{name}'; {hint}")
    return tuple(each for name, each in audits.items() if not only or name in only)


def show(audits: Sequence[Audit], report: AuditReport, verbose: bool, page: Page) -> None:
    """A line for each audit, then the formulas that are not as expected, or all of them."""
    if audits:
        page.table(_table(audits, report))
        page.line()
    for declared in audits:
        formulas = report.of(declared.name)
        shown = [each for each in formulas if verbose or any(diagnostics_of(each))]
        if shown:
            _show_audit(declared, shown, page)
    page.line((_summary(report), "bold"))
    if report.formulas and not verbose:
        page.line("--verbose shows each verdict with its reasons")


def _table(audits: Iterable[Audit], report: AuditReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("audit", overflow="fold")
    for verdict in _STYLES:
        table.add_column(verdict, justify="right", no_wrap=True)
    table.add_column("outcome", overflow="fold")
    for declared in audits:
        verdicts = Counter(formula.overall for formula in report.of(declared.name))
        counts = (str(verdicts[each] or "") for each in _STYLES)
        table.add_row(Text(declared.name, "cyan"), *counts, _outcome(declared, report))
    return table


def _outcome(declared: Audit, report: AuditReport) -> Text:
    places = {stated.place for stated in declared.formulas}
    differing = sum(each.place in places for each in report.diagnostics)
    if differing:
        return Text(f"{differing} not as expected", "red")
    return Text("as expected", "green")


def _show_audit(declared: Audit, formulas: Iterable[FormulaReport], page: Page) -> None:
    page.sides([(declared.name, "bold")], declared.place.short)
    page.wrapped(declared.quoted_from, indent=2)
    for formula in formulas:
        page.line()
        _show_formula(formula, page)
    page.line()


def _show_formula(report: FormulaReport, page: Page) -> None:
    subject = f"{report.runner}.{report.target}"
    styled = (report.overall, _STYLES[report.overall])
    page.sides([(subject, "bold cyan"), "  ", styled], report.place.short, indent=2)
    page.lines(broken(spell(report.formula), page.width - 6), indent=6)
    if report.when != TRUE:
        page.wrapped(f"stated where {spell(report.when)}", indent=4)
    named = dict(report.expect)
    for verdict in report.modes:
        _show_mode(verdict, named.get(verdict.mode), page)
    if OTHERWISE in named:
        others = "the others together" if len(named) > 1 else "all modes together"
        page.line(f"{others}: expected {named[OTHERWISE]}", indent=4)
    for waste in report.wastes:
        _show_waste(waste, page)


def _show_mode(verdict: ModeVerdict, expected: str | None, page: Page) -> None:
    held = "" if expected is None else f", expected {expected}"
    styled = (verdict.overall, _STYLES[verdict.overall])
    page.line(verdict.mode, ": ", styled, held, indent=4)
    for example in verdict.counterexamples:
        _show_example(example, page)
    if verdict.counterexamples and not verdict.complete:
        page.line("there may be other causes", indent=6)


def _show_example(example: Counterexample, page: Page) -> None:
    smallest = "" if example.minimal else ", not the smallest such batch"
    page.line(f"{example.extent} needed, {example.stated} stated{smallest}", indent=6)
    needed = (*example.guards, *example.raised)
    if needed:
        page.wrapped(f"with {', '.join(needed)}", indent=8)
    page.wrapped(f"configuration: {_assigned(example.configuration)}", indent=8)
    page.wrapped(f"batch: {_assigned(example.live)}", indent=8)


def _show_waste(waste: Waste, page: Page) -> None:
    sizes = ", ".join(
        f"{size:,} bytes on the {device} device" for device, size in waste.bytes_by_device.items()
    )
    numbers = f"{waste.stated} stated, {waste.needed} needed"
    page.line(("wasted", _STYLES["wastes"]), f": {numbers} in {waste.origin}", indent=4)
    if sizes:
        page.line(sizes, indent=6)
    page.wrapped(f"configuration: {_assigned(waste.configuration)}", indent=6)


def _assigned(values: Mapping[str, Shown]) -> str:
    return (
        ", ".join(f"{name}{NO_BREAK}={NO_BREAK}{_shown(value)}" for name, value in values.items())
        or "the least"
    )


def _shown(value: Shown) -> str:
    match value:
        case bool(truth):
            return "true" if truth else "false"
        case tuple(elements):
            return f"[{', '.join(map(str, elements))}]"
        case _:
            return str(value)


def _summary(report: AuditReport) -> str:
    """What came out, such as `3 formulas, all as expected: 2 proved, 1 shown to overflow`."""
    count, differing = len(report.formulas), len(report.diagnostics)
    if not count and not differing:
        return "no formulas are stated"
    verdicts = Counter(formula.overall for formula in report.formulas)
    counted = ", ".join(f"{verdicts[each]} {_IN_WORDS[each]}" for each in _STYLES if verdicts[each])
    named = f"{count} {'formula' if count == 1 else 'formulas'}"
    if differing:
        return f"{differing} not as expected; {named}: {counted}"
    return f"{named}, all as expected: {counted}"


def document(analysis: Analysis, report: AuditReport, diagnostics: Iterable[Diagnostic]) -> Json:
    """What `--json` writes."""
    return {
        "engine": analysis.resolved.spec.engine,
        "formulas": [_formula_record(each) for each in report.formulas],
        "diagnostics": json_of(diagnostics),
    }


def _formula_record(report: FormulaReport) -> Json:
    return {
        "audit": report.audit,
        "runner": report.runner,
        "target": report.target,
        "formula": spell(report.formula),
        "when": spell(report.when),
        "capacity": spell(report.capacity),
        "verdict": report.overall,
        "expect": dict(report.expect),
        "modes": [_mode_record(each, dict(report.expect)) for each in report.modes],
        "wastes": [_waste_record(each) for each in report.wastes],
        "place": str(report.place),
    }


def _mode_record(verdict: ModeVerdict, expect: Mapping[str, str]) -> Json:
    return {
        "mode": verdict.mode,
        "verdict": verdict.overall,
        "expected": expect.get(verdict.mode),
        "complete": verdict.complete,
        "counterexamples": [_example_record(each) for each in verdict.counterexamples],
    }


def _example_record(example: Counterexample) -> Json:
    return {
        "configuration": example.configuration,
        "parameters": example.parameters,
        "live": example.live,
        "extent": example.extent,
        "stated": example.stated,
        "guards": example.guards,
        "raised": example.raised,
        "size": example.size,
        "minimal": example.minimal,
    }


def _waste_record(waste: Waste) -> Json:
    return {
        "origin": waste.origin,
        "configuration": waste.configuration,
        "parameters": waste.parameters,
        "stated": waste.stated,
        "needed": waste.needed,
        "bytes": {str(device): size for device, size in waste.bytes_by_device.items()},
    }
