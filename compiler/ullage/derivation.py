"""The road from a resolved spec to capacities, their proofs and the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ullage.analysis import Derived
from ullage.audit.wellformed import check_audits
from ullage.bound.problem import Constraint, Problem
from ullage.bound.specialise import specialise
from ullage.configuration.defaults import check_defaults
from ullage.diagnostics.diagnostic import Collector, Diagnostic
from ullage.memory import Memory
from ullage.plan.layout import plan
from ullage.plan.model import Plan
from ullage.processes import at_once, with_one_more
from ullage.prove.oracle import Oracles, examples
from ullage.prove.proof import Certificate
from ullage.prove.solver import Solver
from ullage.settle import settle
from ullage.spec.check import ResolvedSpec
from ullage.text.texts import TextSet
from ullage.wellformed.carried import check_carried
from ullage.wellformed.paddings import check_paddings
from ullage.wellformed.problem import check_problem


def derivation(
    sources: TextSet,
    resolved: ResolvedSpec,
    progress: Callable[[str], None],
    memory: Memory,
    beside: Callable[[], None],
) -> Derived:
    """All that is derived of a resolved spec; raises DiagnosticError with all errors of a stage.

    `beside` is called while other processes bound and prove.
    """
    collector = Collector(sources.texts)
    solvers: list[Solver] = []
    problem = specialise(
        resolved,
        collector,
        at_once,
        lambda domain: solvers.append(Solver(domain, examples(domain))),
    )
    (solver,) = solvers

    def check() -> None:
        progress("checking divisors and guards")
        apart = solver.apart()  # what is settled meanwhile has answers of its own
        check_problem(resolved, problem, apart, collector)
        if not collector.has_errors:
            check_defaults(resolved, problem.domain, collector)
        check_audits(resolved, problem, apart, collector)
        collector.raise_if_errors()
        beside()

    def paddings() -> tuple[Diagnostic, ...]:
        own = Collector(sources.texts)
        check_paddings(resolved, problem, solver.apart(), own)
        check_carried(resolved, problem, solver.apart(), own)
        return own.diagnostics

    oracles = Oracles(solver)
    mapped = with_one_more(at_once, paddings, lambda found: collector.add(*found))
    settled = settle(problem, oracles, collector, progress, mapped, check, memory)
    collector.raise_if_errors()
    problem, capacities = settled.problem, settled.capacities
    planned = plan(resolved, problem, capacities, solver, collector, at_once)
    collector.raise_if_errors()
    certificate = Certificate(settled.proofs, _assumed(resolved))
    if planned.refusals:
        problem = _without_refused(problem, planned)
    return Derived(problem, capacities, certificate, planned, collector.diagnostics)


def _without_refused(problem: Problem, planned: Plan) -> Problem:
    """The problem over the configurations that generated code accepts."""
    domain = problem.domain
    refused = tuple(Constraint(*refusal, rare=True) for refusal in planned.refusals)
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
