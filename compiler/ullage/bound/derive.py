"""Derives a capacity: the supremum of one extent over all modes and legal live batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ullage.bound.branches import (
    Branch,
    Stated,
    breadth,
    first_that_applies,
    largest,
    where,
)
from ullage.bound.capacities import Candidate, Capacity
from ullage.bound.common import Common
from ullage.bound.eliminate import Eliminator, NoMaximumError, Peak, UnboundedError
from ullage.bound.problem import ModeProblem, RunnerProblem
from ullage.bound.relations import NotLinearError, Relation
from ullage.bound.search import Oracle
from ullage.bound.sound import SoundStep
from ullage.bound.steps import Step
from ullage.diagnostics.diagnostic import Collector
from ullage.expr.conditions import conjuncts
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import (
    FALSE,
    Call,
    Comparison,
    Conditional,
    Expr,
    Integer,
    children,
    conjunction,
    disjunction,
    negation,
    rebuild,
)
from ullage.place import BUILT_IN, Place

MOST_PARTS = 24
"""How many parts of one formula are tried, where a witness does not attain all of it."""


def derive(
    runner: RunnerProblem,
    target: str,
    oracle: Oracle,
    collector: Collector,
    common: Common | None = None,
) -> Capacity | None:
    """The capacity of one target; what has no proven maximum is reported, not guessed.

    `common`: what was tried for other targets of the runner with this oracle, and is tried now.
    """
    return _Deriver(runner, target, oracle, collector, common or Common(oracle)).capacity()


@dataclass
class _Deriver:
    """Puts one capacity together from the peaks of the runner's modes."""

    runner: RunnerProblem
    target: str
    oracle: Oracle
    collector: Collector
    common: Common
    reached: dict[tuple[int, Expr], tuple[tuple[str, ...], Step | None]] = field(
        default_factory=dict
    )

    def capacity(self) -> Capacity | None:
        """The maximum over all modes, or None after an error was reported."""
        before = len(self.collector.diagnostics)
        branches = [
            branch
            for mode in self.runner.modes
            if self.target in mode.extents
            for branch in self._branches(mode)
        ]
        if len(self.collector.diagnostics) > before:
            return None
        stated = self._stated(branches)
        formula = self._combine([(each.formula, each.condition) for each in stated])
        return Capacity(
            self.runner.name,
            self.target,
            formula,
            tuple(self._candidate(branch, stated) for branch in branches),
            self._sound(branches, stated, formula),
            self._attained(stated, formula),
        )

    def _branches(self, mode: ModeProblem) -> list[Branch]:
        try:
            peaks = self._eliminator(mode).peaks(mode.extents[self.target])
        except NoMaximumError as error:
            self._report_no_maximum(mode, error)
        except UnboundedError as error:
            self.collector.error(
                "U401",
                f"live variable '{error.live.label}' of mode '{mode.name}' has no bound in the "
                f"direction in which {self.runner.name}.{self.target} grows",
                error.live.place,
                hint="give it a range that ends in parameters or earlier live variables",
            )
        except NotLinearError as error:
            self.collector.error(
                "U402",
                f"no bound on '{error.variable}' follows from "
                f"{spell(Comparison('<=', error.relation.left, error.relation.right))}",
                _place_of(error.relation, mode),
                hint="write the relation as a sum in which the variable has one factor, at least 1 "
                "in every configuration",
            )
        else:
            branches = [
                Branch(mode, cases, extent, self._condition(mode, peak), peak)
                for cases, extent, peak in peaks
            ]
            return [branch for branch in branches if branch.condition != FALSE]
        return []

    def _eliminator(self, mode: ModeProblem) -> Eliminator:
        return self.common.eliminator(mode, self.target in self.runner.slack)

    def _report_no_maximum(self, mode: ModeProblem, error: NoMaximumError) -> None:
        self.collector.error(
            "U402",
            f"{self.runner.name}.{self.target} in mode '{mode.name}': it could not be proved "
            f"whether {spell(error.extent)} grows or falls with '{error.live.label}'",
            error.live.place,
            hint="bound the variable so that one direction holds, split the mode in two, or state "
            "'slack' with a reason for this capacity in the runner",
            related=((mode.place, f"mode '{mode.name}'"),),
        )

    def _condition(self, mode: ModeProblem, peak: Peak) -> Expr:
        """Where the branch can occur, without what the runner's own guard implies."""
        parts = [mode.guard, peak.condition]
        known: tuple[Expr, ...] = (self.runner.guard,)
        kept: list[Expr] = []
        for part in conjuncts(conjunction(*parts)):
            if self.oracle(negation(part), known):
                return FALSE
            if not self.oracle(part, known):
                kept.append(part)
                known = (*known, part)
        for part in kept[:-1]:
            others = [each for each in kept if each is not part]
            if self.oracle(part, (self.runner.guard, *others)):
                kept = others
        return conjunction(*kept)

    def _stated(self, branches: list[Branch]) -> list[Stated]:
        """What the capacity states: the branches that it needs, or of each what is attained.

        A branch may hold what other ranks bring only if they go another way, while they attain it
        in a mode of their own.
        """
        every = (Stated(branch, branch.formula, branch.formula) for branch in branches)
        alone = [self._shortened(each, []) for each in every]
        stated = self._needed(alone)
        if all(self._reached(each.branch, each.attained)[1] for each in stated):
            return stated
        parts = self._parts(alone)
        less = self._needed([replace(each, formula=each.attained) for each in parts], parts)
        covered = all(self._covers(less, each) for each in alone)
        return less if covered else stated

    def _parts(self, alone: list[Stated]) -> list[Stated]:
        """What each branch attains, but for branches of which others attain all anyway.

        Those that hold what other ranks bring come last: what they attain is the hardest to show.
        """
        parts: dict[int, Stated] = {}
        for each in sorted(alone, key=lambda each: breadth(each.branch), reverse=True):
            known = [replace(part, formula=part.attained) for part in parts.values()]
            if not known or self._covers(known, each) is None:
                parts[id(each)] = self._part(each)
        return [parts[id(each)] for each in alone if id(each) in parts]

    def _part(self, own: Stated) -> Stated:
        """What of a formula the witness of its branch attains, all of it if nothing is found."""
        pending, seen = [own.formula], {own.formula}
        for formula in pending:
            if self._reached(own.branch, formula)[1]:
                return replace(own, attained=formula)
            shorter = [each for each in map(fold, without_operands(formula)) if each not in seen]
            pending.extend(shorter[: MOST_PARTS - len(pending)])
            seen.update(shorter)
        return own

    def _needed(self, stated: list[Stated], parts: Sequence[Stated] = ()) -> list[Stated]:
        """What of some branches is needed: never less than all of them together.

        One by one, those of which only a part is attained and those with other ranks' extents
        first, a branch is left out where the rest covers it; and of those that stay an operand of a
        maximum is. What is whole covers more, so that operands go last.
        """
        in_part = {id(each.branch) for each in parts if each.attained != each.formula}

        def last(each: Stated) -> tuple[bool, tuple[int, int]]:
            return id(each.branch) not in in_part, breadth(each.branch)

        for own in sorted(stated, key=last):
            rest = [each for each in stated if each is not own]
            if rest and self._covers(rest, own) is not None:
                stated = rest
        for own in sorted(stated, key=last):
            rest = [each for each in stated if each is not own]
            shorter = self._shortened(own, rest)
            stated = [shorter if each is own else each for each in stated]
        return stated

    def _covers(self, others: list[Stated], own: Stated) -> Step | None:
        """A proof of own <= the largest of the others, wherever the own branch can occur."""
        search = self.common.search(self.runner.guard, own.condition)
        for together in (largest(others), first_that_applies(others)):
            step = search.prove(own.formula, together)
            if step is not None:
                return step
        return None

    def _shortened(self, own: Stated, rest: list[Stated]) -> Stated:
        """The branch without operands that the others cover, be they its own or of the rest."""
        search = self.common.search(self.runner.guard, own.condition)
        for formula in without_operands(own.formula):
            shorter = Stated(own.branch, formula, own.attained if rest else formula)
            if search.prove(own.formula, largest([shorter, *rest])) is not None:
                return self._shortened(shorter, rest)
        return own

    def _combine(self, parts: Iterable[tuple[Expr, Expr]]) -> Expr:
        """The maximum of the branches; those that exclude each other become one choice."""
        merged: dict[Expr, Expr] = {}
        for formula, condition in parts:
            merged[formula] = disjunction(merged.get(formula, FALSE), condition)
        choices: list[list[tuple[Expr, Expr]]] = []
        for part in merged.items():
            room = next((each for each in choices if self._excludes(part, each)), None)
            if room is None:
                choices.append([part])
            else:
                room.append(part)
        chosen = tuple(self._choice(each) for each in choices)
        if not chosen:
            return Integer(0)
        return fold(chosen[0] if len(chosen) == 1 else Call("max", chosen))

    def _excludes(self, part: tuple[Expr, Expr], others: list[tuple[Expr, Expr]]) -> bool:
        both = (conjunction(part[1], condition) for _, condition in others)
        return all(self.oracle(negation(each), (self.runner.guard,)) for each in both)

    def _choice(self, parts: list[tuple[Expr, Expr]]) -> Expr:
        """`a if c else b`, where at most one of the conditions holds."""
        conditions = disjunction(*(condition for _, condition in parts))
        complete = self.oracle(conditions, (self.runner.guard,))
        result = parts[-1][0] if complete else where(*parts[-1])
        for formula, condition in reversed(parts[:-1]):
            result = Conditional(condition, formula, result)
        return fold(result)

    def _sound(
        self, branches: list[Branch], stated: list[Stated], formula: Expr
    ) -> dict[str, Step]:
        steps: dict[str, Step] = {}
        for mode in self.runner.modes:
            own = [branch for branch in branches if branch.mode is mode]
            if self.target not in mode.extents:
                continue
            eliminator = self._eliminator(mode)
            step = SoundStep(eliminator, own, stated, formula).build(mode.extents[self.target])
            if step is None:
                self.collector.error(
                    "U503",
                    f"{self.runner.name}.{self.target}: no proof that mode '{mode.name}' stays "
                    f"below {spell(formula)}",
                    mode.place,
                )
            else:
                steps[mode.name] = step
        return steps

    def _attained(self, stated: list[Stated], formula: Expr) -> Step:
        most = largest([replace(each, formula=each.attained) for each in stated])
        search = self.common.search(self.runner.guard)
        return search.prove(formula, most) or Step("leaf", formula, most)

    def _candidate(self, branch: Branch, stated: list[Stated]) -> Candidate:
        peak = branch.peak
        own = next((each for each in stated if each.branch is branch), None)
        formula, others, tight = branch.formula, _NO_OTHERS, None
        if own is not None:  # else nobody claims that it is attained
            formula = own.attained
            others, tight = self._reached(branch, formula)
        reached = branch.mode.attained(self.target, peak.witness, others)
        return Candidate(
            branch.mode.name,
            branch.condition,
            formula,
            peak.witness,
            peak.eliminations,
            tight or Step("leaf", formula, reached),
            own is not None,
            others,
        )

    def _reached(self, branch: Branch, formula: Expr) -> tuple[tuple[str, ...], Step | None]:
        """A proof that the witness attains a formula in one round, or else in one or another."""
        key = (id(branch), formula)
        if key not in self.reached:
            self.reached[key] = self._found(branch, formula)
        return self.reached[key]

    def _found(self, branch: Branch, formula: Expr) -> tuple[tuple[str, ...], Step | None]:
        search = self.common.search(self.runner.guard, branch.condition)
        every = tuple(each.others for each in branch.mode.real_rounds)
        for others in dict.fromkeys((*((each,) for each in every), every)):
            reached = branch.mode.attained(self.target, branch.peak.witness, others)
            step = search.prove(formula, reached)
            if step is not None:
                return others, step
        return every, None


_NO_OTHERS: tuple[str, ...] = ("",)


def without_operands(node: Expr) -> Iterator[Expr]:
    """The expression with one operand of one maximum left out, for each of them."""
    if isinstance(node, Call) and node.function == "max" and len(node.arguments) > 1:
        for position in range(len(node.arguments)):
            rest = node.arguments[:position] + node.arguments[position + 1 :]
            yield rest[0] if len(rest) == 1 else Call("max", rest)
    parts = children(node)
    for position, part in enumerate(parts):
        for shorter in without_operands(part):
            yield rebuild(node, (*parts[:position], shorter, *parts[position + 1 :]))


def _place_of(relation: Relation, mode: ModeProblem) -> Place:
    """Where a relation was written, as far as one of its sides still knows."""
    sides = (relation.left.place, relation.right.place)
    return next((each for each in sides if each != BUILT_IN), mode.place)
