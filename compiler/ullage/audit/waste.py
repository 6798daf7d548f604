"""Where a stated formula gives more than is needed, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from ullage.audit.model import Waste
from ullage.audit.soundness import prove
from ullage.audit.stated import Question
from ullage.bound.domain import worker_name
from ullage.bound.problem import Domain, ModeProblem
from ullage.configuration.given import Plain
from ullage.configuration.values import complete
from ullage.counterexample.finder import Finder
from ullage.counterexample.shown import Configuration, Shower
from ullage.counterexample.space import Assignment, Space, members_of
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.evaluate import evaluate_boolean, evaluate_integer
from ullage.expr.tree import Comparison, Expr, Integer, conjunction
from ullage.plan.model import PlannedSlot
from ullage.prove.oracle import Oracle
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import BYTES_OF_DTYPE, DeviceRole, Parameter

DEFAULTS = "the defaults"
SMALLEST = "the smallest configuration"


@dataclass(frozen=True, slots=True)
class Engine:
    """The configurations of an engine: what is said of them, and the legal ones."""

    resolved: ResolvedSpec
    domain: Domain


@dataclass(frozen=True, slots=True)
class Sample:
    """A configuration to try: the defaults, or those with one switch set otherwise."""

    origin: str
    configuration: Configuration


@dataclass
class Wastes:
    """Compares stated formulas with capacities, first in a few configurations, then in all."""

    engine: Engine
    oracle: Oracle
    samples: tuple[Sample, ...]
    _finders: dict[tuple[Expr, ...], Finder] = field(default_factory=dict)
    _proved: dict[tuple[Expr, Expr, Expr], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shower = Shower(self.engine.resolved, self.engine.domain)

    def of(self, question: Question) -> tuple[Waste, ...]:
        """The first waste, and the worst of the others; empty where none is known."""
        found = list(self._sampled(question, question.somewhere))
        if not found:
            smallest = self._searched(question)
            return (smallest,) if smallest else ()
        worst = max(found, key=lambda waste: (waste.bytes, waste.rows))
        more = (worst.bytes, worst.rows) > (found[0].bytes, found[0].rows)
        return (found[0], worst) if more else (found[0],)

    def in_mode(self, question: Question, mode: ModeProblem) -> bool | None:
        """Whether the formula wastes where the mode occurs; None if that is not known."""
        where = conjunction(mode.guard, question.guard)
        if next(self._sampled(question, where), None) is not None:
            return True
        finder = self._finder(question)
        found = finder.near((mode.guard,))
        if found is None:
            if self._no_more(question, where):
                return False
            if finder.exists((mode.guard,)).kind == "none":
                return False
        elif self._shown(question, found):
            return True
        smallest = finder.smallest((mode.guard,))
        return True if smallest and self._shown(question, smallest.assignment) else None

    def _sampled(self, question: Question, where: Expr) -> Iterator[Waste]:
        for sample in self.samples:
            values = sample.configuration.values
            guards = (question.runner.guard, where)
            if all(evaluate_boolean(guard, values) for guard in guards):
                waste = self._waste(question, sample.origin, sample.configuration)
                if waste is not None:
                    yield waste

    def _searched(self, question: Question) -> Waste | None:
        """The least configuration that wastes, where there is one and it is found."""
        finder, where = self._finder(question), (question.somewhere,)
        if finder.near(where) is None and self._no_more(question, question.guard):
            return None
        smallest = finder.smallest(where)
        return self._shown(question, smallest.assignment) if smallest else None

    def _shown(self, question: Question, assignment: Assignment) -> Waste | None:
        """The waste of a configuration; None if one of its lists was left empty."""
        try:
            found = self.shower.configuration(assignment)
        except DiagnosticError:
            return None
        return self._waste(question, SMALLEST, found)

    def _finder(self, question: Question) -> Finder:
        """Finds configurations where the formula is stated and gives more than is needed."""
        guard = conjunction(question.runner.guard, question.guard)
        wasteful = (guard, Comparison("<", question.capacity, question.formula))
        if wasteful not in self._finders:
            space = self._space(question, wasteful)
            self._finders[wasteful] = Finder(self.oracle.solver, space)
        return self._finders[wasteful]

    def _no_more(self, question: Question, where: Expr) -> bool:
        """Whether it is proved that the formula gives no more than the capacity."""
        guard = conjunction(question.runner.guard, where)
        formula, capacity = question.formula, question.capacity
        claim = (guard, formula, capacity)
        if claim not in self._proved:
            step = prove(formula, capacity, (guard,), self.oracle, known=guard)
            self._proved[claim] = step is not None
        return self._proved[claim]

    def _space(self, question: Question, conditions: tuple[Expr, ...]) -> Space:
        domain = self.engine.domain
        members = members_of(self.engine.resolved, domain, question.runner.worker, ())
        return Space(domain, (), conditions, members)

    def _waste(self, question: Question, origin: str, found: Configuration) -> Waste | None:
        values = found.values
        stated = evaluate_integer(question.formula, values)
        needed = evaluate_integer(question.capacity, values)
        if stated <= needed:
            return None
        assignment = Assignment(self.engine.domain, (), values)
        numbers = (question.formula, question.capacity)
        return Waste(
            origin,
            self.shower.part(found.parameters, assignment, numbers),
            found.parameters,
            stated,
            needed,
            _bytes(question, values, stated),
        )


def samples_of(engine: Engine) -> Iterator[Sample]:
    """The defaults, and each legal configuration that differs from them in one switch."""
    shower = Shower(engine.resolved, engine.domain)
    for origin, given in _given(engine.resolved):
        try:
            values = complete(engine.resolved, given, domain=engine.domain)
        except DiagnosticError:
            continue  # the switch alone makes no legal configuration
        yield Sample(origin, Configuration(shower.parameters(values), values))


def _given(resolved: ResolvedSpec) -> Iterator[tuple[str, Mapping[str, Plain]]]:
    yield DEFAULTS, {}
    workers = [worker.name for worker in resolved.spec.workers]
    for parameter in resolved.spec.parameters:
        own = [worker_name(parameter.name, worker) for worker in workers]
        for name in own if parameter.per_worker else [parameter.name]:
            for value in _choices(parameter):
                shown = str(value).lower()
                yield f"{DEFAULTS} with {name} = {shown}", {name: value}


def _choices(parameter: Parameter) -> tuple[Plain, ...]:
    if parameter.type == "bool":
        return (True, False)
    return parameter.choices if parameter.type == "enum" else ()


def _bytes(
    question: Question, values: Mapping[str, int | bool | list[int]], stated: int
) -> Mapping[DeviceRole, int]:
    """What is wasted where the slots that follow the axis, or the slot, are as long as `stated`."""
    found: dict[DeviceRole, int] = {}
    for slot in question.planned.slots:
        if evaluate_boolean(slot.guard, values):
            size = _elements(slot, question, values, stated) * BYTES_OF_DTYPE[_dtype(slot)]
            if size:
                found[slot.device] = found.get(slot.device, 0) + size
    return found


def _elements(
    slot: PlannedSlot,
    question: Question,
    values: Mapping[str, int | bool | list[int]],
    stated: int,
) -> int:
    target = question.stated.target
    if slot.name == target:
        return stated - evaluate_integer(question.capacity, values)
    needed = [evaluate_integer(each.capacity, values) for each in slot.dimensions]
    sized = (
        evaluate_integer(each.of(Integer(stated)), values) if each.along == target else size
        for size, each in zip(needed, slot.dimensions, strict=True)
    )
    return prod(sized) - prod(needed)


def _dtype(slot: PlannedSlot) -> str:
    return slot.dtype if slot.device == "compute" else slot.cpu_dtype
