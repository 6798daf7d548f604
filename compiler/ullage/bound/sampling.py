"""Random legal configurations, found by drawing again what breaks a constraint.

Each draw starts from the last legal one, and a change of one parameter computes only what rests on
it and is asked for.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ullage.bound.problem import Domain, Variable
from ullage.bound.random_values import draw_value, end_of
from ullage.expr.environment import Environment, EvaluationError, Result, Value
from ullage.expr.evaluate import evaluator
from ullage.expr.tree import (
    Binary,
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

REPAIRS = 100
OWN = 4
"""How many other conditions one of the guard itself outweighs, lest repairs give the guard up."""
TRIALS = 3
RENEWED = 0.3
SOLVED = 0.5
"""How many trials make an equality of the broken condition true, where it has one."""
NEAR = 0.5
"""How many of the others draw a parameter that the condition names itself."""


@dataclass(frozen=True, slots=True)
class _Dependents:
    """What is drawn again, in this order, with one parameter, and what has another value then.

    `names` are those of the parameters, and `changed` those of the definitions too.
    """

    parameters: tuple[Variable, ...]
    definitions: frozenset[str]
    names: frozenset[str]
    changed: frozenset[str]


class _Values(dict[str, Value]):
    """Values by name; that of a definition is found when it is first looked up."""

    def __init__(self, given: Mapping[str, Value], definitions: Mapping[str, _Defined]) -> None:
        super().__init__(given)
        self.definitions = definitions
        self.seen = Sample(self)  # sees each value as soon as it is there

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
            return self._evaluate(values.seen)
        except EvaluationError:
            return default


@dataclass(frozen=True, slots=True, eq=False)
class _Condition:
    """What a configuration has to satisfy, the same one each time it is asked for.

    `under`: the parameters that have a say in it; `names` has them in order, and `direct` those
    that it names itself. `equated`: see `ConfigurationDrawer._equated`.
    """

    truth: _Defined
    under: frozenset[str]
    names: tuple[str, ...]
    direct: tuple[str, ...]
    equated: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class _Conditions:
    """Some conditions in order, and `touched`: those in which each parameter has a say.

    `own`: those of a guard, which others are repaired around.
    """

    every: tuple[_Condition, ...]
    touched: Mapping[str, frozenset[_Condition]]
    own: frozenset[_Condition] = frozenset()

    def weight(self, broken: frozenset[_Condition]) -> int:
        """How far some broken conditions are from none."""
        return len(broken) + OWN * len(broken & self.own)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Some parameters drawn again, which of the conditions are broken then, and what rests on them.

    `broken`: of all conditions.
    """

    drawn: Mapping[str, Value]
    definitions: frozenset[str]
    broken: frozenset[_Condition]


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
        self._others: dict[Expr, _Defined] = {}
        self._conditions: dict[Expr, _Condition] = {}
        self._guards: dict[Expr, _Conditions] = {}
        self._constraints = self._grouped(_legal(domain))
        self._last = _Values({}, self._definitions)
        self._draw(self._last, self._variables)

    def draw(self, guard: Expr) -> Sample | None:
        """A random legal configuration with `guard`; None if repairing does not find one."""
        conditions = self._conditions_of(guard)
        values = _Values(self._last, self._definitions)
        for variable in self.domain.variables:
            if self.source.random() < RENEWED:
                self._redraw(values, variable.name)
        broken = _broken(conditions.every, values)
        for _ in range(REPAIRS):
            if not all(each.under for each in broken):
                return None  # no parameter has a say in it
            if not broken:
                self._last = values
                return self._complete(values)
            broken = self._repaired(values, broken, conditions)
        return None

    def _grouped(self, nodes: Iterable[Expr]) -> _Conditions:
        every = tuple(self._condition(each) for each in dict.fromkeys(nodes))
        touched = {
            name: frozenset(each for each in every if each.under & changed.names)
            for name, changed in self._dependents.items()
        }
        return _Conditions(every, touched)

    def _conditions_of(self, guard: Expr) -> _Conditions:
        """The conditions of a guard, and behind them those of every configuration."""
        if guard not in self._guards:
            own, legal = self._grouped(_conjuncts(guard)), self._constraints
            every = tuple(dict.fromkeys((*own.every, *legal.every)))
            touched = {name: own.touched[name] | legal.touched[name] for name in own.touched}
            self._guards[guard] = _Conditions(every, touched, frozenset(own.every))
        return self._guards[guard]

    def _condition(self, node: Expr) -> _Condition:
        if node not in self._conditions:
            under = self._under(node) & self._dependents.keys()
            names = tuple(each.name for each in self.domain.variables if each.name in under)
            direct = tuple(name for name in names if name in free_names(node))
            equated = self._equated(node)
            truth = self._evaluated(node)
            self._conditions[node] = _Condition(truth, under, names, direct, equated)
        return self._conditions[node]

    def _repaired(
        self, values: _Values, broken: frozenset[_Condition], conditions: _Conditions
    ) -> frozenset[_Condition]:
        """What is broken once one parameter is drawn again.

        That is the first of some trials that breaks less, or the best.
        """
        chosen = self.source.choice([c for c in conditions.every if c in broken])
        best: _Trial | None = None
        for _ in range(TRIALS):
            name, other = self._to_redraw(chosen)
            again = self._dependents[name]
            before = {each: values[each] for each in again.changed if each in values}
            self._redraw(values, name, other)
            touched = conditions.touched[name]
            left = (broken - touched) | _broken(touched, values)
            if conditions.weight(left) < conditions.weight(broken):
                return left
            if best is None or conditions.weight(left) < conditions.weight(best.broken):
                drawn = {each.name: values[each.name] for each in again.parameters}
                best = _Trial(drawn, again.definitions, left)
            _change(values, again.definitions, before)
        if best is None:
            return broken
        _change(values, best.definitions, best.drawn)
        return best.broken

    def _to_redraw(self, broken: _Condition) -> tuple[str, Expr | None]:
        """A parameter that has a say in a broken condition, and what it may be equal to."""
        if broken.equated and self.source.random() < SOLVED:
            return self.source.choice(broken.equated)
        is_near = broken.direct and self.source.random() < NEAR
        return self.source.choice(broken.direct if is_near else broken.names), None

    def _evaluated(self, node: Expr) -> _Defined:
        if node not in self._others:
            self._others[node] = _Defined(node, self._definitions)
        return self._others[node]

    def _equated(self, condition: Expr) -> tuple[tuple[str, Expr], ...]:
        """Parameters that the condition equates with something that does not rest on them."""
        compared = [each for each in walk(condition) if isinstance(each, Comparison)]
        found = [each for each in compared if each.operator == "=="]
        sides = [(each.left, each.right) for each in found]
        sides += [(right, left) for left, right in sides]
        return tuple(
            (side.name, other)
            for side, other in (part for each in sides for part in _solved(*each))
            if isinstance(side, Name)
            and side.name in self._dependents
            and self._under(other).isdisjoint(self._dependents[side.name].names)
        )

    def _redraw(self, values: _Values, name: str, other: Expr | None = None) -> None:
        """One parameter and all that rests on it drawn again; it is as `other` if it may be."""
        again = self._dependents[name]
        first, *rest = again.parameters
        value = None if other is None else self._as(first, other, values)
        _change(values, again.definitions, {})
        if value is None:
            self._draw(values, again.parameters)
        else:
            values[name] = value
            self._draw(values, rest)

    def _as(self, parameter: Variable, other: Expr, values: _Values) -> int | None:
        """The value of `other` if the parameter may have it."""
        value = self._evaluated(other).value(values, False)
        if isinstance(value, bool | list) or value < end_of(parameter.low, values.seen, value):
            return None
        return value if value <= end_of(parameter.high, values.seen, value) else None

    def _draw(self, values: _Values, parameters: Iterable[Variable]) -> None:
        for parameter in parameters:
            values[parameter.name] = draw_value(parameter, values.seen, self.source)

    def _complete(self, values: _Values) -> Sample:
        """All values, those of definitions that nobody looked up too."""
        return Sample({**values, **{name: values[name] for name in self._definitions}})

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

    def _depending(self, first: Variable) -> _Dependents:
        names, pending = {first.name}, [first.name]
        while pending:
            new = self._ranging.get(pending.pop(), set()) - names
            names |= new
            pending.extend(new)
        behind = names - {first.name}
        parameters = [each for each in self._variables if each.name in behind] if behind else []
        stale = frozenset[str]().union(*(self._resting.get(name, ()) for name in names))
        return _Dependents((first, *parameters), stale, frozenset(names), stale | names)


