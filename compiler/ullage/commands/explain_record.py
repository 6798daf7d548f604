"""The derivation of one capacity as JSON: all of it, whatever a configuration leaves of it."""

from __future__ import annotations

from ullage.analysis import Analysis
from ullage.bound.capacities import Candidate, Capacity
from ullage.bound.problem import ModeProblem
from ullage.commands.check import binding_modes
from ullage.commands.definitions import definitions_of
from ullage.commands.reporting import Json
from ullage.commands.settings import Settings, plain
from ullage.commands.subjects import TargetSubject
from ullage.expr.spell import spell
from ullage.expr.tree import Expr


def document(analysis: Analysis, subject: TargetSubject, settings: Settings | None) -> Json:
    """What `--json` writes; numbers are there with a configuration only."""
    runner, target = subject.runner, subject.target
    capacity = analysis.capacities.of(runner.name, target)
    proof = analysis.certificate.of(runner.name, target)
    modes: list[Json] = [_mode_record(mode, target, capacity, settings) for mode in subject.modes]
    return {
        "runner": runner.name,
        "target": target,
        "exists": _holds(runner.guard, settings),
        "formula": spell(capacity.formula),
        "value": _number(capacity.formula, settings),
        "binding": list(
            binding_modes(capacity) if settings is None else settings.binding(capacity)
        ),
        "sound": proof.sound,
        "tight": proof.tight,
        "obligations": proof.obligations,
        "flaws": list(proof.flaws),
        "modes": modes,
        "definitions": [
            {
                "name": each.name,
                "value": spell(each.value),
                "number": _number(each.value, settings),
                "place": str(each.place),
            }
            for each in definitions_of(analysis.problem.domain, capacity.formula)
        ],
    }


def _mode_record(
    mode: ModeProblem, target: str, capacity: Capacity, settings: Settings | None
) -> Json:
    live: list[Json] = [
        {
            "name": each.name,
            "meaning": each.label,
            "low": spell(each.low),
            "high": spell(each.high),
            "place": str(each.place),
        }
        for each in mode.live
    ]
    stages: list[Json] = [
        {
            "transform": stage.transform,
            "when": spell(stage.guard),
            "extent": spell(stage.extents[target]),
            "place": str(stage.place),
        }
        for stage in mode.stages
        if target in stage.extents
    ]
    largest: list[Json] = [
        _candidate_record(mode, each, settings)
        for each in capacity.candidates
        if each.mode == mode.name
    ]
    return {
        "mode": mode.name,
        "occurs": _holds(mode.guard, settings),
        "when": spell(mode.guard),
        "place": str(mode.place),
        "live": live,
        "where": [spell(condition) for condition in mode.where],
        "stages": stages,
        "extent": spell(mode.extents[target]),
        "largest": largest,
    }


def _candidate_record(mode: ModeProblem, candidate: Candidate, settings: Settings | None) -> Json:
    numbers = {} if settings is None else settings.witness(candidate)
    present = {each.name for each in mode.live if _holds(each.guard, settings)}
    return {
        "formula": spell(candidate.formula),
        "value": _number(candidate.formula, settings),
        "where": spell(candidate.condition),
        "binding": candidate.binding,
        "eliminations": [
            {"variable": each.variable, "value": spell(each.value), "extent": spell(each.extent)}
            for each in candidate.eliminations
        ],
        "witness": {name: spell(value) for name, value in candidate.witness.items()},
        "witness_values": {
            name: plain(value) for name, value in numbers.items() if name in present
        },
    }


def _number(expr: Expr, settings: Settings | None) -> Json:
    return None if settings is None else plain(settings.value(expr))


def _holds(condition: Expr, settings: Settings | None) -> bool | None:
    """Whether a condition holds in the configuration, null without one."""
    return None if settings is None else settings.holds(condition)
