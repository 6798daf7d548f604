"""Random legal configurations, found by drawing again what breaks a constraint.

Each draw starts from the last one, and a change of one parameter computes only what rests on it and
is asked for.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ullage.bound.problem import Domain, Variable
from ullage.expr.evaluate import (
    Environment,
    EvaluationError,
    Result,
    Value,
    evaluate,
    evaluator,
)
from ullage.expr.tree import (
    Call,
    Comparison,
    Comprehension,
    Expr,
    Logical,
    Name,
    disjunction,
    free_names,
    negation,
    walk,
)
from ullage.spec.order import dependency_order

Sample = Environment

ELEMENTS = 4
REPAIRS = 100
TRIALS = 3
RENEWED = 0.3
SOLVED = 0.5
"""How many trials make an equality of the broken condition true, where it has one."""
NEAR = 0.5
"""How many of the others draw a parameter that the condition names itself."""
# Sizes that divide each other are powers of two, and small ones; others are as likely as these.
LARGEST_POWER = 7
REACHES = (1, 4, 12, 100, 5_000, 2**31)


@dataclass(frozen=True, slots=True)
class _Dependents:
    """What is drawn again, in this order, with one parameter, and what has another value then."""

    parameters: tuple[Variable, ...]
    definitions: frozenset[str]
    names: frozenset[str]


class _Values(dict[str, Value]):
    """Values by name; that of a definition is found when it is first looked up."""

    definitions: Mapping[str, _Defined]

    def __missing__(self, name: str) -> Value:
        if name not in self.definitions:
            raise KeyError(name)
        self[name] = value = self.definitions[name].value(self)
        return value


class _Defined:
    """An expression over definitions that may not have been looked up yet."""

    def __init__(self, node: Expr, definitions: Collection[str]) -> None:
        self._evaluate = evaluator(node)
        lists = [each for each in walk(node) if isinstance(each, Comprehension)]
        names = frozenset[str]().union(*map(free_names, lists))
        # Elements are computed on copies of the values, which have what is there already.
        self._first = tuple(sorted(names.intersection(definitions)))

    def value(self, values: _Values, default: Result = 1) -> Result:
        """Its value, or the default where it has none: its guard is false, so nobody looks."""
        for name in self._first:
            values[name]
        try:
            return self._evaluate(Sample(values))
        except EvaluationError:
            return default


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A configuration, and which of the conditions it breaks."""

    values: _Values
    broken: frozenset[Expr]


