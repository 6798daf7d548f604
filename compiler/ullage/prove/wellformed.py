"""What every expression must satisfy before it is evaluated or proved about.

Each divisor and alignment is at least one, each guarded name is used only where its guard holds,
and each `next_in` has an element to find. Every use is an obligation under its path condition:
the guards, constraints and branches under which the expression is reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ullage.bound.modes import needs_own_capacity
from ullage.bound.problem import ModeProblem, Problem
from ullage.bound.relations import relations_of
from ullage.bound.specialise import for_worker
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.spell import spell
from ullage.expr.tree import (
    TRUE,
    Binary,
    Call,
    Comparison,
    Comprehension,
    Conditional,
    Expr,
    Integer,
    Logical,
    Name,
    children,
    conjunction,
    disjunction,
    negation,
)
from ullage.place import Place
from ullage.prove.solver import Solver
from ullage.spec.check import ResolvedSpec
from ullage.spec.steps import flattened

NEGATIVE = "U408"


@dataclass(frozen=True, slots=True)
class Use:
    """One place where an expression needs something: `claim` under `path`.

    A use in a constraint may rest on the constraints `before` it only: by itself it would prove
    what it needs to have a value.
    """

    code: str
    claim: Expr
    path: tuple[Expr, ...]
    subject: Expr
    place: Place
    before: int | None = None


def check_problem(
    resolved: ResolvedSpec, problem: Problem, solver: Solver, collector: Collector
) -> None:
    """Report every divisor, guarded name and list look-up that can go wrong."""
    uses = (*_uses_of(problem, solver), *_uses_of_slots(resolved, problem, solver))
    _check(tuple(use for use in uses if use.code != NEGATIVE), solver, collector)
    if not collector.has_errors:  # an extent without a value says nothing about its sign
        _check(tuple(use for use in uses if use.code == NEGATIVE), solver, collector)


def _solver_before(solver: Solver, position: int | None) -> Solver:
    """The solver that knows the constraints before a position only."""
    if position is None:
        return solver
    return Solver(replace(solver.domain, constraints=solver.domain.constraints[:position]))


def _check(uses: tuple[Use, ...], solver: Solver, collector: Collector) -> None:
    seen: set[tuple[Place, str, str]] = set()
    for use in uses:
        key = (use.place, use.code, spell(use.subject))
        if key in seen:
            continue
        verdict = _solver_before(solver, use.before).decide(use.claim, use.path)
        if not verdict.proved:
            seen.add(key)
            _report(use, verdict.model, collector)


def _report(use: Use, model: Mapping[str, int] | None, collector: Collector) -> None:
    subject, condition = spell(use.subject), spell(use.claim)
    messages = {
        "U306": f"divisor '{subject}' can be below 1",
        "U305": f"'{subject}' is used where its guard can be false: {condition}",
        "U408": f"the extent of {subject} can be negative",
        "U405": f"no element may be large enough: {condition} can be false",
    }
    collector.error(use.code, messages[use.code], use.place, hint=_example(model))


def _example(model: Mapping[str, int] | None) -> str | None:
    shown = ", ".join(f"{name} = {value}" for name, value in sorted((model or {}).items())[:8])
    return f"for example where {shown}" if shown else None


def _uses_of(problem: Problem, solver: Solver) -> Iterator[Use]:
    walker = _Walker(solver)
    for definition in problem.domain.definitions:
        yield from walker.uses(definition.value, (definition.guard,))
        yield from walker.uses(definition.guard, ())
    for variable in problem.domain.variables:
        for part in (variable.low, variable.high):
            yield from walker.uses(part, (variable.guard,)) if part is not None else ()
        yield from walker.uses(variable.guard, ())
    for position, constraint in enumerate(problem.domain.constraints):
        uses = walker.uses(constraint.that, ())
        yield from (replace(use, before=position) for use in uses)
    for runner in problem.runners:
        for mode in runner.modes:
            yield from walker.uses(mode.guard, ())
            yield from _uses_of_live(walker, mode)
            relations = tuple(relation.claim for relation in relations_of(mode))
            for target, extent in mode.extents.items():
                yield from walker.uses(extent, (mode.guard, *relations))
                least = Comparison("<=", Integer(0), extent)
                place = mode.place
                yield Use(NEGATIVE, least, (mode.guard, *relations), Name(target), place)


def _uses_of_live(walker: _Walker, mode: ModeProblem) -> Iterator[Use]:
    """Ranges use earlier live variables, couplings all of them."""
    ranges: tuple[Expr, ...] = (mode.guard,)
    for live in mode.live:
        path = (*ranges, live.guard)
        yield from walker.uses(live.low, path)
        yield from walker.uses(live.high, path)
        inside = conjunction(
            Comparison("<=", live.low, Name(live.name)),
            Comparison("<=", Name(live.name), live.high),
        )
        ranges = (*ranges, disjunction(negation(live.guard), inside))
    for coupling in mode.couplings:
        yield from walker.uses(coupling.condition, (*ranges, coupling.guard))


def _uses_of_slots(resolved: ResolvedSpec, problem: Problem, solver: Solver) -> Iterator[Use]:
    """The expressions of slots, readers and steps, as each worker with a runner sees them."""
    walker = _Walker(solver)
    for runner in problem.runners:
        rewrite = for_worker(resolved, runner.worker)
        for expression, condition in _conditioned(resolved, runner.runner):
            path = (runner.guard, rewrite(condition))
            yield from walker.uses(rewrite(expression), path)


def _conditioned(resolved: ResolvedSpec, runner_name: str) -> Iterator[tuple[Expr, Expr]]:
    """Each expression with the `when` of what it belongs to."""
    runner = next(each for each in resolved.spec.runners if each.name == runner_name)
    for slot in resolved.spec.slots:
        if slot.name in runner.slots:
            ends = (slot.values.low, slot.values.high) if slot.values else ()
            computed = (slot.compute,) if slot.compute is not None else ()
            yield slot.when, TRUE
            fixed = [each for each in slot.shape if not needs_own_capacity(resolved, each)]
            yield from ((each, slot.when) for each in (*fixed, *ends, *computed))
    for step in flattened(runner.steps):
        yield step.when, TRUE
        yield from ((within.when, step.when) for within in step.within)
    for reader in resolved.spec.readers:
        yield reader.when, TRUE
        for read in reader.reads:
            ends = (read.range.low, read.range.high) if read.range else ()
            fill = (read.fill,) if read.fill is not None else ()
            yield from ((each, reader.when) for each in (*ends, *fill))


@dataclass
class _Walker:
    """Walks an expression with the conditions under which each part is reached."""

    solver: Solver

    def uses(self, node: Expr, path: tuple[Expr, ...]) -> Iterator[Use]:
        yield from self._own(node, path)
        match node:
            case Conditional(condition, then, otherwise):
                yield from self.uses(condition, path)
                yield from self.uses(then, (*path, condition))
                yield from self.uses(otherwise, (*path, negation(condition)))
            case Logical(junction, operands):
                reached = path
                for operand in operands:
                    yield from self.uses(operand, reached)
                    known = operand if junction == "and" else negation(operand)
                    reached = (*reached, known)
            case Comprehension():
                yield from self._inside(node, path)
            case _:
                for child in children(node):
                    yield from self.uses(child, path)

    def _inside(self, node: Comprehension, path: tuple[Expr, ...]) -> Iterator[Use]:
        """A comprehension: its element is reached for what the filter lets through."""
        yield from self.uses(node.source, path)
        drawn = self._drawn(node)
        if node.condition is not None:
            yield from self.uses(node.condition, (*path, *drawn))
            drawn = (*drawn, node.condition)
        yield from self.uses(node.element, (*path, *drawn))

    def _drawn(self, node: Comprehension) -> tuple[Expr, ...]:
        """The range of an element of a list parameter."""
        source = node.source
        variable = self.solver.variables.get(source.name) if isinstance(source, Name) else None
        if variable is None or variable.low is None or variable.high is None:
            return ()
        element = Name(node.variable)
        return (
            Comparison("<=", variable.low, element),
            Comparison("<=", element, variable.high),
        )

    def _own(self, node: Expr, path: tuple[Expr, ...]) -> Iterator[Use]:
        match node:
            case Binary("//" | "%", _, divisor) | Call("align_up" | "cdiv", (_, divisor)):
                if not (isinstance(divisor, Integer) and divisor.value >= 1):
                    claim = Comparison("<=", Integer(1), divisor)
                    yield Use("U306", claim, path, divisor, divisor.place)
            case Call("next_in", (operand, source)):
                claim = Comparison("<=", operand, Call("max", (source,)))
                yield Use("U405", claim, path, node, node.place)
            case Name(name=name):
                guard = self._guard(name)
                if guard != TRUE:
                    yield Use("U305", guard, path, node, node.place)

    def _guard(self, name: str) -> Expr:
        if name in self.solver.variables:
            return self.solver.variables[name].guard
        if name in self.solver.definitions:
            return self.solver.definitions[name].guard
        return TRUE
