"""Random legal configurations, found by drawing again what breaks a constraint.

Each draw starts from the last one, and a change of one parameter computes only what rests on it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ullage.bound.problem import Definition, Domain, Variable
from ullage.expr.evaluate import Environment, EvaluationError, Result, evaluate, holding
from ullage.expr.tree import (
    Call,
    Comparison,
    Expr,
    Logical,
    Name,
    disjunction,
    free_names,
    negation,
)
from ullage.spec.order import dependency_order

Value = int | bool | list[int]
Sample = Environment

ELEMENTS = 4
REPAIRS = 100
TRIALS = 3
RENEWED = 0.3
# Sizes that divide each other are powers of two, and small ones; others are as likely as these.
LARGEST_POWER = 7
REACHES = (1, 4, 12, 100, 5_000, 2**31)


@dataclass(frozen=True, slots=True)
class _Dependents:
    """What is drawn and computed again, in this order, when one parameter is drawn again."""

    parameters: tuple[Variable, ...]
    definitions: tuple[Definition, ...]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A configuration, and which of the conditions it breaks."""

    sample: Sample
    broken: frozenset[Expr]


class ConfigurationDrawer:
    """Draws configurations of one domain."""

    def __init__(self, domain: Domain, source: random.Random) -> None:
        self.domain = domain
        self.source = source
        self._rests_on: dict[str, frozenset[str]] = {}
        for definition in domain.definitions:
            self._rests_on[definition.name] = self._under(definition.value)
        self._ranges = {each.name: self._under_range(each) for each in domain.variables}
        self._variables = self._in_order()
        self._ranging = _users((each.name, self._ranges[each.name]) for each in self._variables)
        self._resting = _users(
            (each.name, self._rests_on[each.name]) for each in domain.definitions
        )
        self._behind = {each.name: self._defining(each) for each in domain.variables}
        self._dependents = {each.name: self._depending(each) for each in domain.variables}
        drawn = self._dependents.keys()
        self._constraints = {each: self._under(each) & drawn for each in _legal(domain)}
        self._last: Sample = self._drawn(Sample({}), self._variables, domain.definitions)

    def draw(self, guard: Expr) -> Sample | None:
        """A random legal configuration with `guard`; None if repairing does not find one."""
        drawn = self._dependents.keys()
        conditions = {each: self._under(each) & drawn for each in _conjuncts(guard)}
        conditions |= self._constraints
        sample = self._last
        for variable in self.domain.variables:
            if self.source.random() < RENEWED:
                sample = self._redrawn(sample, variable.name)
        attempt = _Attempt(sample, frozenset(_broken(conditions, sample)))
        for _ in range(REPAIRS):
            if not all(conditions[each] for each in attempt.broken):
                return None  # no parameter has a say in it
            if not attempt.broken:
                break
            attempt = self._repaired(attempt, conditions)
        self._last = attempt.sample
        return None if attempt.broken else attempt.sample

    def _repaired(self, attempt: _Attempt, conditions: Mapping[Expr, frozenset[str]]) -> _Attempt:
        """One parameter drawn again: of some trials the one that breaks the least."""
        chosen = self.source.choice([each for each in conditions if each in attempt.broken])
        names = [v.name for v in self.domain.variables if v.name in conditions[chosen]]
        trials: list[_Attempt] = []
        for _ in range(TRIALS):
            name = self.source.choice(names)
            changed = self._dependents[name].names
            sample = self._redrawn(attempt.sample, name)
            touched = [each for each, under in conditions.items() if under & changed]
            broken = (attempt.broken - set(touched)) | set(_broken(touched, sample))
            trials.append(replace(attempt, sample=sample, broken=broken))
        return min(trials, key=lambda trial: len(trial.broken))

    def _redrawn(self, sample: Sample, name: str) -> Sample:
        again = self._dependents[name]
        return self._drawn(sample, again.parameters, again.definitions)

    def _drawn(
        self,
        sample: Sample,
        variables: Iterable[Variable],
        definitions: Iterable[Definition],
    ) -> Sample:
        values = dict(sample.values)
        drawn = Sample(values)  # sees each value as soon as it is there
        for variable in variables:
            for definition in self._behind[variable.name]:
                values[definition.name] = _defined(definition.value, drawn)
            values[variable.name] = draw_value(variable, drawn, self.source)
        for definition in definitions:
            values[definition.name] = _defined(definition.value, drawn)
        return drawn

    def _under(self, node: Expr) -> frozenset[str]:
        """The parameters and definitions under an expression."""
        names = free_names(node)
        return names.union(*(self._rests_on.get(name, frozenset()) for name in names))

    def _under_range(self, variable: Variable) -> frozenset[str]:
        ends = [end for end in (variable.low, variable.high) if end is not None]
        return frozenset[str]().union(*map(self._under, ends))

    def _in_order(self) -> tuple[Variable, ...]:
        """The parameters, each behind those that its range rests on."""
        variables = {each.name: each for each in self.domain.variables}
        positions = {name: position for position, name in enumerate(variables)}
        uses = {
            name: sorted(self._ranges[name] & positions.keys() - {name}, key=positions.__getitem__)
            for name in variables
        }
        ordered, _ = dependency_order(uses)
        return tuple(variables[name] for name in ordered)

    def _defining(self, variable: Variable) -> tuple[Definition, ...]:
        """The definitions that the range of a parameter rests on."""
        under = self._ranges[variable.name]
        if under.isdisjoint(self._rests_on):
            return ()
        return tuple(each for each in self.domain.definitions if each.name in under)

    def _depending(self, first: Variable) -> _Dependents:
        names, pending = {first.name}, [first.name]
        while pending:
            new = self._ranging.get(pending.pop(), set()) - names
            names |= new
            pending.extend(new)
        behind = names - {first.name}
        parameters = [each for each in self._variables if each.name in behind] if behind else []
        resting = set[str]().union(*(self._resting.get(name, ()) for name in names))
        definitions = [d for d in self.domain.definitions if d.name in resting] if resting else []
        return _Dependents((first, *parameters), tuple(definitions), frozenset(names))


