"""Decides stated formulas mode by mode: a proof, or every kind of batch that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.audit.batches import batches_of
from ullage.audit.counterexamples import counterexample
from ullage.audit.expectation import diagnostics_of, without_verdict
from ullage.audit.guards import Narrowing, Switch, switches_of
from ullage.audit.model import AuditReport, Counterexample, FormulaReport, ModeVerdict
from ullage.audit.soundness import checked, prove
from ullage.audit.stated import Question, questions
from ullage.audit.waste import Wastes
from ullage.bound.problem import ModeProblem
from ullage.bound.relations import relations_of
from ullage.bound.specialise import for_worker
from ullage.bound.steps import Step
from ullage.counterexample.finder import Finder
from ullage.counterexample.shown import Shower
from ullage.counterexample.space import Space, members_of
from ullage.expr.tree import Comparison, Expr, conjunction, negation
from ullage.processes import Mapper, in_turn
from ullage.prove.oracle import Oracle, Oracles

Progress = Callable[[str], None]

ROUNDS = 6
"""The most causes of one mode that are told apart."""


def audit(
    analysis: Analysis,
    progress: Progress = lambda _: None,
    only: Collection[str] | None = None,
    mapped: Mapper = in_turn,
) -> AuditReport:
    """The verdict on every stated formula, and the expectations that it does not meet.

    `only`: the names of the audits to decide, all if it is None.
    """
    audits = analysis.resolved.spec.audits
    wanted = [each for each in audits if only is None or each.name in only]
    asked = [each for each in questions(analysis) if each.audit in wanted]
    oracle = Oracles(analysis.solver).of(*analysis.problem.runners)
    decisions = _decisions(analysis, oracle, asked, progress, mapped)
    decider = _Decider(Wastes(analysis, oracle), decisions)
    reports = mapped(decider.report, asked)
    differing = (each for report in reports for each in diagnostics_of(report))
    unanswered = without_verdict(wanted, asked)
    return AuditReport(tuple(reports), (*differing, *unanswered))


def _decisions(
    analysis: Analysis,
    oracle: Oracle,
    asked: Sequence[Question],
    progress: Progress,
    mapped: Mapper,
) -> Mapping[_Key, _Decision]:
    """What is found out about each formula and mode; the same one in two audits counts once."""
    pairs = {_key(each, mode): (each, mode) for each in asked for mode in each.modes}
    counted = list(enumerate(pairs.values(), 1))

    def decision(of: tuple[int, tuple[Question, ModeProblem]]) -> _Decision:
        count, (question, mode) = of
        subject = f"{question.runner.name}.{question.stated.target} in {mode.name}"
        progress(f"{count} of {len(counted)}: {question.audit.name}, {subject}")
        return _Mode(analysis, oracle, question, mode).decision()

    return dict(zip(pairs, mapped(decision, counted), strict=True))


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


@dataclass(frozen=True, slots=True)
class _Decider:
    """Puts together what is found out about a question."""

    wastes: Wastes
    known: Mapping[_Key, _Decision]

    def report(self, question: Question) -> FormulaReport:
        """The verdicts on one formula for all of its modes."""
        return FormulaReport(
            question.audit.name,
            question.runner.name,
            question.stated.target,
            question.when,
            question.formula,
            question.capacity,
            question.stated.expect,
            tuple(self._verdict(question, mode) for mode in question.modes),
            self.wastes.of(question),
            question.stated.place,
        )

    def _verdict(self, question: Question, mode: ModeProblem) -> ModeVerdict:
        found = self.known[_key(question, mode)]
        sound = found.proof is not None
        return ModeVerdict(
            mode.name,
            "overflows" if found.counterexamples else "proved" if sound else "undecided",
            found.counterexamples,
            found.complete,
            self.wastes.in_mode(question, mode) if sound else False,
            found.proof,
        )


class _Mode:
    """One formula beside the extent of one mode."""

    def __init__(
        self, analysis: Analysis, oracle: Oracle, question: Question, mode: ModeProblem
    ) -> None:
        self.analysis, self.oracle = analysis, oracle
        self.mode, self.formula = mode, question.formula
        self.extent = question.extents[mode.name]
        self.attained = question.attained[mode.name]
        self.known = conjunction(mode.guard, question.guard)
        self.shower = Shower(analysis.resolved, analysis.problem.domain)
        self.switches = switches_of(analysis.resolved, mode, self.known, analysis.solver)
        relations = (relation.claim for relation in relations_of(mode))
        self.given = (mode.guard, question.guard, *relations)
        too_large = Comparison("<", self.formula, self.attained)
        domain, worker = analysis.problem.domain, question.runner.worker
        count = analysis.resolved.spec.rank_count
        ranks = None if count is None else for_worker(analysis.resolved, worker)(count)
        self.batches = batches_of(mode, self.attained, ranks, self.given, oracle)
        self.space = Space(
            domain,
            self.batches.live,
            (mode.guard, question.guard, *self.batches.conditions, too_large),
            members_of(analysis.resolved, domain, worker, self.batches.live),
        )

    @property
    def exact(self) -> bool:
        """Whether what is not found is not there."""
        return self.batches.exact and self.attained == self.extent

    def decision(self) -> _Decision:
        """A proof, or the counterexamples of all causes that were found."""
        finder = Finder(self.analysis.solver, self.space)
        found: list[Counterexample] = []
        excluded: tuple[Expr, ...] = ()
        while len(found) < ROUNDS:
            if not finder.near():
                proof = self._proof(excluded)
                if proof is not None:
                    return _Decision(tuple(found), True, None if found else proof)
                answer = finder.find()
                if answer.kind != "found":
                    certain = answer.kind == "none" and self.exact
                    return _Decision(tuple(found), certain, None)
            cause = self._cause(finder)
            if cause is None:
                break
            found.append(cause.counterexample)
            if not cause.switches:
                return _Decision(tuple(found), True, None)
            unless = negation(conjunction(*(each.on for each in cause.switches)))
            excluded = (*excluded, unless)
            finder.require(unless)
        return _Decision(tuple(found), False, None)

    def _proof(self, more: tuple[Expr, ...]) -> Step | None:
        """A proof by the shapes of the two sides, or else by z3 alone."""
        claim, given = (self.extent, self.formula), (*self.given, *more)
        step = prove(*claim, given, self.oracle, known=self.known)
        if step is None and not more:
            step = checked(Step("leaf", *claim), claim, given, self.analysis.solver)
        return step

    def _cause(self, finder: Finder) -> _Cause | None:
        """The smallest batch that overflows with the fewest switches on."""
        narrowing = Narrowing(finder)
        guards = narrowing.needed(self.switches)
        smallest = finder.smallest(narrowing.off)
        if smallest is None:
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
            smallest.minimal and narrowing.certain and self.exact,
        )
        return _Cause(shown, guards or raised)


@dataclass(frozen=True, slots=True)
class _Cause:
    """A counterexample with what has to be on for it."""

    counterexample: Counterexample
    switches: tuple[Switch, ...]
