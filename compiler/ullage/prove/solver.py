"""Decides claims about legal configurations and batches.

A claim is first tried with definitions as opaque names of known sign, then with the definitions
and constraints that it rests on, then with everything connected to it: most claims need little,
and non-linear definitions cost much. Only the last level can refute. Effort is limited by
`rlimit`, a count of z3's own steps, so that a verdict does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import z3

from ullage.bound.problem import Domain
from ullage.expr.spell import spell
from ullage.expr.tree import Comparison, Expr, Integer, conjunction, free_names, negation
from ullage.prove.encode import Encoder

Answer = Literal["proved", "refuted", "unknown"]
Level = Literal["opaque", "related", "full"]

RLIMIT: Mapping[Level, int] = {"opaque": 100_000, "related": 250_000, "full": 4_000_000}

# z3 would take an interrupt for itself, answer unknown, and let the run go on.
z3.set_param("ctrl_c", False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """z3's answer; `model` holds the names of a counterexample when refuted."""

    answer: Answer
    model: Mapping[str, int] | None = None

    @property
    def proved(self) -> bool:
        return self.answer == "proved"


@dataclass(frozen=True, slots=True)
class _Translated:
    """A condition as z3 has it, with the axioms of its terms and its names."""

    condition: z3.BoolRef
    axioms: tuple[z3.BoolRef, ...]
    names: Mapping[str, z3.ExprRef]


class Solver:
    """One legal domain, and what has been decided about it."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.variables = {variable.name: variable for variable in domain.variables}
        self.definitions = {definition.name: definition for definition in domain.definitions}
        self.booleans = frozenset(
            [v.name for v in domain.variables if v.type == "bool"]
            + [d.name for d in domain.definitions if d.kind == "bool"]
        )
        self.lower_bounds: dict[str, int] = {}
        self._decided: dict[tuple[str, str, str], Verdict] = {}
        self._translations: dict[tuple[Expr, bool], _Translated] = {}
        self._establish_lower_bounds()
        self._translations.clear()  # made before the lower bounds were known

    def proves(self, claim: Expr, given: Sequence[Expr] = ()) -> bool:
        """Whether `claim` holds for every legal configuration (and values) with `given`."""
        return self.decide(claim, given).proved

    def decide(self, claim: Expr, given: Sequence[Expr] = (), upto: Level = "full") -> Verdict:
        """Prove or refute `claim` under `given`; unknown when the effort is spent."""
        if claim in given:
            return Verdict("proved")
        key = (spell(claim), spell(conjunction(*given)), upto)
        if key not in self._decided:
            self._decided[key] = self._decide(claim, tuple(given), upto)
        return self._decided[key]

    def find(self, condition: Expr, given: Sequence[Expr] = ()) -> Mapping[str, int] | None:
        """Some legal assignment that satisfies `condition`, if z3 finds one."""
        return self.decide(negation(condition), given).model

    def _decide(self, claim: Expr, given: tuple[Expr, ...], upto: Level) -> Verdict:
        levels: tuple[Level, ...] = ("opaque", "related", "full")
        for level in levels[: levels.index(upto) + 1]:
            verdict = self._ask(claim, given, level)
            if verdict.proved or level == "full":
                return verdict
        return Verdict("unknown")

    def _ask(self, claim: Expr, given: tuple[Expr, ...], level: Level) -> Verdict:
        solver, names = self.query((*given, negation(claim)), level)
        answer = solver.check()
        if answer == z3.unsat:
            return Verdict("proved")
        if answer == z3.sat and level == "full":
            return Verdict("refuted", read_model(solver.model(), names))
        return Verdict("unknown" if answer == z3.unknown else "refuted")

    def query(
        self, conditions: Sequence[Expr], level: Level = "full"
    ) -> tuple[z3.Solver, Mapping[str, z3.ExprRef]]:
        """A solver that holds the conditions and the part of the domain that `level` takes in.

        Also the z3 terms of all names, for reading a model.
        """
        wanted = [*conditions, *self._constraints(conjunction(*conditions), level)]
        translated = [self._translated(each, level) for each in wanted]
        asserted = {
            part.get_id(): part for each in translated for part in (each.condition, *each.axioms)
        }
        solver = z3.SimpleSolver()
        solver.set("rlimit", RLIMIT[level])
        solver.add(list(asserted.values()))
        return solver, {name: term for each in translated for name, term in each.names.items()}

    def _translated(self, condition: Expr, level: Level) -> _Translated:
        """One condition for z3, remembered: the same ones come in most queries."""
        opaque = level == "opaque"
        key = (condition, opaque)
        if key not in self._translations:
            encoder = Encoder(
                self.variables,
                self.definitions,
                self.booleans,
                opaque_definitions=opaque,
                lower_bounds=self.lower_bounds,
            )
            term = encoder.boolean(condition)
            self._translations[key] = _Translated(term, tuple(encoder.axioms), encoder.names)
        return self._translations[key]

    def _constraints(self, condition: Expr, level: Level) -> list[Expr]:
        if level == "opaque":
            return []
        constraints = [constraint.that for constraint in self.domain.constraints]
        known = self.closure(free_names(condition))
        if level == "related":
            return [each for each in constraints if free_names(each) <= known]
        chosen: list[Expr] = []
        while True:
            more = [each for each in constraints if each not in chosen and free_names(each) & known]
            if not more:
                return chosen
            chosen.extend(more)
            known = known.union(*(self.closure(free_names(each)) for each in more))

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """The names that the given ones rest on through definitions, ranges and guards."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending.extend(self._rests_on(name))
        return frozenset(found)

    def _rests_on(self, name: str) -> frozenset[str]:
        if name in self.definitions:
            definition = self.definitions[name]
            return free_names(definition.value) | free_names(definition.guard)
        if name in self.variables:
            variable = self.variables[name]
            parts = [part for part in (variable.low, variable.high, variable.guard) if part]
            return frozenset().union(*(free_names(part) for part in parts))
        return frozenset()

    def _establish_lower_bounds(self) -> None:
        """Prove of each integer definition that it is at least 1, or else at least 0."""
        for definition in self.domain.definitions:
            if definition.kind != "int":
                continue
            for bound in (1, 0):
                claim = Comparison("<=", Integer(bound), definition.value)
                if self._decide(claim, (definition.guard,), "full").proved:
                    self.lower_bounds[definition.name] = bound
                    break


def read_model(model: z3.ModelRef, names: Mapping[str, z3.ExprRef]) -> dict[str, int]:
    """The values of all names in a model; booleans as 0 and 1."""
    values: dict[str, int] = {}
    for name, term in names.items():
        value = model.eval(term, model_completion=True)
        if isinstance(value, z3.IntNumRef):
            values[name] = value.as_long()
        else:
            values[name] = int(z3.is_true(value))
    return values


def at_most(left: Expr, right: Expr) -> Comparison:
    """The claim `left <= right`."""
    return Comparison("<=", left, right)


def at_least_one(operand: Expr) -> Comparison:
    """The claim that a divisor or alignment is usable."""
    return Comparison("<=", Integer(1), operand)
