"""From capacities to the plan: every runner's slots with shapes, tails and checked values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ullage.bound.capacities import Capacities
from ullage.bound.domain import ForWorker, for_worker
from ullage.bound.problem import Problem, RunnerProblem
from ullage.bound.targets import axis_of
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.simplify import fold
from ullage.expr.tree import FALSE, Expr, Name, substitute
from ullage.plan.bases import bases_of
from ullage.plan.captures import Captures
from ullage.plan.claims import Claims
from ullage.plan.lifetimes import groups_of, with_kept_parts
from ullage.plan.limits import Limits
from ullage.plan.model import Dimension, Plan, PlannedRunner, PlannedSlot, Tail
from ullage.plan.overwrites import Overwrites
from ullage.plan.room_left import check_room
from ullage.plan.tails import Tails
from ullage.plan.told import Told, joined
from ullage.plan.values import Refusal, Values
from ullage.processes import Mapper, in_turn
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Range, Slot
from ullage.spec.steps import writing_steps


def plan(
    resolved: ResolvedSpec,
    problem: Problem,
    capacities: Capacities,
    solver: Solver,
    collector: Collector,
    mapped: Mapper = in_turn,
) -> Plan:
    """The plan of all runners; contradictions between readers, dtypes and values are collected."""

    def planned(of: RunnerProblem) -> _Planned:
        own = solver.apart()
        found = _Planner(resolved, capacities, Claims(resolved, own)).runner(of)
        own.forget()
        return found

    found = mapped(planned, problem.runners)
    runners = with_kept_parts(tuple(each.runner for each in found))
    room = check_room(resolved, problem, runners, solver)
    collector.add(*joined((*(each.told for each in found), room)))
    refusals = dict.fromkeys(refusal for each in found for refusal in each.refusals)
    groups = groups_of(resolved, runners)
    return Plan(runners, tuple(refusals), groups, bases_of(runners, groups))


@dataclass(frozen=True, slots=True)
class _Planned:
    """One runner, with what its slots add to validate, and what is wrong with it."""

    runner: PlannedRunner
    refusals: tuple[Refusal, ...]
    told: Told


@dataclass
class _Planner:
    """Plans one runner."""

    resolved: ResolvedSpec
    capacities: Capacities
    claims: Claims
    told: Told = field(default_factory=Told)
    refusals: list[Refusal] = field(default_factory=list)

    def runner(self, problem: RunnerProblem) -> _Planned:
        runner = self.resolved.runners[problem.runner]
        rewrite = for_worker(self.resolved, problem.worker)
        tails = Tails(
            self.resolved,
            runner,
            problem,
            rewrite,
            self.claims,
            self.told,
        ).of_slots()
        brought = self.resolved.brought_axes
        limits = Limits(runner, problem, rewrite, self.capacities, brought, self.claims, self.told)
        limits.check()
        limits.check_unstated()
        overwrites = Overwrites(self.resolved, runner, rewrite, self.claims, self.told)
        for mode in problem.modes:
            overwrites.check(mode)
        values = Values(problem, self.claims, self.told)
        slots: list[PlannedSlot] = []
        for slot in self.resolved.slots_of(runner):
            if slot.name in tails and rewrite(slot.when) != FALSE:
                slots.append(self._slot(slot, problem, rewrite, tails[slot.name]))
                self.refusals.extend(values.check(slot, slots[-1]))
        Captures(self.resolved, runner, problem, rewrite, self.claims, self.told).check(slots)
        planned = PlannedRunner(
            problem.name,
            problem.runner,
            problem.worker,
            problem.guard,
            tuple(slots),
            problem.place,
        )
        return _Planned(planned, tuple(self.refusals), self.told)

    def _slot(
        self, slot: Slot, problem: RunnerProblem, rewrite: ForWorker, tails: Mapping[str, Tail]
    ) -> PlannedSlot:
        return PlannedSlot(
            name=slot.name,
            doc=slot.doc,
            dimensions=tuple(
                self._dimension(slot, position, problem, rewrite)
                for position in range(len(slot.shape))
            ),
            dtype=slot.dtype,
            cpu_dtype=slot.cpu_dtype,
            device=slot.device,
            source=slot.source,
            value=None if slot.value is None else rewrite(slot.value),
            range=slot.range and _range(slot.range, rewrite),
            casts_from=slot.casts_from,
            optional=slot.optional,
            guard=rewrite(slot.when),
            tails=tails,
            place=slot.place,
            live_range=slot.live_range and _range(slot.live_range, rewrite),
            written_by=self._steps_that_write(slot, problem),
            kept=slot.lifetime != "load",
            elements=slot.elements and replace(slot.elements, value=rewrite(slot.elements.value)),
            carried_otherwise=slot.carried_otherwise,
        )

    def _steps_that_write(self, slot: Slot, problem: RunnerProblem) -> tuple[str, ...]:
        runner = self.resolved.runners[problem.runner]
        return () if slot.written_by is None else writing_steps(slot.written_by, runner)

    def _dimension(
        self, slot: Slot, position: int, problem: RunnerProblem, rewrite: ForWorker
    ) -> Dimension:
        """One dimension: of an axis, with a capacity of its own, or fixed by parameters."""
        written = slot.shape[position]
        axes = self.resolved.axes
        padded: dict[str, Expr] = {axis: Name(f"padded_{axis}") for axis in axes}
        extent = fold(substitute(rewrite(written), padded))
        along = axis_of(self.resolved, written)
        target = problem.dimensions[slot.name][position]
        if target is None:
            return Dimension(extent, extent, None, None)
        formula = self.capacities.of(problem.name, target).formula
        if along is None or isinstance(written, Name):
            return Dimension(formula, extent, along, target)
        follows = fold(substitute(rewrite(written), {along: formula}))
        return Dimension(follows, extent, None, target, rises=along)


def _range(values: Range, rewrite: ForWorker) -> Range:
    return Range(rewrite(values.low), rewrite(values.high), values.place)
