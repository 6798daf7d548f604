"""Every expression of a problem has a value wherever it is evaluated or proved about.

What each part needs is an obligation under its path condition: the guards, constraints and
branches under which it is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ullage.bound.domain import ForWorker, for_worker
from ullage.bound.elements import drawn_position, inside
from ullage.bound.problem import ModeProblem, Problem
from ullage.bound.relations import relations_of
from ullage.bound.targets import needs_own_capacity
from ullage.counterexample.examples import Examples
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import (
    TRUE,
    Call,
    Comparison,
    Expr,
    Integer,
    Name,
    conjunction,
    disjunction,
    free_names,
    negation,
)
from ullage.place import Place
from ullage.prove.names import with_labels
from ullage.prove.solver import Solver, at_most
from ullage.spec.check import ResolvedSpec
from ullage.spec.elements import Elements
from ullage.spec.model import Slot
from ullage.spec.steps import flattened
from ullage.wellformed.constants import check_constants
from ullage.wellformed.fallbacks import check_fallbacks
from ullage.wellformed.fields import check_fields
from ullage.wellformed.leavings import check_leavings
from ullage.wellformed.loads import check_loads
from ullage.wellformed.occurrence import check_occurrence
from ullage.wellformed.orders import check_orders
from ullage.wellformed.promises import check_promises
from ullage.wellformed.ranges import check_ranges
from ullage.wellformed.readers import check_readers, check_unread, check_unserved
from ullage.wellformed.rounds import check_rank_count, check_rounds
from ullage.wellformed.skips import check_skips
from ullage.wellformed.takers import check_takers
from ullage.wellformed.unjoined import check_unjoined
from ullage.wellformed.uses import Need, Reached, Use, Walker
from ullage.wellformed.wrappers import check_wrappers, uses_of_wrappers
from ullage.wellformed.writers import check_writers


def check_problem(
    resolved: ResolvedSpec, problem: Problem, solver: Solver, collector: Collector
) -> None:
    """Report every divisor, guarded name and list look-up that can go wrong."""
    uses = (
        *_uses_of(problem, solver),
        *_uses_of_slots(resolved, problem, solver),
        *_uses_of_groups(resolved, solver),
        *uses_of_wrappers(resolved, problem, solver),
    )
    signs = ("extent", "share")
    check_uses((use for use in uses if use.need not in signs), resolved, solver, collector)
    if not collector.has_errors:  # an extent without a value says nothing about its sign
        check_uses((use for use in uses if use.need in signs), resolved, solver, collector)
        check_takers(resolved, solver, collector)
        check_promises(resolved, solver, collector)
        check_ranges(resolved, solver, collector)
    if not collector.has_errors:  # an empty range may be all that keeps a mode from occurring
        check_occurrence(problem, solver, collector)
        check_rank_count(resolved, solver, collector)
        check_rounds(resolved, solver, collector)
        check_unjoined(resolved, solver, collector)
        check_skips(resolved, solver, collector)
        check_fallbacks(resolved, solver, collector)
        check_orders(resolved, solver, collector)
        check_fields(resolved.spec, collector)
        check_readers(resolved, collector)
        check_unread(resolved, collector)
        check_unserved(resolved, collector)
        check_writers(resolved, collector)
        check_loads(resolved, collector)
        check_leavings(resolved, collector)
        check_constants(resolved, collector)
        check_wrappers(resolved, problem, collector)


def check_uses(
    uses: Iterable[Use], resolved: ResolvedSpec, solver: Solver, collector: Collector
) -> None:
    """Report every part that may lack what it needs, once for each place."""
    checker = _Checker(resolved, solver, collector)
    for use in uses:
        checker.check(use)


@dataclass
class _Checker:
    """Decides uses one by one, each with the constraints that it may rest on."""

    resolved: ResolvedSpec
    solver: Solver
    collector: Collector
    seen: set[tuple[Place, str, str]] = field(default_factory=set)
    solvers: dict[int, Solver] = field(default_factory=dict)

    def check(self, use: Use) -> None:
        """Report a use that may lack what it needs, once for each place."""
        if use.before and self._solver(0).proves(use.claim, use.reached.conditions):
            return  # most rest on no constraint, and a solver for each position costs much
        solver = self._solver(use.before)
        verdict = solver.decide(use.claim, use.reached.conditions)
        if verdict.proved:
            return
        subject = with_labels(spell(use.subject), use.reached.live)
        key = (use.place, use.code, subject)
        if key in self.seen:
            return
        self.seen.add(key)
        hint = None if verdict.model is None else self._example(use, solver)
        message = _message(use, subject)
        self.collector.error(use.code, message, use.place, hint=hint, related=use.related)

    def _solver(self, before: int | None) -> Solver:
        """The solver that knows the constraints before a position only."""
        if before is None:
            return self.solver
        if before not in self.solvers:
            domain = self.solver.domain
            fewer = replace(domain, constraints=domain.constraints[:before])
            examples = self.solver.examples.models
            self.solvers[before] = Solver(fewer, examples, with_bounds=False)
        return self.solvers[before]

    def _example(self, use: Use, solver: Solver) -> str | None:
        reached = use.reached
        members: Mapping[str, str] = dict(reached.members)
        examples = Examples(self.resolved, solver)
        needing: Mapping[Need, Expr] = {
            "element": Call("max", (use.subject,)),
            "large element": use.subject,
        }
        fails = needing.get(use.need)
        return examples.against(use.claim, reached.conditions, reached.live, members, fails)


def _message(use: Use, subject: str) -> str:
    condition = with_labels(spell(_condition(use)), use.reached.live)
    messages: Mapping[Need, str] = {
        "divisor": f"divisor '{subject}' can be below 1",
        "guard": f"'{subject}' is used where its guard can be false: {condition}",
        "element": f"the list may have no element: {subject}",
        "large element": f"no element may be large enough: {condition} can be false",
        "extent": f"the extent of {subject} can be negative",
        "share": f"what a rank brings to the others can be negative: {subject}",
        "rows": f"'{subject}' may not have a row for each object: expected {condition}",
    }
    return messages[use.need]


def _condition(use: Use) -> Expr:
    """What is claimed, in the author's terms rather than by what is known of a list."""
    match use.subject:
        case Call("next_in", (operand, source)):
            return at_most(operand, Call("max", (source,)))
        case _:
            return use.claim


