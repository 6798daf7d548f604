"""Decides claims about legal configurations and batches.

A claim is first tried with definitions as opaque names of known sign, then with the definitions
and constraints that it rests on, then with everything connected to it: most claims need little,
and non-linear definitions cost much. The first level takes only the assumptions that share names
with the claim, so that one answer serves wherever the others differ; to the same end a proof is
remembered with the assumptions that z3 needed. Only the last level can refute. Effort is limited
by `rlimit`, a count of z3's own steps, so that a verdict does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal

import z3

from ullage.bound.assumptions import Assumptions
from ullage.bound.problem import Domain
from ullage.expr.conditions import clauses
from ullage.expr.environment import Environment
from ullage.expr.tree import (
    FALSE,
    Comparison,
    Expr,
    Integer,
    Name,
    free_names,
    negation,
)
from ullage.prove.drawn import DrawnExamples
from ullage.prove.encode import Encoder, Terms
from ullage.prove.models import read_model
from ullage.prove.refutations import Refutations
from ullage.prove.signs import is_at_least
from ullage.prove.standing import StandingSolver, Translated, tell
from ullage.prove.stated import stating

Answer = Literal["proved", "refuted", "open", "unknown"]
Level = Literal["opaque", "related", "full"]

RLIMIT: Mapping[Level, int] = {"opaque": 100_000, "related": 100_000, "full": 4_000_000}

QUICK = 10_000
"""Steps of z3 that a solver is worth which has been asked before: hard claims are easier anew."""

# z3 would take an interrupt for itself, answer unknown, and let the run go on.
z3.set_param("ctrl_c", False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """z3's answer; `model` holds the names of a counterexample when refuted.

    `open`: it does not follow from what the level takes in; `unknown`: the effort was spent.
    """

    answer: Answer
    model: Mapping[str, int] | None = None

    @property
    def proved(self) -> bool:
        return self.answer == "proved"


class Solver:
    """One legal domain, and what has been decided about it.

    `examples`: legal configurations that were drawn before anything was asked. Without
    `with_bounds` nothing is known of definitions but what they are: to bound them all costs more
    than it saves where little is asked.
    """

    def __init__(
        self, domain: Domain, examples: Iterable[Environment] = (), *, with_bounds: bool = True
    ) -> None:
        self.domain = domain
        self.variables = {variable.name: variable for variable in domain.variables}
        self.definitions = {definition.name: definition for definition in domain.definitions}
        self.booleans = frozenset(
            [v.name for v in domain.variables if v.type == "bool"]
            + [d.name for d in domain.definitions if d.kind == "bool"]
        )
        self._facts = [part for each in domain.usual for part in clauses(each)]
        self.lower_bounds: dict[str, int] = {}
        self._decided: dict[tuple[Expr, frozenset[Expr], Level], Verdict] = {}
        self._proved: dict[Expr, list[frozenset[Expr]]] = {}
        self._open: dict[Level, dict[Expr, list[frozenset[Expr]]]] = {level: {} for level in RLIMIT}
        self._refutations = {level: Refutations() for level in RLIMIT}
        self._translations: dict[tuple[Expr, bool], Translated] = {}
        self._closures: dict[str, frozenset[str]] = {}
        self._terms: dict[bool, Terms] = {True: {}, False: {}}
        self.examples = Refutations()
        for example in examples:
            self.examples.add(example)
        self._drawn: DrawnExamples | None = None
        self._context_made: z3.Context | None = None
        self._standing: dict[Level, StandingSolver] = {}
        if with_bounds:
            self._establish_lower_bounds()
        self._translations.clear()  # made before the lower bounds were known
        self._standing.clear()
        self._terms = {True: {}, False: {}}
        self._refutations = {level: Refutations() for level in RLIMIT}

    def apart(self) -> Solver:
        """A solver of the same domain that has been asked nothing, whatever this one has been.

        So an answer depends on the domain and on what is asked together with it, but neither on
        what else was asked in the same process nor on what is remembered instead of being asked.
        """
        other = copy(self)
        other._decided, other._proved = {}, {}
        other._open = {level: {} for level in RLIMIT}
        other._refutations = {level: Refutations() for level in RLIMIT}
        other._translations, other._terms = {}, {True: {}, False: {}}
        other._context_made, other._standing, other._drawn = None, {}, None
        return other

    def forget(self) -> None:
        """Let go of all that z3 holds for this solver, which is asked nothing any more.

        A compile collects no cycles, so that hundreds of solvers would keep a context each.
        """
        self._translations.clear()
        for terms in self._terms.values():
            terms.clear()
        self._refutations.clear()
        self._standing.clear()
        self._context_made = None

    @property
    def _context(self) -> z3.Context:
        """What z3 answers may depend on all terms of one context; not all solvers need theirs."""
        if self._context_made is None:
            self._context_made = z3.Context()
        return self._context_made

    def proves(self, claim: Expr, given: Sequence[Expr] = ()) -> bool:
        """Whether `claim` holds for every legal configuration (and values) with `given`."""
        return self.decide(claim, given).proved

    def decide(
        self,
        claim: Expr,
        given: Sequence[Expr] = (),
        upto: Level = "full",
        effort: int | None = None,
    ) -> Verdict:
        """Prove or refute `claim` under `given`; unknown when the effort is spent.

        `effort` limits z3's steps at each level to fewer than usual.
        """
        known = _every(given)
        if claim in known or any(needed <= known for needed in self._proved.get(claim, ())):
            return Verdict("proved")
        if self._has_sign(claim, given):
            self._remember(claim, known)
            return Verdict("proved")
        levels: tuple[Level, ...] = ("opaque", "related", "full")
        for level in levels[: levels.index(upto) + 1]:
            kept = _relevant(claim, given) if level == "opaque" else given
            verdict = self._at(level, claim, kept, effort)
            if verdict.proved or level == upto:
                return verdict
        return Verdict("unknown")

    def _has_sign(self, claim: Expr, given: Sequence[Expr]) -> bool:
        """Whether a claim that an amount is at least 0 or 1 follows from its shape."""
        match claim:
            case Comparison("<=", Integer(0 | 1), Name()):  # needs one assumption, or none
                stated = stating(claim, given) is not None
                return stated or self._at("opaque", claim, (), None).proved
            case Comparison("<=", Integer(0 | 1 as bound), amount):
                return is_at_least(bound, amount, tuple(given), self._names_sign)
            case _:
                return False

    def _names_sign(self, claim: Expr, given: tuple[Expr, ...]) -> bool:
        return self.decide(claim, given, "related").proved

    def find(self, condition: Expr, given: Sequence[Expr] = ()) -> Mapping[str, int] | None:
        """Some legal assignment that satisfies `condition`, if z3 finds one."""
        return self.decide(negation(condition), given).model

    def excludes(self, *conditions: Expr) -> bool:
        """Whether no legal configuration (and values) is known to satisfy all conditions."""
        return not self.has_example(*conditions) and self.proves(FALSE, conditions)

    def has_example(self, *conditions: Expr) -> bool:
        """Whether a legal configuration at hand satisfies all conditions, or one that is drawn now.

        Where one does, that is found several times faster than by z3.
        """
        found = self._refutations["full"]
        if any(each.refute(FALSE, conditions) for each in (self.examples, found)):
            return True
        if self._drawn is None:
            self._drawn = DrawnExamples(self.domain)
        example = self._drawn.satisfying(conditions)
        if example is not None:
            found.add(example)
        return example is not None

    def _at(self, level: Level, claim: Expr, given: Sequence[Expr], effort: int | None) -> Verdict:
        """The verdict of one level. What more assumptions do not prove, fewer do not either."""
        known = _every(given)
        if level != "full" and any(known <= more for more in self._open[level].get(claim, ())):
            return Verdict("open")
        key = (claim, known, level)
        if key not in self._decided:
            verdict = self._ask(claim, given, level, effort)
            if verdict.answer == "open":
                self._open[level].setdefault(claim, []).append(known)
            elif verdict.answer == "unknown" and effort is not None:
                return verdict  # a later question may be worth more
            self._decided[key] = verdict
        return self._decided[key]

    def _ask(
        self, claim: Expr, given: Sequence[Expr], level: Level, effort: int | None = None
    ) -> Verdict:
        needed = stating(claim, given) if level == "opaque" else None
        if needed is not None:
            self._remember(claim, needed)
            return Verdict("proved")
        if level != "full" and self._refutations[level].refute(claim, given):
            return Verdict("open")
        limit = RLIMIT[level] if effort is None else min(effort, RLIMIT[level])
        verdict = Verdict("unknown")
        if level != "full":  # the models that it gives are the better for a solver of its own
            verdict = self._at_once(claim, given, level, min(limit, QUICK))
        if verdict.answer == "unknown" and (level == "full" or limit > QUICK):
            verdict = self._anew(claim, given, level, limit)
        return verdict

    def _at_once(self, claim: Expr, given: Sequence[Expr], level: Level, effort: int) -> Verdict:
        """The verdict of a solver that has most of what is given from earlier questions."""
        conditions = self._told((*given, negation(claim)), level)
        if level not in self._standing:
            self._standing[level] = StandingSolver(self._context)
        standing = self._standing[level]
        answer = standing.check(conditions, effort)
        if answer == z3.unsat:
            self._remember(claim, standing.needed().intersection(given))
            return Verdict("proved")
        if answer == z3.unknown:
            return Verdict("unknown")
        return self._failed(level, standing.model(), _names(conditions.values()))

    def _anew(self, claim: Expr, given: Sequence[Expr], level: Level, effort: int) -> Verdict:
        """The verdict of a solver that is asked nothing else."""
        solver, names = self.query((*given, negation(claim)), level)
        solver.set("rlimit", effort)
        answer = solver.check()
        if answer == z3.unsat:
            self._remember(claim, frozenset(given))
            return Verdict("proved")
        if answer == z3.unknown:
            return Verdict("unknown")
        return self._failed(level, solver.model(), names)

    def _failed(self, level: Level, found: z3.ModelRef, names: Mapping[str, z3.ExprRef]) -> Verdict:
        """The verdict where a model satisfies what is given and not the claim."""
        model = read_model(found, names)
        self._refutations[level].keep(model, self.booleans)
        return Verdict("refuted", model) if level == "full" else Verdict("open")

    def _remember(self, claim: Expr, needed: frozenset[Expr]) -> None:
        """Keep that a claim follows from what was needed, whatever else is given."""
        self._proved.setdefault(claim, []).append(needed)

    def query(
        self, conditions: Sequence[Expr], level: Level = "full"
    ) -> tuple[z3.Solver, Mapping[str, z3.ExprRef]]:
        """A solver that holds the conditions and the part of the domain that `level` takes in.

        Also the z3 terms of all names, for reading a model.
        """
        told = self._told(conditions, level)
        solver = z3.SimpleSolver(self._context)
        solver.set("rlimit", RLIMIT[level])
        axioms = {key: term for each in told.values() for key, term in each.axioms.items()}
        for term in (*(each.term for each in told.values()), *axioms.values()):
            tell(solver, term)
        return solver, _names(told.values())

    def _told(self, conditions: Sequence[Expr], level: Level) -> Mapping[Expr, Translated]:
        """What a level tells z3 of some conditions: the first last, which change most often."""
        constraints = self._constraints(frozenset().union(*map(free_names, conditions)), level)
        *given, claim = conditions
        return {each: self._translated(each, level) for each in (*given, *constraints, claim)}

    def _translated(self, condition: Expr, level: Level) -> Translated:
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
                shared=self._terms[opaque],
                context=self._context,
            )
            term = encoder.boolean(condition)
            axioms = {part.get_id(): part for part in encoder.axioms}
            self._translations[key] = Translated(term, axioms, encoder.names)
        return self._translations[key]

    def _constraints(self, names: frozenset[str], level: Level) -> list[Expr]:
        """What `level` takes in of what holds of every legal configuration with these names."""
        if level == "opaque":
            return []
        known = self.closure(names)
        if level == "related":
            return [each for each in self._facts if free_names(each) <= known]
        chosen: list[Expr] = []
        while True:
            more = [each for each in self._facts if each not in chosen and free_names(each) & known]
            if not more:
                return chosen
            chosen.extend(more)
            known = known.union(*(self.closure(free_names(each)) for each in more))

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """The names that the given ones rest on through definitions, ranges and guards."""
        return frozenset().union(*(self._closure(name) for name in names))

    def _closure(self, name: str) -> frozenset[str]:
        if name not in self._closures:
            found: set[str] = set()
            pending = [name]
            while pending:
                each = pending.pop()
                if each not in found:
                    found.add(each)
                    pending.extend(self._rests_on(each))
            self._closures[name] = frozenset(found)
        return self._closures[name]

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
                if self._established(claim, definition.guard):
                    self.lower_bounds[definition.name] = bound
                    break

    def _established(self, claim: Expr, guard: Expr) -> bool:
        """Whether the claim is proved under the guard, without the bounds that are established."""
        if self.examples.refute(claim, (guard,)):
            return False
        levels: tuple[Level, ...] = ("opaque", "related", "full")
        return any(self._ask(claim, (guard,), level).proved for level in levels)


def _every(given: Sequence[Expr]) -> frozenset[Expr]:
    return given.every if isinstance(given, Assumptions) else frozenset(given)


def _relevant(claim: Expr, given: Sequence[Expr]) -> tuple[Expr, ...]:
    """The assumptions that share names with the claim, directly or through one another."""
    known = free_names(claim)
    chosen: set[Expr] = set()
    while more := [each for each in given if each not in chosen and free_names(each) & known]:
        chosen.update(more)
        known = known.union(*(free_names(each) for each in more))
    return tuple(each for each in given if each in chosen)


def _names(told: Iterable[Translated]) -> dict[str, z3.ExprRef]:
    return {name: term for each in told for name, term in each.names.items()}


def at_most(left: Expr, right: Expr) -> Comparison:
    """The claim `left <= right`."""
    return Comparison("<=", left, right)


def at_least_one(operand: Expr) -> Comparison:
    """The claim that a divisor or alignment is usable."""
    return Comparison("<=", Integer(1), operand)
