"""Everything that is known about a specs folder."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.bound.capacities import Capacities
from ullage.bound.problem import Problem
from ullage.diagnostics.diagnostic import Diagnostic
from ullage.plan.model import Plan
from ullage.prove.certificate import Certificate
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.text.sources import SourceSet


@dataclass(frozen=True, slots=True)
class Analysis:
    """A spec folder, read, resolved, bounded, proved and planned; `warnings` never fail a run.

    The domain of `problem`, which `solver` knows, leaves out what the plan refuses.
    """

    sources: SourceSet
    resolved: ResolvedSpec
    problem: Problem
    solver: Solver
    capacities: Capacities
    certificate: Certificate
    plan: Plan
    warnings: tuple[Diagnostic, ...]