def _users(uses: Iterable[tuple[str, frozenset[str]]]) -> Mapping[str, set[str]]:
    """For each name those that use it."""
    found: dict[str, set[str]] = {}
    for user, used in uses:
        for name in used:
            found.setdefault(name, set()).add(user)
    return found


def _legal(domain: Domain) -> Iterator[Expr]:
    """What is so of every legal configuration; a list that has a name has an element."""
    yield from (constraint.that for constraint in domain.constraints)
    for each in domain.definitions:
        if each.kind == "list":
            largest = Call("max", (Name(each.name),))
            has_one = Comparison("<=", largest, largest)  # without a value where it is empty
            yield disjunction(negation(each.guard), has_one)


def _conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a condition, so that a repair is seen to get nearer."""
    if isinstance(condition, Logical) and condition.junction == "and":
        return condition.operands
    return (condition,)


def _broken(conditions: Iterable[Expr], sample: Sample) -> list[Expr]:
    return [each for each in conditions if not holding(each, False)(sample)]


def _defined(value: Expr, sample: Sample) -> Result:
    try:
        return evaluate(value, sample)
    except EvaluationError:
        return 1  # its guard is false here, so nobody looks


def draw_value(variable: Variable, sample: Sample, source: random.Random) -> Value:
    """A random value of a parameter's range, given those before it; near its lower end mostly."""
    if variable.type == "bool":
        return source.random() < 0.5
    low = _end(variable.low, sample, 0)
    high = _end(variable.high, sample, low + 64)
    if high < low:
        return low  # no value is legal; the guard must be false here
    if variable.type == "list":
        return _drawn_list(low, high, source)
    if source.random() < 0.5:
        return max(low, min(high, 1 << source.randint(0, LARGEST_POWER)))
    return source.randint(low, min(high, low + source.choice(REACHES)))


def _drawn_list(low: int, high: int, source: random.Random) -> list[int]:
    """Some elements, in two of three cases multiples of one power of two."""
    step = 1 << source.randint(0, LARGEST_POWER) if source.random() < 0.67 else 1
    reach = step * source.choice((4, 16, 64))
    drawn = (low + source.randint(0, reach) for _ in range(ELEMENTS))
    return sorted({max(low, min(high, each // step * step)) for each in drawn})


def _end(end: Expr | None, sample: Sample, default: int) -> int:
    if end is None:
        return default
    try:
        value = evaluate(end, sample)
    except EvaluationError:
        return default  # no value of this configuration is legal, or its guard is false here
    return value if isinstance(value, int) else default
