"""Certifies capacities: sound for every legal batch, tight for every legal configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ullage.bound.capacities import Candidate, Capacity
from ullage.bound.problem import Live, ModeProblem, RunnerProblem
from ullage.bound.relations import relations_of
from ullage.bound.steps import Step
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    FALSE,
    TRUE,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    Name,
    disjunction,
    free_names,
    negation,
    substitute,
)
from ullage.prove.checker import Checker, Flaw
from ullage.prove.eligibility import is_eligible
from ullage.prove.names import with_labels
from ullage.prove.proof import Proof
from ullage.prove.solver import Solver, Verdict


def certify(runner: RunnerProblem, capacity: Capacity, solver: Solver) -> Proof:
    """Check every claim of one capacity; nothing that the deriver said is taken on trust."""
    return _Certifier(runner, capacity, solver).proof()


@dataclass
class _Certifier:
    """Checks one capacity."""

    runner: RunnerProblem
    capacity: Capacity
    solver: Solver

    def proof(self) -> Proof:
        checker = Checker(self.solver)
        eligible = all([is_eligible(checker, mode) for mode in self.runner.modes])
        sound = all([self._sound(checker, mode) for mode in self._modes()]) and eligible
        batches = [each for each in self.capacity.binding if self._is_batch(checker, each)]
        tight = len(batches) == len(self.capacity.binding)
        tight = all([self._is_reached(checker, each) for each in batches]) and tight
        verdict = self._occurring(batches)
        tight = self._attained(checker) and tight and eligible
        is_open = any(c.chooses and not c.bounds for mode in self._modes() for c in mode.couplings)
        live = tuple(each for mode in self.runner.modes for each in mode.live)
        return Proof(
            self.capacity.runner,
            self.capacity.target,
            sound,
            tight,
            verdict.proved and (tight or not is_open),
            self._configuration(verdict.model),
            checker.obligations,
            tuple(with_labels(str(flaw), live) for flaw in checker.flaws),
            self.runner.slack.get(self.capacity.target),
        )

    def _occurring(self, batches: list[Candidate]) -> Verdict:
        """Whether each configuration has one of the batches, or one no larger."""
        verdict = self._somewhere(batches)
        rest = [each for each in self.capacity.candidates if not each.binding]
        if verdict.proved or not rest:
            return verdict
        apart = Checker(self.solver)  # what nobody claims to be attained has no flaws
        return self._somewhere([*batches, *(each for each in rest if self._is_batch(apart, each))])

    def _somewhere(self, candidates: Sequence[Candidate]) -> Verdict:
        """Whether one of the candidates can occur, wherever the runner exists."""
        somewhere = disjunction(*(each.condition for each in candidates))
        return self.solver.decide(somewhere, (self.runner.guard,))

    def _configuration(self, model: Mapping[str, int] | None) -> Mapping[str, int] | None:
        """The parameters of a model, without what the solver has besides them."""
        if model is None:
            return None
        return {name: value for name, value in model.items() if name in self.solver.variables}

    def _modes(self) -> list[ModeProblem]:
        return [mode for mode in self.runner.modes if self.capacity.target in mode.extents]

    def _mode(self, name: str) -> ModeProblem:
        return next(mode for mode in self.runner.modes if mode.name == name)

    def _sound(self, checker: Checker, mode: ModeProblem) -> bool:
        """extent <= formula for every legal configuration and live batch of the mode."""
        given = (mode.guard, *(relation.claim for relation in relations_of(mode)))
        step = self.capacity.sound.get(mode.name)
        claim = (mode.extents[self.capacity.target], self.capacity.formula)
        parameters = self.solver.variables.keys() | self.solver.definitions.keys()
        if not free_names(self.capacity.formula) <= parameters:
            return False
        return step is not None and checker.holds(step, claim, given)

    def _attained(self, checker: Checker) -> bool:
        """formula <= the largest binding candidate, and zero where none can occur."""
        binding = self.capacity.binding
        parts = tuple(
            fold(Conditional(each.condition, each.formula, Integer(0))) for each in binding
        )
        largest = fold(parts[0] if len(parts) == 1 else Call("max", parts)) if parts else Integer(0)
        claim = (self.capacity.formula, largest)
        return checker.holds(
            self.capacity.attained, claim, (self.runner.guard,)
        ) and self._is_a_count(checker)

    def _is_a_count(self, checker: Checker) -> bool:
        """0 <= formula where no binding candidate occurs; elsewhere no less than an extent."""
        nobody = negation(disjunction(*(each.condition for each in self.capacity.binding)))
        formula = self.capacity.formula
        step = Step("leaf", Integer(0), formula)
        return nobody == FALSE or checker.holds(
            step, (Integer(0), formula), (self.runner.guard, nobody)
        )

    def _is_batch(self, checker: Checker, candidate: Candidate) -> bool:
        """Whether the witness is a legal batch wherever the condition holds."""
        mode = self._mode(candidate.mode)
        given = (self.runner.guard, candidate.condition)
        witness = dict(candidate.witness)
        live = {each.name for each in mode.live}
        parameters = self.solver.variables.keys() | self.solver.definitions.keys()
        stated = (*witness.values(), candidate.formula, candidate.condition)
        closed = live == witness.keys() and all(free_names(each) <= parameters for each in stated)
        results = [closed]
        for relation in (mode.guard, *(relation.claim for relation in relations_of(mode))):
            at_witness = fold(substitute(relation, witness))
            if at_witness not in (TRUE, FALSE):
                checker.obligations += 1
            results.append(at_witness == TRUE or self.solver.proves(at_witness, given))
            if not results[-1]:
                step = Step("leaf", candidate.formula, candidate.formula)
                checker.flaws.append(Flaw(step, f"the witness breaks {spell(relation)}"))
        known = {each.others for each in mode.real_rounds}
        is_round = bool(candidate.others) and known >= {*candidate.others}
        names = mode.seen_in(self.capacity.target, candidate.others)
        results.append(is_round and self._realisable(mode, names, witness, given))
        if not results[-1]:
            step = Step("leaf", candidate.formula, candidate.formula)
            checker.flaws.append(Flaw(step, "no lengths are known that have these totals"))
        return all(results)

    def _is_reached(self, checker: Checker, candidate: Candidate) -> bool:
        """The witness reaches the formula wherever the condition holds."""
        mode = self._mode(candidate.mode)
        reached = mode.attained(self.capacity.target, candidate.witness, candidate.others)
        given = (self.runner.guard, candidate.condition)
        return checker.holds(candidate.tight, (candidate.formula, reached), given)

    def _realisable(
        self,
        mode: ModeProblem,
        names: frozenset[str],
        witness: dict[str, Expr],
        given: tuple[Expr, ...],
    ) -> bool:
        """Whether batches exist that have the totals of the witness; `names` enter the rounds.

        A total of lengths takes every value of its range. A total of quotients reaches its upper
        end given the total of lengths where these start at 1; and lengths that are all as short as
        can be always exist. A parameter that varies is an element of a list. What only stands for
        several ranks is in no round.
        """
        coupled = frozenset[str]().union(
            *(free_names(each.condition) for each in mode.couplings if each.stated)
        )
        quotients = [
            each for each in mode.live if "cdiv(" in each.name and each.name in names | coupled
        ]
        gaps = [each for each in mode.live if not each.every_value]
        varying = [each for each in gaps if each.origin not in ("total", "ranks")]
        if not all(self._is_at_an_end(each, witness, given) for each in varying):
            return False
        if self._all_shortest(mode, witness, given):
            return True
        if len(quotients) > 1 or any(not each.every_value for each in quotients):
            return False
        return all(self._at_end(mode, each, witness, given, upper=True) for each in quotients)

    def _at_end(
        self,
        mode: ModeProblem,
        live: Live,
        witness: dict[str, Expr],
        given: tuple[Expr, ...],
        *,
        upper: bool,
    ) -> bool:
        """Whether the witness gives the variable the end of its range."""
        ends = _bounds(mode, live.name, upper=upper)
        extreme = ends[0] if len(ends) == 1 else Call("min" if upper else "max", ends)
        value, end = witness[live.name], fold(substitute(extreme, witness))
        claim = Comparison("<=", end, value) if upper else Comparison("<=", value, end)
        return self.solver.proves(fold(claim), given)

    def _is_at_an_end(self, live: Live, witness: dict[str, Expr], given: tuple[Expr, ...]) -> bool:
        """Whether a value that may have gaps in its range is the least or the greatest."""
        value = witness[live.name]
        low, high = (fold(substitute(end, witness)) for end in (live.low, live.high))
        return any(
            self.solver.proves(fold(Comparison("==", value, end)), given) for end in (low, high)
        )

    def _all_shortest(
        self, mode: ModeProblem, witness: dict[str, Expr], given: tuple[Expr, ...]
    ) -> bool:
        """Whether all totals of the witness are those of the shortest lengths."""
        totals = [each for each in mode.live if each.name.startswith("total(")]
        return bool(totals) and all(
            self._at_end(mode, each, witness, given, upper=False) for each in totals
        )


def _bounds(mode: ModeProblem, name: str, *, upper: bool) -> tuple[Expr, ...]:
    """The upper or the lower ends of a live variable."""
    wanted = Name(name)
    sides = [(each.left, each.right) for each in relations_of(mode)]
    if upper:
        return tuple(right for left, right in sides if left == wanted)
    return tuple(left for left, right in sides if right == wanted)
