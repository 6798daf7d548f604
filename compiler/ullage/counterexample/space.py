"""Legal configurations with legal batches, evaluated exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ullage.bound.domain import worker_name
from ullage.bound.problem import Definition, Domain, Live, Variable
from ullage.counterexample.realised import is_derived, realised
from ullage.expr.environment import EvaluationError
from ullage.expr.evaluate import evaluate, evaluate_boolean, evaluate_integer
from ullage.expr.tree import Conditional, Expr, Name, children, free_names
from ullage.spec.check import ResolvedSpec

Value = int | bool | list[int]
Raw = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Space:
    """All assignments of the domain and of live variables that satisfy `conditions`.

    `members`: parameters and live variables that are elements of a list parameter, by its name.
    `uncounted`: live variables that do not make an assignment larger.
    """

    domain: Domain
    live: tuple[Live, ...]
    conditions: tuple[Expr, ...]
    members: Mapping[str, str]
    uncounted: frozenset[str] = frozenset()

    @property
    def counted(self) -> tuple[Live, ...]:
        """The live variables that count for the size of an assignment."""
        kept = (each for each in self.live if each.name not in self.uncounted)
        return tuple(each for each in kept if not is_derived(each))

    def holds(self, assignment: Assignment) -> bool:
        """Whether the assignment is legal and satisfies every condition."""
        try:
            return (
                all(_in_range(each, assignment) for each in self.domain.variables)
                and all(evaluate_boolean(c.that, assignment) for c in self.domain.constraints)
                and all(self._is_live(each, assignment) for each in self.live)
                and all(self._is_member(*each, assignment) for each in self.members.items())
                and all(evaluate_boolean(each, assignment) for each in self.conditions)
                and realised(self.live, assignment)
            )
        except EvaluationError:
            return False

    def has_all_elements(self, assignment: Assignment) -> bool:
        """Whether the lists that there are have elements, as in each legal configuration.

        `holds` looks at those only that something mentions: the switches of others may still be on
        in what z3 finds first.
        """
        return all(_has_elements(each, assignment) for each in self.domain.definitions)

    def _is_live(self, each: Live, assignment: Assignment) -> bool:
        if not evaluate_boolean(each.guard, assignment):
            return True
        value = evaluate_integer(Name(each.name), assignment)
        low, high = (evaluate_integer(end, assignment) for end in (each.low, each.high))
        return low <= value <= high

    def _is_member(self, name: str, elements: str, assignment: Assignment) -> bool:
        values = assignment.get(elements)
        return name not in assignment or not isinstance(values, list) or assignment[name] in values

    def size(self, assignment: Assignment) -> int:
        """The sum of integer parameters and live values above their least values."""
        total = 0
        for variable in self.domain.variables:
            if variable.type == "int" and variable.low is not None:
                total += excess(Name(variable.name), variable.low, variable.guard, assignment)
        for live in self.counted:
            total += excess(Name(live.name), live.low, live.guard, assignment)
        return total


class Assignment(Mapping[str, Value]):
    """Values of parameters and live variables, with the definitions that follow from them.

    What a guard excludes is absent, although `raw` may hold something for it.
    """

    def __init__(self, domain: Domain, live: tuple[Live, ...], raw: Raw) -> None:
        self.raw = raw
        self._of = (domain, live)
        self._variables: dict[str, Variable] = {each.name: each for each in domain.variables}
        self._definitions: dict[str, Definition] = {e.name: e for e in domain.definitions}
        self._live: dict[str, Live] = {each.name: each for each in live}
        self._known: dict[str, Value | None] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._known:
            self._known[name] = self._found(name)
        value = self._known[name]
        if value is None:
            raise KeyError(name)
        return value

    def with_raw(self, name: str, value: Value) -> Assignment:
        """The same with another value of one name, and all that follows from it."""
        return Assignment(*self._of, {**self.raw, name: value})

    def __iter__(self) -> Iterator[str]:
        names = (*self._variables, *self._definitions, *self._live)
        return (name for name in names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _found(self, name: str) -> Value | None:
        given = self._variables.get(name) or self._live.get(name)
        if given is not None:
            return self.raw.get(name) if self._guarded(given.guard) else None
        definition = self._definitions.get(name)
        if definition is None or not self._guarded(definition.guard):
            return None
        try:
            return evaluate(definition.value, self._named_in(definition.value))
        except EvaluationError:
            return None

    def _guarded(self, guard: Expr) -> bool:
        try:
            return evaluate_boolean(guard, self._named_in(guard))
        except EvaluationError:
            return False

    def _named_in(self, node: Expr) -> dict[str, Value]:
        """The values of what an expression names: a look at all others may come back here."""
        return {name: self[name] for name in free_names(node) if name in self}


def members_of(
    resolved: ResolvedSpec, domain: Domain, worker: str, live: tuple[Live, ...]
) -> Mapping[str, str]:
    """What varies, as configured and as batches bring it, with the lists that it varies over."""
    found: dict[str, str] = {}
    for parameter in resolved.spec.parameters:
        if parameter.varies is not None:
            own = parameter.varies in resolved.worker_dependent
            elements = worker_name(parameter.varies, worker) if own else parameter.varies
            serving = f"{parameter.name}@serving"
            names = {parameter.name, worker_name(parameter.name, worker)}
            configured = (each.name for each in domain.variables if each.name in names)
            brought = (each.name for each in live if each.name.startswith(serving))
            found.update(dict.fromkeys((*configured, *brought), elements))
    return found


def touched(node: Expr, assignment: Assignment, domain: Domain) -> frozenset[str]:
    """The names whose values enter an integer expression here: choices that are made do not."""
    definitions = {each.name: each.value for each in domain.definitions}
    match node:
        case Name(name=name) if name in definitions:
            return touched(definitions[name], assignment, domain)
        case Name(name=name):
            return frozenset((name,))
        case Conditional(condition, then, otherwise):
            taken = then if evaluate_boolean(condition, assignment) else otherwise
            return touched(taken, assignment, domain)
        case _:
            parts = list(children(node))
            return frozenset().union(*(touched(part, assignment, domain) for part in parts))


def _has_elements(definition: Definition, assignment: Assignment) -> bool:
    """Whether a list that there is has elements, as each has in a legal configuration."""
    if definition.kind != "list" or not evaluate_boolean(definition.guard, assignment):
        return True
    return evaluate(Name(definition.name), assignment) != []


def breaks(assignment: Assignment, condition: Expr) -> bool:
    """Whether a condition does not hold of an assignment, or has no value."""
    try:
        return not evaluate_boolean(condition, assignment)
    except EvaluationError:
        return True


def _in_range(variable: Variable, assignment: Assignment) -> bool:
    if not evaluate_boolean(variable.guard, assignment):
        return True
    value = assignment.get(variable.name)
    if value is None or variable.low is None or variable.high is None:
        return value is not None
    low, high = (evaluate_integer(end, assignment) for end in (variable.low, variable.high))
    elements = value if isinstance(value, list) else [value]
    return bool(elements) and all(low <= each <= high for each in elements)


def excess(name: Name, low: Expr, guard: Expr, assignment: Assignment) -> int:
    """How far a value is above its least one; nothing if it does not exist."""
    if not evaluate_boolean(guard, assignment):
        return 0
    return evaluate_integer(name, assignment) - evaluate_integer(low, assignment)