class ConfigurationDrawer:
    """Draws configurations of one domain."""

    def __init__(self, domain: Domain, source: random.Random) -> None:
        self.domain = domain
        self.source = source
        names = {each.name for each in domain.definitions}
        self._definitions = {each.name: _Defined(each.value, names) for each in domain.definitions}
        self._rests_on: dict[str, frozenset[str]] = {}
        for definition in domain.definitions:
            self._rests_on[definition.name] = self._under(definition.value)
        self._ranges = {each.name: self._under_range(each) for each in domain.variables}
        self._variables = self._in_order()
        self._ranging = _users((each.name, self._ranges[each.name]) for each in self._variables)
        self._resting = _users(self._rests_on.items())
        self._dependents = {each.name: self._depending(each) for each in domain.variables}
        self._constraints = {each: self._parameters(each) for each in _legal(domain)}
        self._others: dict[Expr, _Defined] = {}
        self._equated: dict[Expr, tuple[tuple[str, Expr], ...]] = {}
        self._last = self._drawn({}, self._variables)

    def draw(self, guard: Expr) -> Sample | None:
        """A random legal configuration with `guard`; None if repairing does not find one."""
        conditions = {each: self._parameters(each) for each in _conjuncts(guard)}
        conditions |= self._constraints
        values = self._last
        for variable in self.domain.variables:
            if self.source.random() < RENEWED:
                values = self._redrawn(values, variable.name)
        attempt = _Attempt(values, self._broken(conditions, values))
        for _ in range(REPAIRS):
            if not all(conditions[each] for each in attempt.broken):
                return None  # no parameter has a say in it
            if not attempt.broken:
                break
            attempt = self._repaired(attempt, conditions)
        self._last = attempt.values
        return None if attempt.broken else self._complete(attempt.values)

    def _repaired(self, attempt: _Attempt, conditions: Mapping[Expr, frozenset[str]]) -> _Attempt:
        """One parameter drawn again: the first of some trials that breaks less, or the best."""
        chosen = self.source.choice([each for each in conditions if each in attempt.broken])
        names = [v.name for v in self.domain.variables if v.name in conditions[chosen]]
        direct = [name for name in names if name in free_names(chosen)]
        equated = self._equated_in(chosen)
        best: _Attempt | None = None
        for _ in range(TRIALS):
            if equated and self.source.random() < SOLVED:
                name, other = self.source.choice(equated)
            else:
                nearest = direct if direct and self.source.random() < NEAR else names
                name, other = self.source.choice(nearest), None
            values = self._redrawn(attempt.values, name, other)
            changed = self._dependents[name].names
            touched = [each for each, under in conditions.items() if under & changed]
            broken = (attempt.broken - set(touched)) | self._broken(touched, values)
            if best is None or len(broken) < len(best.broken):
                best = _Attempt(values, broken)
            if len(broken) < len(attempt.broken):
                break
        return best or attempt

    def _broken(self, conditions: Iterable[Expr], values: _Values) -> frozenset[Expr]:
        holds = ((each, self._evaluated(each).value(values, False)) for each in conditions)
        return frozenset(each for each, result in holds if not result)

    def _evaluated(self, node: Expr) -> _Defined:
        if node not in self._others:
            self._others[node] = _Defined(node, self._definitions)
        return self._others[node]

    def _equated_in(self, condition: Expr) -> tuple[tuple[str, Expr], ...]:
        """Parameters that the condition equates with something that does not rest on them."""
        if condition not in self._equated:
            compared = [each for each in walk(condition) if isinstance(each, Comparison)]
            found = [each for each in compared if each.operator == "=="]
            sides = [(each.left, each.right) for each in found]
            sides += [(right, left) for left, right in sides]
            self._equated[condition] = tuple(
                (side.name, other)
                for side, other in sides
                if isinstance(side, Name)
                and side.name in self._dependents
                and self._under(other).isdisjoint(self._dependents[side.name].names)
            )
        return self._equated[condition]

    def _redrawn(self, values: _Values, name: str, other: Expr | None = None) -> _Values:
        """One parameter and all that rests on it drawn again; it is as `other` if it may be."""
        again = self._dependents[name]
        first, *rest = again.parameters
        value = None if other is None else self._as(first, other, values)
        given = dict(values)
        for stale in again.definitions & given.keys():
            del given[stale]
        if value is None:
            return self._drawn(given, again.parameters)
        return self._drawn({**given, name: value}, rest)

    def _as(self, parameter: Variable, other: Expr, values: _Values) -> int | None:
        """The value of `other` if the parameter may have it."""
        value = self._evaluated(other).value(values, False)
        sample = Sample(values)
        if isinstance(value, bool | list) or value < _end(parameter.low, sample, value):
            return None
        return value if value <= _end(parameter.high, sample, value) else None

    def _drawn(self, given: Mapping[str, Value], parameters: Iterable[Variable]) -> _Values:
        values = _Values(given)
        values.definitions = self._definitions
        drawn = Sample(values)  # sees each value as soon as it is there
        for parameter in parameters:
            values[parameter.name] = draw_value(parameter, drawn, self.source)
        return values

    def _complete(self, values: _Values) -> Sample:
        """All values, those of definitions that nobody looked up too."""
        return Sample({**values, **{name: values[name] for name in self._definitions}})

    def _under(self, node: Expr) -> frozenset[str]:
        """The parameters and definitions under an expression."""
        names = free_names(node)
        return names.union(*(self._rests_on.get(name, frozenset()) for name in names))

    def _parameters(self, condition: Expr) -> frozenset[str]:
        return self._under(condition) & self._dependents.keys()

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

    def _depending(self, first: Variable) -> _Dependents:
        names, pending = {first.name}, [first.name]
        while pending:
            new = self._ranging.get(pending.pop(), set()) - names
            names |= new
            pending.extend(new)
        behind = names - {first.name}
        parameters = [each for each in self._variables if each.name in behind] if behind else []
        stale = frozenset[str]().union(*(self._resting.get(name, ()) for name in names))
        return _Dependents((first, *parameters), stale, frozenset(names))


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
