"""What holds of one runner's loads: claims over parameters, live and padded extents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ullage.bound.problem import Live, ModeProblem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.counterexample.examples import Examples
from ullage.expr.conditions import conjuncts
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Boolean,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Logical,
    Name,
    Not,
    conjunction,
    free_names,
    substitute,
)
from ullage.plan.intervals import Interval, Intervals
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec

Bounds = tuple[Expr, Expr]


LITTLE_EFFORT = 20_000
"""Steps of z3 at each level."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A claim that was not proved; `example` is None where the solver found none."""

    example: str | None


class Claims:
    """Decides claims for every runner of a problem."""

    def __init__(self, resolved: ResolvedSpec, solver: Solver) -> None:
        self.solver = solver
        self.intervals = Intervals(solver.domain)
        self._examples = Examples(resolved, solver)
        self._axes = tuple(axis.name for axis in resolved.spec.axes)
        self._brought = tuple(each for each in self._axes if each in resolved.brought_axes)
        self._of_modes: dict[int, tuple[ModeProblem, Intervals]] = {}

    def inside(self, value: Expr, bounds: Bounds) -> Expr:
        """The claim that a value lies in a range, without the parts that intervals settle."""
        parts = [
            Comparison("<=", low, high)
            for low, high in ((bounds[0], self.number(value)), (self.number(value), bounds[1]))
            if not self.intervals.at_most(low, high)
        ]
        return fold(conjunction(*parts))

    def number(self, value: Expr) -> Expr:
        """The value as an integer: a truth value is 0 or 1."""
        return Conditional(value, Integer(1), Integer(0)) if self.is_truth(value) else value

    def is_truth(self, value: Expr) -> bool:
        """Whether the expression is a truth value."""
        match value:
            case Boolean() | Comparison() | Logical() | Not():
                return True
            case Name(name=name):
                return name in self.solver.booleans
            case Conditional(then=then):
                return self.is_truth(then)
            case _:
                return False

    def possible(self, condition: Expr, given: Sequence[Expr] = ()) -> bool:
        """Whether some legal configuration may satisfy the condition."""
        if condition in (TRUE, FALSE):
            return condition == TRUE
        return not self.solver.excludes(condition, *given)

    def holds(self, claim: Expr, given: Sequence[Expr]) -> bool:
        """Whether the claim over parameters holds wherever all of `given` does."""
        return claim == TRUE or self.solver.proves(claim, given)

    def shown(self, claim: Expr, given: Sequence[Expr]) -> bool:
        """Whether the claim holds as far as little effort tells."""
        return claim == TRUE or self.solver.decide(claim, given, "related", LITTLE_EFFORT).proved

    def failure(
        self, claim: Expr, given: Sequence[Expr], live: tuple[Live, ...] = ()
    ) -> Failure | None:
        """None if the claim over parameters, and `live`, holds wherever all of `given` does."""
        if self.holds(claim, given):
            return None
        return Failure(self._examples.against(claim, given, live))

    def failure_of_load(
        self, claim: Expr, runner: RunnerProblem, mode: ModeProblem, given: Sequence[Expr]
    ) -> Failure | None:
        """None if the claim holds for every legal batch of the mode, wherever `given` does.

        Live extents are those of the sources, before anything pads.
        """
        claim = self._unsettled(claim, mode)
        if self.shown(claim, given):
            return None
        conditions = (*given, runner.guard, mode.guard)
        if not free_names(claim) & {f"{kind}_{axis}" for kind in _KINDS for axis in self._axes}:
            return self.failure(claim, conditions)
        if self.shown(claim, (*conditions, *self._extents())):
            return None
        relations = tuple(relation.claim for relation in relations_of(mode))
        values = self._values(mode)
        exact = fold(substitute(claim, values))
        known = tuple(fold(substitute(each, values)) for each in self._extents())
        return self.failure(exact, (*conditions, *relations, *known), mode.live)

    def _unsettled(self, claim: Expr, mode: ModeProblem) -> Expr:
        """The claim without what the intervals of the mode's batches settle."""
        if id(mode) not in self._of_modes:
            self._of_modes[id(mode)] = mode, self._intervals(mode)
        _, intervals = self._of_modes[id(mode)]

        def is_settled(part: Expr) -> bool:
            match part:
                case Comparison("<=", low, high):
                    return intervals.at_most(low, high)
                case _:
                    return False

        return conjunction(*(each for each in conjuncts(claim) if not is_settled(each)))

    def _intervals(self, mode: ModeProblem) -> Intervals:
        """Bounds of the live variables of a mode and of its extents."""
        known: dict[str, Interval] = {}
        for live in mode.live:
            intervals = self.intervals.knowing(known)
            known[live.name] = Interval(intervals.of(live.low).low, intervals.of(live.high).high)
        intervals = self.intervals.knowing(known)
        for name, extent in self._values(mode).items():
            least, most = intervals.of(extent).low, intervals.of(extent).high
            known[name] = Interval(max(0, least or 0), most)  # no extent is negative
        return self.intervals.knowing(known)

    def _extents(self) -> tuple[Expr, ...]:
        """What is known of every batch's extents."""
        pairs = [(Name(f"live_{axis}"), Name(f"padded_{axis}")) for axis in self._brought]
        return tuple(
            conjunction(Comparison("<=", Integer(0), live), Comparison("<=", live, padded))
            for live, padded in pairs
        )

    def _values(self, mode: ModeProblem) -> dict[str, Expr]:
        values = {f"live_{axis}": mode.live_extents[axis] for axis in self._brought}
        padded = mode.stages[-1].extents
        values.update({f"padded_{axis}": padded[axis] for axis in self._axes})
        return values


_KINDS = ("live", "padded")
