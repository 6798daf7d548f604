"""`ullage check`: every capacity with its formula and what is proved of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.bound.capacities import Capacity
from ullage.bound.problem import RunnerProblem
from ullage.commands.explain_wrapper import batches_of, summary
from ullage.commands.formulas import broken
from ullage.commands.progress import progress
from ullage.commands.proofs import unproven
from ullage.commands.reporting import (
    Exit,
    Format,
    Json,
    exit_code,
    json_of,
    leaving_allowed,
    write_diagnostics,
    write_json,
)
from ullage.commands.terminal import Page, Styled, result_console
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE
from ullage.memory import memory_of
from ullage.prove.proof import Proof
from ullage.spec.wrappers import Wrapper


def run(specs: Path, output: Format) -> Exit:
    """Analyse a specs folder and show its capacities; unproven ones are errors."""
    with progress(output is Format.TEXT) as report:
        analysis = analyse(specs, report, memory=memory_of(os.environ))
    found = (*analysis.warnings, *unproven(analysis))
    with leaving_allowed():
        if output is Format.JSON:
            write_json(document(analysis, found))
        elif output is Format.TEXT:
            show(analysis, Page(result_console()))
    with leaving_allowed():
        write_diagnostics(found, analysis.sources.texts, output)
    return exit_code(found)


def show(analysis: Analysis, page: Page) -> None:
    """Each capacity of each runner; then, of all of them, what is assumed and what is unproven."""
    for runner in analysis.problem.runners:
        _show_runner(analysis, runner, page)
    for wrapper in analysis.resolved.spec.wrappers:
        _show_wrapper(analysis, wrapper, page)
    certificate = analysis.certificate
    page.wrapped(f"assumed: {_listed(certificate.assumed)}")
    unproved = (f"{proof.runner}.{proof.target}" for proof in certificate.unproven)
    page.wrapped(f"unproven: {_listed(unproved)}")
    page.line((_summary(analysis), "bold"))


def _show_runner(analysis: Analysis, runner: RunnerProblem, page: Page) -> None:
    page.sides([(runner.name, "bold")], runner.place.short)
    if runner.guard != TRUE:
        page.line(f"where {spell(runner.guard)}", indent=2)
    page.line()
    for target in runner.targets:
        capacity = analysis.capacities.of(runner.name, target)
        proof = analysis.certificate.of(runner.name, target)
        page.line((target, "bold cyan"), "  ", *verdicts(proof), indent=2)
        page.lines(broken(spell(capacity.formula), page.width - 6), indent=6)
        if slots := slots_along(analysis, runner, target):
            page.wrapped("the length of " + ", ".join(slots), indent=4)
        page.wrapped("bound by " + ", ".join(binding_modes(capacity)), indent=4)
        page.wrapped(_assumptions(assumed_of(analysis, runner, target)), indent=4)
        if proof.slack is not None:
            page.wrapped(f"slack: {proof.slack}", indent=4)
        _show_flaws(proof, page)
        page.line()


def _show_wrapper(analysis: Analysis, wrapper: Wrapper, page: Page) -> None:
    """An object of a library, and whose batches have its slots."""
    page.sides([(wrapper.name, "bold"), f"  {wrapper.library}"], wrapper.place.short)
    if wrapper.when != TRUE:
        page.line(f"where {spell(wrapper.when)}", indent=2)
    page.wrapped(batches_of(analysis, wrapper), indent=4)
    page.line()


def _show_flaws(proof: Proof, page: Page) -> None:
    """What is not proved, as much as one line holds of it, and then where the rest is."""
    if not proof.flaws:
        return
    whole, room = "; ".join(proof.flaws).replace("\n", " "), page.width - 4
    if len(whole) <= room:
        page.line((whole, "red"), indent=4)
        return
    page.line((f"{whole[: room - 2]} …", "red"), indent=4)
    page.wrapped(f"all of it: ullage explain SPECS {proof.runner}.{proof.target}", indent=4)


def verdicts(proof: Proof) -> Sequence[Styled]:
    """`sound ✓  tight ✓`, with a cross for what is not proved."""
    parts: list[Styled] = []
    for word, holds in (("sound", proof.sound), ("tight", proof.tight)):
        parts += [f"{word} ", ("✓", "green") if holds else ("✗", "red"), "  "]
    return parts[:-1]


def binding_modes(capacity: Capacity) -> list[str]:
    """The modes whose largest batch can be the capacity, in declared order."""
    return list(dict.fromkeys(candidate.mode for candidate in capacity.binding))


def slots_along(analysis: Analysis, runner: RunnerProblem, target: str) -> list[str]:
    """The slots that share a capacity along an axis which is shorter for them than for others."""
    planned = next(each for each in analysis.plan.runners if each.name == runner.name)
    return [
        slot.name
        for slot in planned.slots
        if any(
            each.target == target and each.along not in (None, target) for each in slot.dimensions
        )
    ]


def assumed_of(analysis: Analysis, runner: RunnerProblem, target: str) -> list[str]:
    """The live variables, as MODE.NAME, whose ranges one capacity takes for granted."""
    modes = {mode.name for mode in runner.modes if target in mode.extents}
    return [each for each in analysis.certificate.assumed if each.partition(".")[0] in modes]


def _assumptions(assumed: Sequence[str]) -> str:
    if not assumed:
        return "assumes nothing"
    ranges = "the range" if len(assumed) == 1 else "the ranges"
    return f"assumes {ranges} of {', '.join(assumed)}, which load cannot see"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _summary(analysis: Analysis) -> str:
    count, open_ones = len(analysis.certificate.proofs), len(analysis.certificate.unproven)
    named = f"{count} {'capacity' if count == 1 else 'capacities'}"
    return f"{named}, {f'{open_ones} not proved' if open_ones else 'all proved; no errors'}"


def document(analysis: Analysis, found: tuple[Diagnostic, ...]) -> Json:
    """What `--json` writes."""
    capacities: list[Json] = [
        _record(analysis, runner, target)
        for runner in analysis.problem.runners
        for target in runner.targets
    ]
    wrappers: list[Json] = [summary(analysis, each) for each in analysis.resolved.spec.wrappers]
    return {
        "engine": analysis.resolved.spec.engine,
        "digest": analysis.sources.digest,
        "capacities": capacities,
        "wrappers": wrappers,
        "assumed": list(analysis.certificate.assumed),
        "diagnostics": json_of(found),
    }


def _record(analysis: Analysis, runner: RunnerProblem, target: str) -> Json:
    capacity = analysis.capacities.of(runner.name, target)
    proof = analysis.certificate.of(runner.name, target)
    return {
        "runner": runner.name,
        "target": target,
        "formula": spell(capacity.formula),
        "binding": list(binding_modes(capacity)),
        "proved": proof.proved,
        "sound": proof.sound,
        "tight": proof.tight,
        "slack": proof.slack,
        "obligations": proof.obligations,
        "assumed": list(assumed_of(analysis, runner, target)),
        "flaws": list(proof.flaws),
        "place": str(runner.place),
    }