def _uses_of(problem: Problem, solver: Solver) -> Iterator[Use]:
    walker = Walker(solver)
    everywhere = Reached()
    for definition in problem.domain.definitions:
        yield from walker.uses(definition.value, everywhere.under(definition.guard))
        yield from walker.uses(definition.guard, everywhere)
    for variable in problem.domain.variables:
        for part in (variable.low, variable.high):
            if part is not None:
                yield from walker.uses(part, everywhere.under(variable.guard))
        yield from walker.uses(variable.guard, everywhere)
    for position, constraint in enumerate(problem.domain.constraints):
        uses = walker.uses(constraint.that, everywhere)
        yield from (replace(use, before=position) for use in uses)
    for runner in problem.runners:
        for mode in runner.modes:
            yield from _uses_of_mode(walker, mode)


def _uses_of_mode(walker: Walker, mode: ModeProblem) -> Iterator[Use]:
    yield from walker.uses(mode.guard, Reached())
    yield from _uses_of_live(walker, mode)
    relations = tuple(relation.claim for relation in relations_of(mode))
    reached = Reached((mode.guard, *relations), mode.live)
    for accepted in mode.accepts:
        reached = reached.under(accepted.condition)
    offered = Reached(
        (mode.guard, *(each.claim for each in relations_of(mode.of_all_runners))), mode.live
    )
    for stage in mode.stages:
        for extent in stage.extents.values():
            yield from walker.uses(extent, reached if stage.of_runner else offered)
    for share in mode.shares:
        yield from walker.uses(share.brought, offered)
        least = Comparison("<=", Integer(0), share.brought)
        yield Use("share", least, offered, share.brought, share.place)
    for target, extent in mode.extents.items():
        yield from walker.uses(extent, reached)
        least = Comparison("<=", Integer(0), extent)
        yield Use("extent", least, reached, Name(target), mode.place)


