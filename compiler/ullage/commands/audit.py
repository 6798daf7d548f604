"""`ullage audit`: an engine's own formulas beside the derived capacities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from ullage.analysis import Analysis, analyse
from ullage.audit.decide import audit
from ullage.audit.model import AuditReport, Counterexample, FormulaReport, ModeVerdict, Waste
from ullage.commands.formulas import broken
from ullage.commands.reporting import (
    Exit,
    Format,
    Json,
    exit_code,
    json_of,
    write_diagnostics,
    write_json,
)
from ullage.commands.terminal import NO_BREAK, Page, progress, result_console
from ullage.counterexample.values import Shown
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE
from ullage.spec.load_audits import OTHERWISE

_STYLES: Mapping[str, str] = {
    "proved": "green",
    "wastes": "yellow",
    "overflows": "red",
    "undecided": "magenta",
}


def run(specs: Path, output: Format) -> Exit:
    """Decide every stated formula; a verdict that is not the expected one is an error."""
    with progress(output is Format.TEXT) as report:
        analysis = analyse(specs, report)
        found = audit(analysis, report)
    diagnostics = (*analysis.warnings, *found.diagnostics)
    if output is Format.JSON:
        write_json(document(analysis, found, diagnostics))
    elif output is Format.TEXT:
        show(analysis, found, Page(result_console()))
    write_diagnostics(diagnostics, analysis.sources.texts, output)
    return exit_code(diagnostics)


def show(analysis: Analysis, report: AuditReport, page: Page) -> None:
    """Audit by audit, formula by formula: the verdict on each mode, and why."""
    declared = {each.name: each for each in analysis.resolved.spec.audits}
    for name, formulas in groupby(report.formulas, lambda each: each.audit):
        page.sides([(name, "bold")], declared[name].place.short)
        page.wrapped(declared[name].source, indent=2)
        for formula in formulas:
            page.line()
            _show_formula(formula, page)
        page.line()
    page.line((_summary(report), "bold"))


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
    """How many formulas came out how, such as `3 formulas: 2 proved, 1 overflows`."""
    verdicts = [formula.overall for formula in report.formulas]
    counted = [f"{verdicts.count(each)} {each}" for each in _STYLES if each in verdicts]
    named = f"{len(verdicts)} {'formula' if len(verdicts) == 1 else 'formulas'}"
    differing = sum(each.severity == "error" for each in report.diagnostics)
    outcome = "all as expected" if not differing else f"{differing} not as expected"
    return f"{named}: {', '.join([*counted, outcome])}" if verdicts else "no formulas are stated"


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
