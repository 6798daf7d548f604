"""Finds legal assignments with z3, the smallest first.

Within a bound on the sum of all integers every variable has few values, and z3 answers at once
what it cannot decide without one. So the bound grows until something is found. What z3 finds is
evaluated exactly before it counts: of a list z3 knows only a part. Every finder has a context of
its own, since which of several models z3 finds depends on all that was asked before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import z3

from ullage.bound.problem import Definition, Variable
from ullage.counterexample.space import Assignment, Space, Value, breaks
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate_integer
from ullage.expr.tree import Call, Expr, Function, Integer, Name, free_names
from ullage.prove.encode import Encoder
from ullage.prove.solver import Solver

LIMITS = (8, 64, None, 1024)
"""Bounds on the sum, in the order in which they are tried; None is no bound."""

ANY_SIZE = (8, None, 64, 1024)
"""The same where it does not matter how small it is."""

RLIMIT = 4_000_000
"""Of one question, in z3's own steps."""


_WORD = re.compile(r"\w+")
_ENDS: tuple[Function, Function] = ("min", "max")


@dataclass(frozen=True, slots=True)
class Answer:
    """`none`: no assignment is within the limit. `unknown`: the effort was spent."""

    kind: Literal["found", "none", "unknown"]
    assignment: Assignment | None = None


@dataclass(frozen=True, slots=True)
class Smallest:
    """An assignment of the least size; `minimal` if it was shown that none is smaller."""

    assignment: Assignment
    size: int
    minimal: bool