def _uses_of_live(walker: Walker, mode: ModeProblem) -> Iterator[Use]:
    """Ranges use earlier live variables, couplings all of them."""
    known = Reached((mode.guard,))
    for live in mode.live:
        for end in (live.low, live.high):
            yield from walker.uses(end, known.under(live.guard))
        inside = conjunction(
            Comparison("<=", live.low, Name(live.name)),
            Comparison("<=", Name(live.name), live.high),
        )
        ranged = known.under(disjunction(negation(live.guard), inside))
        known = replace(ranged, live=(*known.live, live))
    legal = mode.of_all_runners
    for coupling in legal.couplings:
        yield from walker.uses(coupling.condition, known.under(coupling.guard))
    reached = Reached((mode.guard, *(each.claim for each in relations_of(legal))), mode.live)
    for accepted in mode.accepts:  # each is asked where those before it hold
        yield from walker.uses(accepted.condition, reached)
        reached = reached.under(accepted.condition)


def _uses_of_slots(resolved: ResolvedSpec, problem: Problem, solver: Solver) -> Iterator[Use]:
    """The expressions of slots, readers and steps, as each worker with a runner sees them."""
    walker = Walker(solver)
    axes = {axis.name for axis in resolved.spec.axes}
    for runner in problem.runners:
        rewrite = for_worker(resolved, runner.worker)
        for expression, condition in _conditioned(resolved, runner.runner):
            reached = Reached((runner.guard, rewrite(condition)))
            yield from walker.uses(rewrite(expression), reached)
        for slot in resolved.slots_of(resolved.runners[runner.runner]):
            if slot.elements is not None:
                reached = _of_elements(slot, slot.elements, Reached((runner.guard,)), rewrite)
                yield from walker.uses(rewrite(slot.elements.value), reached)
        fixed = _fixed(resolved, runner.runner)  # the sign of an axis is that of its mode's extent
        for slot, extent in ((s, e) for s, e in fixed if not free_names(e) & axes):
            reached = Reached((runner.guard, rewrite(slot.when)))
            least = Comparison("<=", Integer(0), rewrite(extent))
            yield Use("extent", least, reached, Name(slot.name), extent.place)


def _of_elements(slot: Slot, elements: Elements, reached: Reached, rewrite: ForWorker) -> Reached:
    """Where the value of each element of a slot that is written once is reached."""
    drawn = drawn_position(elements, map(rewrite, slot.shape))
    return replace(reached.under(rewrite(slot.when), *inside(drawn)), live=drawn)


def _uses_of_groups(resolved: ResolvedSpec, solver: Solver) -> Iterator[Use]:
    """The conditions of concurrent groups, which are the same for every worker."""
    walker = Walker(solver)
    for worker in resolved.spec.workers[:1]:
        rewrite = for_worker(resolved, worker.name)
        for group in resolved.spec.concurrent:
            yield from walker.uses(rewrite(group.when), Reached())


def _fixed(resolved: ResolvedSpec, runner_name: str) -> Iterator[tuple[Slot, Expr]]:
    """The extents of slots that are axes, or follow from parameters alone."""
    for slot in resolved.slots_of(resolved.runners[runner_name]):
        yield from ((slot, each) for each in slot.shape if not needs_own_capacity(resolved, each))


def _conditioned(resolved: ResolvedSpec, runner_name: str) -> Iterator[tuple[Expr, Expr]]:
    """Each expression with the `when` of what it belongs to."""
    runner = resolved.runners[runner_name]
    for slot in resolved.slots_of(runner):
        ranges = (each for each in (slot.range, slot.live_range) if each is not None)
        ends = tuple(end for each in ranges for end in (each.low, each.high))
        computed = (slot.value,) if slot.value is not None else ()
        yield slot.when, TRUE
        # What a batch brings is the same where it is carried.
        where = TRUE if slot.carried_otherwise else slot.when
        yield from ((each, where) for each in (*ends, *computed))
    yield from ((extent, slot.when) for slot, extent in _fixed(resolved, runner_name))
    yield from ((limit, TRUE) for _, limit in runner.limits)
    for step in flattened(runner.steps):
        yield step.when, TRUE
        yield from ((within.when, step.when) for within in step.within)
    for reader in resolved.readers_of(runner):
        yield reader.when, TRUE
        for read in reader.reads:
            ends = (read.range.low, read.range.high) if read.range else ()
            fill = (read.fill,) if read.fill is not None else ()
            yield from ((each, reader.when) for each in (*ends, *fill))
