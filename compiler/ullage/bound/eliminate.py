"""Eliminates live variables: the largest extent of one mode as a formula in parameters.

Variables go in reverse order of declaration, since a range may use earlier ones. A variable in
which the extent grows is replaced by its smallest upper bound, one in which it falls by its
largest lower bound; which of the two holds is found by looking for a proof. An extent that goes
both ways is split: the maximum of several terms is the maximum of their maxima. Where the author
allows slack, each occurrence of the variable may take its own end of the range instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ullage.bound.canonical import canonical, distribute
from ullage.bound.capacities import Elimination
from ullage.bound.choices import conditions_of
from ullage.bound.loosen import loosened
from ullage.bound.problem import Live, ModeProblem
from ullage.bound.relations import (
    Interval,
    Relation,
    from_condition,
    in_case,
    isolate,
    relations_of,
)
from ullage.bound.search import Oracle, Search
from ullage.bound.steps import Step
from ullage.expr.conditions import with_choice_made
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    Call,
    Conditional,
    Expr,
    conjunction,
    free_names,
    negation,
    substitute,
)


class NoMaximumError(Exception):
    """No direction of a live variable could be proved; the maximum is not known."""

    def __init__(self, live: Live, extent: Expr) -> None:
        super().__init__(live.name)
        self.live = live
        self.extent = extent


class UnboundedError(Exception):
    """A live variable has no bound in the direction in which the extent grows."""

    def __init__(self, live: Live) -> None:
        super().__init__(live.name)
        self.live = live


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest value of one branch of an extent, with where it is and why it is."""

    condition: Expr
    formula: Expr
    witness: dict[str, Expr]
    eliminations: tuple[Elimination, ...]
    sound: Step


@dataclass(frozen=True, slots=True)
class _Range:
    """A live variable, and its bounds once those that come later are gone."""

    live: Live
    interval: Interval


@dataclass(frozen=True, slots=True)
class _Found:
    """Variables that were eliminated, and the steps from the extent before to the one after."""

    eliminations: tuple[Elimination, ...]
    steps: tuple[Step, ...]


