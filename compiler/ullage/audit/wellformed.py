"""Stated formulas have a value wherever they are compared with what was derived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ullage.audit.compared import Compared, compared
from ullage.bound.problem import Problem
from ullage.diagnostics.diagnostic import Collector
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.wellformed.problem import check_uses
from ullage.wellformed.uses import Reached, Use, Walker


def check_audits(
    resolved: ResolvedSpec, problem: Problem, solver: Solver, collector: Collector
) -> None:
    """Report every divisor, guarded name and list look-up of a formula that can go wrong."""
    walker = Walker(solver)
    formulas = compared(resolved, problem)
    uses = (use for each in formulas for use in _uses(each, walker))
    check_uses(uses, resolved, solver, collector)


def _uses(each: Compared, walker: Walker) -> Iterator[Use]:
    """What a formula needs, its local names written out: each counts where the formula uses it."""
    what = f"in the formula for worker '{each.stated.worker}' of runner '{each.stated.runner}'"
    related = ((each.stated.place, what),)
    for use in walker.uses(each.when, Reached((each.runner.guard,))):
        yield replace(use, related=related)
    for use in walker.uses(each.formula, Reached((each.somewhere,))):
        yield replace(use, related=related)
