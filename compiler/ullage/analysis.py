"""Everything that is known about a specs folder."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.capacities import Capacities
from ullage.bound.problem import Problem
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.plan.model import Plan
from ullage.prove.proof import Certificate
from ullage.spec.check import ResolvedSpec
from ullage.text.sources import SourceSet


@dataclass(frozen=True, slots=True)
class Derived:
    """What is derived of a resolved spec; `warnings` never fail a run.

    The domain of `problem` leaves out what the plan refuses.
    """

    problem: Problem
    capacities: Capacities
    certificate: Certificate
    plan: Plan
    warnings: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A spec folder, read, resolved, bounded, proved and planned."""

    sources: SourceSet
    resolved: ResolvedSpec
    problem: Problem
    capacities: Capacities
    certificate: Certificate
    plan: Plan
    warnings: tuple[Diagnostic, ...]

    @staticmethod
    def of(sources: SourceSet, resolved: ResolvedSpec, derived: Derived) -> Analysis:
        """What is derived, beside what it is derived from."""
        return Analysis(
            sources,
            resolved,
            derived.problem,
            derived.capacities,
            derived.certificate,
            derived.plan,
            derived.warnings,
        )