class Finder:
    """Asks z3 for assignments of one space."""

    def __init__(self, solver: Solver, space: Space) -> None:
        self.space = space
        self._encoder = Encoder(
            solver.variables,
            solver.definitions,
            solver.booleans,
            lower_bounds=solver.lower_bounds,
            context=z3.Context(),
        )
        self._solver = z3.SimpleSolver(self._encoder.context)
        self._solver.set("rlimit", RLIMIT)
        self._solver.set("smt.arith.nl.nra", False)  # may run for minutes within one step
        self._axioms = 0
        self._rare = list(space.domain.unusual)
        held = [*space.conditions, *space.domain.usual]
        self._solver.add([self._encoder.boolean(each) for each in held])
        self._live()
        self._members()
        self._size = self._sum(self._excesses())
        self._rank = self._sum(self._switched())
        self._add_axioms()

    def require(self, condition: Expr) -> None:
        """Narrow the space for all further questions."""
        self._solver.add(self._encoder.boolean(condition))
        self._add_axioms()
        self.space = self._exact((condition,))

    def near(self, conditions: Sequence[Expr] = ()) -> Assignment | None:
        """An assignment so near that it is found at once, if there is one."""
        return self.ask(conditions, LIMITS[0], thorough=False).assignment

    def excludes(
        self, conditions: Sequence[Expr], limit: int | None = None, *, thorough: bool = True
    ) -> bool:
        """Whether it is shown that nothing satisfies the conditions, up to a size if given."""
        return self.ask(conditions, limit, thorough=thorough).kind == "none"

    def find(self, conditions: Sequence[Expr] = ()) -> Answer:
        """Some assignment that satisfies the conditions, small if there is a small one."""
        return self._within(LIMITS, conditions)

    def exists(self, conditions: Sequence[Expr] = ()) -> Answer:
        """Some assignment of any size; that there is none is known sooner than by `find`."""
        return self._within(ANY_SIZE, conditions)

    def _within(self, limits: Sequence[int | None], conditions: Sequence[Expr]) -> Answer:
        for limit in limits:
            answer = self.ask(conditions, limit)
            if answer.kind == "found" or (limit is None and answer.kind == "none"):
                return answer
        return Answer("unknown")

    def smallest(
        self, conditions: Sequence[Expr] = (), known: Assignment | None = None
    ) -> Smallest | None:
        """An assignment of least size, and among those one with few switches on.

        `known` is one that satisfies the conditions, if one was found before.
        """
        found = self.find(conditions).assignment if known is None else known
        if found is None:
            return None
        below, size, minimal = -1, self.space.size(found), True
        while size - below > 1:
            middle = (below + size) // 2
            answer = self.ask(conditions, middle)
            if answer.assignment is not None:
                found, size = answer.assignment, self.space.size(answer.assignment)
            else:
                below, minimal = middle, minimal and answer.kind == "none"
        found = self._fewest_switches(conditions, found, size)
        return Smallest(self._fewest_elements(conditions, found, size), size, minimal)

    def _fewest_switches(
        self, conditions: Sequence[Expr], found: Assignment, size: int
    ) -> Assignment:
        while True:
            answer = self.ask(conditions, size, self._rank < self._rank_of(found))
            if answer.assignment is None:
                return found
            found = answer.assignment

    def _fewest_elements(
        self, conditions: Sequence[Expr], found: Assignment, size: int
    ) -> Assignment:
        """The same without elements of lists that can be left out, the largest ones first."""
        exact = self._exact(conditions)
        for variable in self.space.domain.variables:
            for element in reversed(_elements(found, variable)):
                fewer = [each for each in _elements(found, variable) if each != element]
                less = found.with_raw(variable.name, fewer)
                if exact.holds(less) and exact.size(less) <= size:
                    found = less
        return found

    def _exact(self, conditions: Sequence[Expr]) -> Space:
        return replace(self.space, conditions=(*self.space.conditions, *conditions))

    def ask(
        self,
        conditions: Sequence[Expr],
        limit: int | None,
        *more: z3.BoolRef,
        thorough: bool = True,
    ) -> Answer:
        """An assignment that satisfies the conditions, of at most the size `limit`."""
        answer, broken = self._ask(conditions, limit, more, thorough=thorough)
        while answer.kind != "found" and broken:
            self._rare = [each for each in self._rare if each not in broken]
            self._solver.add([self._encoder.boolean(each) for each in broken])
            self._add_axioms()
            answer, broken = self._ask(conditions, limit, more, thorough=thorough)
        return answer

    def _ask(
        self,
        conditions: Sequence[Expr],
        limit: int | None,
        more: Sequence[z3.BoolRef],
        *,
        thorough: bool,
    ) -> tuple[Answer, list[Expr]]:
        """An answer, with the rare constraints that are broken by what z3 found."""
        terms = [self._encoder.boolean(each) for each in conditions]
        self._add_axioms()
        self._solver.push()
        self._solver.add([*terms, *more])
        if limit is not None:
            self._solver.add(self._size <= limit)
        solver = self._solver
        answer = solver.check()
        if answer == z3.unknown and thorough:
            solver = _second_opinion(solver)
            answer = solver.check()
        model = solver.model() if answer == z3.sat else None
        self._solver.pop()
        if model is None:
            return Answer("none" if answer == z3.unsat else "unknown"), []
        return self._verified(model, conditions, limit), self._broken(model)

    def _broken(self, model: z3.ModelRef) -> list[Expr]:
        """The rare constraints that the model breaks, whichever way it is read."""
        domain, live = self.space.domain, self.space.live
        readings = [Assignment(domain, live, raw) for raw in self._readings(model)]
        return [each for each in self._rare if any(breaks(reading, each) for reading in readings)]

    def _verified(
        self, model: z3.ModelRef, conditions: Sequence[Expr], limit: int | None
    ) -> Answer:
        exact = self._exact(conditions)
        for raw in self._readings(model):
            assignment = Assignment(exact.domain, exact.live, raw)
            if exact.holds(assignment) and (limit is None or exact.size(assignment) <= limit):
                return Answer("found", assignment)
        return Answer("unknown")

    def _readings(self, model: z3.ModelRef) -> Iterable[dict[str, Value]]:
        """What the model may mean: lists with every element that it mentions, or with one."""
        raw: dict[str, Value] = {}
        lists: list[Variable] = []
        for variable in self.space.domain.variables:
            if variable.type == "list":
                lists.append(variable)
            else:
                raw[variable.name] = self._value(model, variable.name)
        for live in self.space.live:
            raw[live.name] = self._value(model, live.name)
        yield {**raw, **{each.name: self._elements(model, each, raw) for each in lists}}
        if lists:
            yield {**raw, **{each.name: self._elements(model, each, raw)[-1:] for each in lists}}

    def _value(self, model: z3.ModelRef, name: str) -> Value:
        value = model.eval(self._encoder.names[name], model_completion=True)
        return value.as_long() if isinstance(value, z3.IntNumRef) else bool(z3.is_true(value))

    def _elements(self, model: z3.ModelRef, variable: Variable, raw: dict[str, Value]) -> list[int]:
        """The integers of the model that can be elements of a list, up to its largest one."""
        assignment = Assignment(self.space.domain, self.space.live, raw)
        low, high = (_end(end, assignment) for end in (variable.low, variable.high))
        known = {name: self._integer(model, term) for name, term in self._about(variable.name)}
        top = known.get(f"max({variable.name})", low)
        return sorted({value for value in known.values() if low <= value <= min(top, high)} | {top})

    def _about(self, elements: str) -> Iterable[tuple[str, z3.ExprRef]]:
        """The terms that are elements of a list: those that name it, and its members."""
        names = {elements, *(each.name for each in self._resting_on(elements))}
        members = {each for each, source in self.space.members.items() if source == elements}
        for name, term in (*self._encoder.terms.items(), *self._encoder.names.items()):
            if name in members or names & set(_WORD.findall(name)):
                yield name, term

    def _resting_on(self, elements: str) -> Iterable[Definition]:
        """The lists that are made from another one."""
        known = {elements}
        for each in self.space.domain.definitions:
            if each.kind == "list" and free_names(each.value) & known:
                known.add(each.name)
                yield each

    def _integer(self, model: z3.ModelRef, term: z3.ExprRef) -> int:
        value = model.eval(term, model_completion=True)
        return value.as_long() if isinstance(value, z3.IntNumRef) else -1

    def _live(self) -> None:
        for live in self.space.live:
            value = self._encoder.integer(Name(live.name))
            inside = z3.And(
                self._encoder.integer(live.low) <= value, value <= self._encoder.integer(live.high)
            )
            self._solver.add(z3.Implies(self._encoder.boolean(live.guard), inside))

    def _members(self) -> None:
        """What varies over a list lies between its ends; whether it is in it, is seen later."""
        variables = {each.name: each for each in self.space.domain.variables}
        for name, elements in self.space.members.items():
            if name in variables:
                guards = [self._encoder.boolean(variables[each].guard) for each in (name, elements)]
                value = self._encoder.integer(Name(name))
                low, high = (self._encoder.integer(Call(end, (Name(elements),))) for end in _ENDS)
                self._solver.add(z3.Implies(z3.And(guards), z3.And(low <= value, value <= high)))

    def _excesses(self) -> Iterable[z3.ArithRef]:
        ranges = [(e.name, e.low, e.guard) for e in self.space.domain.variables if e.type == "int"]
        ranges += [(each.name, each.low, each.guard) for each in self.space.counted]
        for name, low, guard in ranges:
            if low is not None:
                excess = self._encoder.integer(Name(name)) - self._encoder.integer(low)
                yield z3.If(self._encoder.boolean(guard), excess, 0)

    def _switched(self) -> Iterable[z3.ArithRef]:
        for each in self.space.domain.variables:
            guard = self._encoder.boolean(each.guard)
            if each.type == "bool":
                yield z3.If(z3.And(guard, self._encoder.boolean(Name(each.name))), 1, 0)
            elif each.type == "enum":
                yield z3.If(guard, self._encoder.integer(Name(each.name)), 0)

    def _rank_of(self, assignment: Assignment) -> int:
        """How many switches are on, an enum counted by its code."""
        kinds = {each.name: each.type for each in self.space.domain.variables}
        values = (
            assignment.get(name, 0) for name, kind in kinds.items() if kind in ("bool", "enum")
        )
        return sum(value for value in values if isinstance(value, int))

    def _sum(self, terms: Iterable[z3.ArithRef]) -> z3.ArithRef:
        return z3.Sum([z3.IntVal(0, self._encoder.context), *terms])

    def _add_axioms(self) -> None:
        """Axioms define the terms that conditions brought in, so they hold for all questions."""
        new = self._encoder.axioms[self._axioms :]
        self._axioms += len(new)
        self._solver.add(new)


def _second_opinion(solver: z3.Solver) -> z3.Solver:
    """Another strategy for the same question: it turns bounded integers into bits."""
    other = z3.Tactic("qfnia", solver.ctx).solver()
    other.set("rlimit", 4 * RLIMIT)
    other.add(solver.assertions())
    return other


def _elements(found: Assignment, variable: Variable) -> list[int]:
    elements = found.raw.get(variable.name)
    return elements if isinstance(elements, list) else []


def _end(end: Expr | None, assignment: Assignment) -> int:
    try:
        return evaluate_integer(end if end is not None else Integer(0), assignment)
    except EvaluationError:
        return 0