@dataclass
class Eliminator:
    """Finds the peaks of the extents of one mode."""

    mode: ModeProblem
    oracle: Oracle
    slack: bool = False

    def __post_init__(self) -> None:
        self.relations = relations_of(self.mode)
        self.given = (self.mode.guard, *(relation.claim for relation in self.relations))
        self.search = Search(self.oracle, self.given)
        self._searches: dict[tuple[Expr, ...], Search] = {(): self.search}
        self._intervals: dict[tuple[str, tuple[Relation, ...]], Interval] = {}

    def peaks(self, extent: Expr) -> list[tuple[tuple[Expr, ...], Expr, Peak]]:
        """Every branch of the extent: its case conditions, its extent, and its peak."""
        return self._peaks(distribute(canonical(extent)), self.relations, ())

    def _peaks(
        self, extent: Expr, relations: tuple[Relation, ...], cases: tuple[Expr, ...]
    ) -> list[tuple[tuple[Expr, ...], Expr, Peak]]:
        try:
            if not self._is_split(extent, relations):
                return [(cases, extent, self._peak(extent, relations, cases))]
            raise NoMaximumError(self.mode.live[0], extent)
        except NoMaximumError:
            match extent:
                case Call("max", arguments) if len(arguments) > 1:
                    return [
                        found
                        for argument in arguments
                        for found in self._peaks(argument, relations, cases)
                    ]
                case Conditional(condition, then, otherwise):
                    return self._by_case(condition, then, otherwise, relations, cases)
            raise

    def _by_case(
        self,
        condition: Expr,
        then: Expr,
        otherwise: Expr,
        relations: tuple[Relation, ...],
        cases: tuple[Expr, ...],
    ) -> list[tuple[tuple[Expr, ...], Expr, Peak]]:
        found: list[tuple[tuple[Expr, ...], Expr, Peak]] = []
        for case, extent in ((condition, then), (negation(condition), otherwise)):
            more = from_condition(case) if self._is_live(condition) else ()
            if more is None:
                raise NoMaximumError(self.mode.live[0], Conditional(condition, then, otherwise))
            known = in_case(relations, case)
            found.extend(self._peaks(extent, (*known, *more), (*cases, case)))
        return found

    def _is_split(self, extent: Expr, relations: tuple[Relation, ...]) -> bool:
        """Whether some relation holds in one arm of a choice only, so that each has its maximum."""
        if not self.mode.accepts or not isinstance(extent, Conditional):
            return False
        bounding = tuple(each for each in relations if self._is_live(each.claim))
        return in_case(bounding, extent.condition) != bounding

    def _is_live(self, node: Expr) -> bool:
        return bool(free_names(node) & {live.name for live in self.mode.live})

    def _peak(self, extent: Expr, relations: tuple[Relation, ...], cases: tuple[Expr, ...]) -> Peak:
        search = self.search_in(cases)
        current, left = extent, relations
        chain: list[Step] = []
        eliminations: list[Elimination] = []
        pending = list(reversed(self.mode.live))
        while pending:
            run = self._run(pending, current, left)
            found = self._together(run, current, search) or self._one_by_one(run, current, search)
            chain.extend(found.steps)
            eliminations.extend(found.eliminations)
            current, left = found.eliminations[-1].extent, run[-1].interval.rest
            del pending[: len(run)]
        chain.extend(self._tidied(current, canonical(current), search))
        current = chain[-1].right if chain else current
        witness = self._back_substitute(eliminations)
        fixed = (case for case in cases if not self._is_live(case))
        condition = conjunction(*fixed, *(relation.claim for relation in left))
        return Peak(condition, current, witness, tuple(eliminations), chained(extent, chain))

    def _run(
        self, pending: list[Live], extent: Expr, relations: tuple[Relation, ...]
    ) -> list[_Range]:
        """The next variables of which none bounds another, so that they can go together."""
        tidy = free_names(distribute(canonical(extent)))
        run: list[_Range] = []
        bounding: frozenset[str] = frozenset()
        for live in pending:
            interval = self._interval(live.name, relations)
            is_bounded = bool(interval.lows and interval.highs)
            cancels = live.name in free_names(extent) and live.name not in tidy
            if run and (live.name in bounding or not is_bounded or cancels):
                break
            if not is_bounded:
                raise UnboundedError(live)
            run.append(_Range(live, interval))
            if cancels:
                break
            if live.name in tidy:
                bounding |= free_names(interval.high)
            relations = interval.rest
        return run

    def _together(self, run: list[_Range], extent: Expr, search: Search) -> _Found | None:
        """All variables of a run at their upper ends, where the extent grows in each of them."""
        names = free_names(extent)
        ends = {each.live.name: each.interval.high for each in run if each.live.name in names}
        step = search.prove(extent, substitute(extent, ends)) if len(ends) > 1 else None
        if step is None:
            return None
        plain = self._with_choices_made(fold(step.right), extent, search)
        steps = [step, *self._tidied(step.right, plain, search)]
        current = extent
        eliminations: list[Elimination] = []
        for each in run:
            name = each.live.name
            value = ends[name] if name in ends else self._any_value(each.live, each.interval)
            current = fold(substitute(current, {name: value})) if name in ends else current
            eliminations.append(Elimination(name, value, current))
        eliminations[-1] = replace(eliminations[-1], extent=steps[-1].right)
        return _Found(tuple(eliminations), tuple(steps))

    def _with_choices_made(self, node: Expr, before: Expr, search: Search) -> Expr:
        """The expression without choices that were open before, and are made at the upper ends."""
        known = set(conditions_of(before))
        for condition in dict.fromkeys(conditions_of(node)):
            if condition in known:
                continue
            if search.is_impossible(negation(condition)):
                node = with_choice_made(node, condition, True)
            elif search.is_impossible(condition):
                node = with_choice_made(node, condition, False)
        return fold(node)

    def _one_by_one(self, run: list[_Range], extent: Expr, search: Search) -> _Found:
        """Each variable of a run at the end at which the extent is largest."""
        current = extent
        chain: list[Step] = []
        eliminations: list[Elimination] = []
        for each in run:
            value, steps = self._choose(each.live, current, each.interval, search)
            chain.extend(steps)
            current = steps[-1].right if steps else current
            eliminations.append(Elimination(each.live.name, value, current))
        return _Found(tuple(eliminations), tuple(chain))

    def search_in(self, cases: tuple[Expr, ...]) -> Search:
        """The search in some cases, the same one each time."""
        if cases not in self._searches:
            self._searches[cases] = Search(self.oracle, (*self.given, *cases))
        return self._searches[cases]

    def _interval(self, name: str, relations: tuple[Relation, ...]) -> Interval:
        """The bounds of a variable, which are those of all extents."""
        key = (name, relations)
        if key not in self._intervals:
            self._intervals[key] = isolate(name, relations, self.oracle, (self.mode.guard,))
        return self._intervals[key]

    def _choose(
        self, live: Live, extent: Expr, interval: Interval, search: Search
    ) -> tuple[Expr, list[Step]]:
        """The end of the range at which the extent is largest, with the proof that it is.

        Sums are moved inside extremes only where the plain form shows no direction.
        """
        if live.name not in free_names(extent):
            return self._any_value(live, interval), []
        tidy = distribute(canonical(extent))
        if live.name not in free_names(tidy):
            cancelled = self._tidied(extent, tidy, search)
            if cancelled:
                return self._any_value(live, interval), cancelled
        plain: list[Step] = []
        for before in (plain, self._tidied(extent, tidy, search)):
            start = before[-1].right if before else extent
            for value in (interval.high, interval.low):
                step = search.prove(start, substitute(start, {live.name: value}))
                if step is not None:
                    after = self._tidied(step.right, fold(step.right), search)
                    return value, [*before, step, *after]
        loose = loosened(extent, live.name, interval) if self.slack else None
        spread = search.prove(extent, loose) if loose is not None else None
        if spread is None:
            raise NoMaximumError(live, extent)
        return interval.high, [spread]

    def _any_value(self, live: Live, interval: Interval) -> Expr:
        """A value where all come to the same: the largest if others take the small batches."""
        left = (each for each in self.mode.couplings if each.chooses and not each.bounds)
        others_take_some = self.mode.taken and any(live.name in free_names(c.claim) for c in left)
        return interval.high if others_take_some else interval.low

    def _tidied(self, left: Expr, right: Expr, search: Search) -> list[Step]:
        """The step to an equal form, or none where the forms are the same or no proof is found."""
        step = search.prove(left, right) if left != right else None
        return [] if step is None else [step]

    def _back_substitute(self, eliminations: list[Elimination]) -> dict[str, Expr]:
        witness: dict[str, Expr] = {}
        for elimination in reversed(eliminations):
            value = substitute(elimination.value, witness)
            witness[elimination.variable] = distribute(canonical(value))
        return witness


def chained(start: Expr, steps: list[Step]) -> Step:
    """The steps as one claim, without the trivial ones."""
    real = [step for step in steps if step.rule != "same"]
    if not real:
        return Step("same", start, start)
    return real[0] if len(real) == 1 else Step("chain", start, real[-1].right, tuple(real))