def _change(values: _Values, stale: Iterable[str], known: Mapping[str, Value]) -> None:
    """Forget the definitions that are stale, and set what is known."""
    for name in stale:
        values.pop(name, None)
    values.update(known)


def _broken(conditions: Iterable[_Condition], values: _Values) -> frozenset[_Condition]:
    return frozenset({each for each in conditions if not each.truth.value(values, False)})


def _solved(side: Expr, other: Expr) -> Iterator[tuple[Expr, Expr]]:
    """What the parts of a sum or difference are equal to, where all of it is equal to `other`."""
    yield side, other
    match side:
        case Binary("+", left, right):
            yield from _solved(left, Binary("-", other, right))
            yield from _solved(right, Binary("-", other, left))
        case Binary("-", left, right):
            yield from _solved(left, Binary("+", other, right))
            yield from _solved(right, Binary("-", left, other))
        case _:
            pass


def _users(uses: Iterable[tuple[str, frozenset[str]]]) -> Mapping[str, set[str]]:
    """For each name those that use it."""
    found: dict[str, set[str]] = {}
    for user, used in uses:
        for name in used:
            found.setdefault(name, set()).add(user)
    return found


def _legal(domain: Domain) -> Iterator[Expr]:
    """What is so of every legal configuration: ranges have a value, and named lists an element."""
    yield from (each.that for each in (*domain.constraints, *domain.inhabited))
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
