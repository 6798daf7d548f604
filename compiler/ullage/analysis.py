"""Everything that is known about a specs folder."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.capacities import Capacities
from ullage.bound.problem import Problem
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.plan.model import Plan
from ullage.prove.proof import Certificate
from ullage.spec.check import ResolvedSpec
from ullage.text.texts import TextSet


@dataclass(frozen=True, slots=True)
class Derived:
    """What is derived of a resolved spec: a capacity, proved or not, for each target of a runner.

    `warnings` never fail a run. The domain of `problem` leaves out what the plan refuses.
    """

    problem: Problem
    capacities: Capacities
    certificate: Certificate
    plan: Plan
    warnings: tuple[Diagnostic, ...]

    def __post_init__(self) -> None:
        targets = {(each.name, target) for each in self.problem.runners for target in each.targets}
        for found in (self.capacities.by_target, self.certificate.proofs):
            if len(found) != len(targets) or {(e.runner, e.target) for e in found} != targets:
                raise ValueError("there is not one capacity and one proof for each target")
        names = [each.name for each in self.problem.runners]
        if [each.name for each in self.plan.runners] != names:
            raise ValueError("the plan is of other runners")


@dataclass(frozen=True, slots=True)
class Analysis:
    """A spec folder, read, resolved, bounded, proved and planned."""

    sources: TextSet
    resolved: ResolvedSpec
    problem: Problem
    capacities: Capacities
    certificate: Certificate
    plan: Plan
    warnings: tuple[Diagnostic, ...]

    @staticmethod
    def of(sources: TextSet, resolved: ResolvedSpec, derived: Derived) -> Analysis:
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
