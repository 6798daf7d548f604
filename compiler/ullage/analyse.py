"""The road from a specs folder to everything that is known about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ullage.analysis import Analysis
from ullage.audit.wellformed import check_audits
from ullage.bound.problem import Constraint, Problem
from ullage.bound.specialise import specialise
from ullage.diagnostics.diagnostic import Collector
from ullage.plan.layout import plan
from ullage.plan.model import Plan
from ullage.processes import at_once
from ullage.prove.certificate import Certificate
from ullage.prove.oracle import Oracles
from ullage.prove.solver import Solver
from ullage.settle import settle
from ullage.spec.check import ResolvedSpec, resolve
from ullage.spec.load import load_spec
from ullage.text.sources import SourceSet, load_sources
from ullage.wellformed.problem import check_problem

Progress = Callable[[str], None]


def read(folder: Path, name: str | None = None) -> tuple[SourceSet, ResolvedSpec]:
    """The resolved spec of a folder; raises DiagnosticError with everything that is wrong.

    `name` is what places call the folder, as for `load_sources`.
    """
    sources = load_sources(folder, name)
    return sources, resolve(load_spec(sources), sources.texts)


def analyse(folder: Path, progress: Progress = lambda _: None, name: str | None = None) -> Analysis:
    """Everything about a specs folder; raises DiagnosticError with all errors of a stage.

    `name` is what places call the folder, as for `load_sources`.
    """
    progress("reading specs")
    sources, resolved = read(folder, name)
    collector = Collector(sources.texts)
    problem = specialise(resolved, collector)
    solver = Solver(problem.domain)

    def check() -> None:
        progress("checking divisors and guards")
        apart = solver.apart()  # what is settled meanwhile has answers of its own
        check_problem(resolved, problem, apart, collector)
        check_audits(resolved, problem, apart, collector)
        collector.raise_if_errors()

    oracles = Oracles(solver)
    settled = settle(problem, oracles, collector, progress, at_once, check)
    collector.raise_if_errors()
    problem, capacities = settled.problem, settled.capacities
    planned = plan(resolved, problem, capacities, solver, collector, at_once)
    collector.raise_if_errors()
    certificate = Certificate(settled.proofs, _assumed(resolved))
    if planned.refusals:
        problem = _without_refused(problem, planned)
        solver = Solver(problem.domain)
    return Analysis(
        sources, resolved, problem, solver, capacities, certificate, planned, collector.diagnostics
    )


def _without_refused(problem: Problem, planned: Plan) -> Problem:
    """The problem over the configurations that generated code accepts."""
    domain = problem.domain
    refused = tuple(Constraint(*refusal) for refusal in planned.refusals)
    domain = replace(domain, constraints=(*domain.constraints, *refused))
    return replace(problem, domain=domain)


def _assumed(resolved: ResolvedSpec) -> tuple[str, ...]:
    """The live variables that load cannot see, so that their ranges are taken for granted."""
    return tuple(
        f"{mode.name}.{live.name}"
        for mode in resolved.spec.modes
        for live in mode.live
        if not live.seen_in
    )
