"""Decides stated formulas: one proof for all modes, or in each a proof or all that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.audit.batches import batches_of
from ullage.audit.counterexamples import counterexample
from ullage.audit.expectation import diagnostics_of, without_verdict
from ullage.audit.guards import Narrowing, Switch, switches_of
from ullage.audit.model import AuditReport, Counterexample, FormulaReport, ModeVerdict
from ullage.audit.soundness import checked, prove, within
from ullage.audit.stated import Question, questions
from ullage.audit.waste import Engine, Wastes, samples_of
from ullage.bound.domain import for_worker
from ullage.bound.problem import ModeProblem
from ullage.bound.relations import relations_of
from ullage.bound.steps import Step
from ullage.counterexample.finder import Finder
from ullage.counterexample.shown import Shower
from ullage.counterexample.space import Assignment, Space, members_of
from ullage.expr.tree import Comparison, Expr, conjunction, negation
from ullage.memory import NOTHING, Memory
from ullage.processes import Mapper, in_turn
from ullage.prove.oracle import Oracle
from ullage.prove.solver import Solver

Progress = Callable[[str], None]

ROUNDS = 6
"""The most causes of one mode that are told apart."""


def audit(
    analysis: Analysis,
    progress: Progress = lambda _: None,
    only: Collection[str] | None = None,
    mapped: Mapper = in_turn,
    memory: Memory = NOTHING,
) -> AuditReport:
    """The verdict on every stated formula, and the expectations that it does not meet.

    `only`: the names of the audits to decide, all if it is None.
    """
    audits = analysis.resolved.spec.audits
    wanted = [each for each in audits if only is None or each.name in only]
    engine = Engine(analysis.resolved.configuration, analysis.problem.domain)
    solver = Solver(engine.domain)
    asked = questions(analysis, solver, wanted)
    known = memory.about(engine)
    progress("comparing formulas with the capacities")
    large = _large(solver, asked, mapped, known)
    rest = [each for each, enough in zip(asked, large, strict=True) if enough.step is None]
    decisions = _decisions(engine, solver, rest, progress, mapped, known)
    found = [
        _Answered(each, enough.step, tuple(decisions.get(_key(each, m), _FITS) for m in each.modes))
        for each, enough in zip(asked, large, strict=True)
    ]
    reports = _reports(engine, solver, found, mapped, known)
    differing = (each for report in reports for each in diagnostics_of(report))
    unanswered = without_verdict(wanted, asked)
    return AuditReport(tuple(reports), (*differing, *unanswered))


@dataclass(frozen=True, slots=True)
class _Within:
    """A proof that whatever is within the capacities is within a formula, if there is one."""

    step: Step | None


def _large(
    solver: Solver, asked: Sequence[Question], mapped: Mapper, memory: Memory
) -> list[_Within]:
    """Which formulas are no less than the capacities; without samples, since most of them are."""

    def answer(question: Question) -> _Within:
        oracle = Oracle(solver.apart(), ())
        found = _Within(within(question, oracle))
        oracle.solver.forget()
        return found

    return memory.answers(_Within, answer, asked, _compared, mapped)


def _compared(question: Question) -> tuple[object, ...]:
    """What it depends on whether a formula is no less than the capacity."""
    sides = question.limited, question.capacity, question.formula
    return *sides, question.given, question.proved


@dataclass(frozen=True, slots=True)
class Claim:
    """That a formula is no less than the extent of one mode of a worker, where `guard` holds.

    `attained` is what a batch of the mode really comes to.
    """

    worker: str
    mode: ModeProblem
    formula: Expr
    guard: Expr
    extent: Expr
    attained: Expr


def _claim(question: Question, mode: ModeProblem) -> Claim:
    """What a question asks of one mode."""
    return Claim(
        question.runner.worker,
        mode,
        question.formula,
        question.guard,
        question.extents[mode.name],
        question.attained[mode.name],
    )


def _decisions(
    engine: Engine,
    solver: Solver,
    asked: Sequence[Question],
    progress: Progress,
    mapped: Mapper,
    memory: Memory,
) -> Mapping[_Key, _Decision]:
    """What is found out about each formula and mode; the same one in two audits counts once."""
    claims = {_key(each, mode): (_claim(each, mode), each) for each in asked for mode in each.modes}
    counted = [(count, *claim) for count, claim in enumerate(claims.values(), 1)]

    def decision(of: tuple[int, Claim, Question]) -> _Decision:
        count, claim, question = of
        subject = f"{question.runner.name}.{question.stated.target} in {claim.mode.name}"
        progress(f"{count} of {len(counted)}: {question.audit.name}, {subject}")
        oracle = Oracle(solver.apart(), ())
        found = _Mode(engine, oracle, claim).decision()
        oracle.solver.forget()
        return found

    decided = memory.answers(_Decision, decision, counted, lambda each: each[1:2], mapped)
    return dict(zip(claims, decided, strict=True))


_Key = tuple[str, str, Expr, Expr, Expr]


def _key(question: Question, mode: ModeProblem) -> _Key:
    extent = question.extents[mode.name]
    return question.runner.name, mode.name, extent, question.formula, question.guard


@dataclass(frozen=True, slots=True)
class _Decision:
    """What was found out about one extent and one formula, whoever stated it."""

    counterexamples: tuple[Counterexample, ...]
    complete: bool
    proof: Step | None


_FITS = _Decision((), True, None)
"""Of each mode where the formula is no less than the capacity."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """A question, and what was found out about it and each of its modes."""

    question: Question
    within: Step | None
    decisions: tuple[_Decision, ...]


def _reports(
    engine: Engine,
    solver: Solver,
    answered: Sequence[_Answered],
    mapped: Mapper,
    memory: Memory,
) -> list[FormulaReport]:
    """The verdicts on all formulas, with what they waste."""
    samples = tuple(samples_of(engine)) if answered else ()

    def report(of: _Answered) -> FormulaReport:
        oracle = Oracle(solver.apart(), ())
        found = _report(of, Wastes(engine, oracle, samples))
        oracle.solver.forget()
        return found

    return memory.answers(FormulaReport, report, answered, lambda each: (each,), mapped)


def _report(answered: _Answered, wastes: Wastes) -> FormulaReport:
    """The verdicts on one formula for all of its modes."""
    question = answered.question
    modes = zip(question.modes, answered.decisions, strict=True)
    return FormulaReport(
        question.audit.name,
        question.runner.name,
        question.stated.target,
        question.when,
        question.formula,
        question.capacity,
        question.stated.expect,
        tuple(_verdict(answered, mode, found, wastes) for mode, found in modes),
        wastes.of(question),
        answered.within,
        question.stated.place,
    )


def _verdict(
    answered: _Answered, mode: ModeProblem, found: _Decision, wastes: Wastes
) -> ModeVerdict:
    sound = answered.within is not None or found.proof is not None
    return ModeVerdict(
        mode.name,
        "overflows" if found.counterexamples else "proved" if sound else "undecided",
        found.counterexamples,
        found.complete,
        wastes.in_mode(answered.question, mode) if sound else False,
        found.proof,
    )


class _Mode:
    """One formula beside the extent of one mode."""

    def __init__(self, engine: Engine, oracle: Oracle, claim: Claim) -> None:
        self.oracle, self.solver = oracle, oracle.solver
        self.mode, self.formula = claim.mode, claim.formula
        self.extent, self.attained = claim.extent, claim.attained
        self.known = conjunction(self.mode.guard, claim.guard)
        resolved, domain, worker = engine.resolved, engine.domain, claim.worker
        self.shower = Shower(resolved, domain)
        self.switches = switches_of(resolved, self.mode, self.known, self.solver)
        relations = (relation.claim for relation in relations_of(self.mode))
        self.given = (self.mode.guard, claim.guard, *relations)
        too_large = Comparison("<", self.formula, self.attained)
        count = resolved.spec.rank_count
        ranks = None if count is None else for_worker(resolved, worker)(count)
        self.batches = batches_of(self.mode, self.attained, ranks, self.given, oracle)
        self.space = Space(
            domain,
            self.batches.live,
            (self.mode.guard, claim.guard, *self.batches.conditions, too_large),
            members_of(resolved, domain, worker, self.batches.live),
        )
        couplings = (each.claim for each in self.mode.couplings)
        above = Comparison("<", self.formula, self.extent)
        counted = {each.name for each in self.batches.live}
        self.beyond = Space(
            domain,
            self.mode.live,
            (self.mode.guard, claim.guard, *couplings, above),
            {},
            frozenset(each.name for each in self.mode.live) - counted,
        )

    @property
    def exact(self) -> bool:
        """Whether what is not found is not there."""
        return self.batches.exact and self.attained == self.extent

    def decision(self) -> _Decision:
        """A proof, or the counterexamples of all causes that were found."""
        finder = Finder(self.solver, self.space)
        beyond = None if self.exact else Finder(self.solver, self.beyond)
        found: list[Counterexample] = []
        excluded: tuple[Expr, ...] = ()
        while len(found) < ROUNDS:
            near = finder.near()
            if near is None:
                proof = self._proof(excluded)
                if proof is not None:
                    return _Decision(tuple(found), True, None if found else proof)
                if found and beyond is not None:
                    return _Decision(tuple(found), beyond.excludes((), thorough=False), None)
                answer = finder.find()
                if answer.kind != "found":
                    certain = answer.kind == "none" and self.exact
                    return _Decision(tuple(found), certain, None)
            cause = self._cause(finder, beyond, near)
            if cause is None:
                break
            found.append(cause.counterexample)
            if not cause.switches:
                return _Decision(tuple(found), True, None)
            unless = negation(conjunction(*(each.on for each in cause.switches)))
            excluded = (*excluded, unless)
            for each in filter(None, (finder, beyond)):
                each.require(unless)
        return _Decision(tuple(found), False, None)

    def _proof(self, more: tuple[Expr, ...]) -> Step | None:
        """A proof by the shapes of the two sides, or else by z3 alone; by what is rare at last."""
        claim, rare = (self.extent, self.formula), self.space.domain.unusual
        for given in ((*self.given, *more), *(((*self.given, *more, *rare),) if rare else ())):
            step = prove(*claim, given, self.oracle, known=self.known)
            if step is None and not more:
                step = checked(Step("leaf", *claim), claim, given, self.solver)
            if step is not None:
                return step
        return None

    def _cause(
        self, finder: Finder, beyond: Finder | None, near: Assignment | None
    ) -> _Cause | None:
        """The smallest batch that overflows with the fewest switches on; `near` is some such batch.

        `beyond` has all batches that overflow, and others that cannot be: what it excludes counts.
        """
        narrowing = Narrowing(finder, near)
        guards = narrowing.needed(self.switches)
        smallest = finder.smallest(narrowing.off, narrowing.found)
        if smallest is None or not self.space.has_all_elements(smallest.assignment):
            return None
        raised: tuple[Switch, ...] = ()
        if not guards:
            raised = narrowing.raised(smallest.assignment, self.space.domain.variables)
        shown = counterexample(
            self.shower,
            self.space,
            smallest.assignment,
            (self.attained, self.formula),
            tuple(each.label for each in guards),
            tuple(each.label for each in raised),
            smallest.minimal and narrowing.certain
            if beyond is None
            else _is_least(beyond, narrowing.off, guards or raised, smallest.size),
        )
        return _Cause(shown, guards or raised)


def _is_least(beyond: Finder, off: Sequence[Expr], switches: Iterable[Switch], size: int) -> bool:
    """Whether nothing smaller overflows, nor anything with one of the switches off."""
    return beyond.excludes(off, size - 1) and all(
        beyond.excludes((*off, each.off)) for each in switches
    )


@dataclass(frozen=True, slots=True)
class _Cause:
    """A counterexample with what has to be on for it."""

    counterexample: Counterexample
    switches: tuple[Switch, ...]
