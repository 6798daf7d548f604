"""From given values to a whole configuration: defaults, ranges, guards and constraints.

Parameters get their values in the order of their declaration, but a guard may look ahead (a
worker exists because of an algorithm that is declared later), so each value is found on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ullage.bound.domain import ForWorker, domain_of, for_worker, worker_name
from ullage.bound.problem import Constraint, Domain, Variable
from ullage.configuration.convert import WRONG_VALUE, Value, convert, shown
from ullage.configuration.given import ARGUMENTS, Given, Plain, given, parameter_name, spelled_like
from ullage.diagnostics.diagnostic import Collector, did_you_mean
from ullage.expr.environment import Environment, EvaluationError
from ullage.expr.evaluate import evaluate, evaluate_boolean
from ullage.expr.spell import spell
from ullage.expr.tree import Expr, free_names
from ullage.place import Place
from ullage.spec.check import ResolvedSpec
from ullage.spec.model import Parameter

BROKEN_CONSTRAINT = "U702"
UNKNOWN_PARAMETER = "U703"
MISSING_PARAMETER = "U704"


def complete(
    resolved: ResolvedSpec,
    values: Mapping[str, Plain | Given],
    *,
    domain: Domain | None = None,
    place: Place = ARGUMENTS,
    sources: Mapping[str, str] | None = None,
    at_defaults: bool = False,
) -> Mapping[str, Value]:
    """All parameters and definitions of a configuration, each worker's own under its own name.

    Names may be spelled as on the command line. An enum is its code; what a guard excludes is
    absent. `domain`: the legal configurations where those are fewer than the spec itself has, as
    after planning. `place` stands for the whole configuration, `sources` are the texts that the
    places are in. `at_defaults`: what is wrong with a default is wrong there. Raises
    DiagnosticError with everything that makes the configuration illegal.
    """
    collector = Collector(sources)
    instances = _instances(resolved)
    offers = _Offers(resolved, instances, collector)
    for key, value in values.items():
        offers.take(key, given(value, key=key))
    legal = domain_of(resolved) if domain is None else domain
    completion = _Completion(
        resolved, legal, instances, offers.found, place, collector, at_defaults
    )
    result = completion.run()
    collector.raise_if_errors()
    return result


@dataclass(frozen=True, slots=True)
class _Instance:
    """A parameter as one worker has it, or as all of them do."""

    parameter: Parameter
    worker: str | None
    rewrite: ForWorker


def _instances(resolved: ResolvedSpec) -> dict[str, _Instance]:
    """Every parameter by its name in a configuration, in declared order."""
    rewrites = {worker.name: for_worker(resolved, worker.name) for worker in resolved.spec.workers}
    first = next(iter(rewrites.values()))
    found: dict[str, _Instance] = {}
    for parameter in resolved.spec.parameters:
        if not parameter.per_worker:
            found[parameter.name] = _Instance(parameter, None, first)
            continue
        for worker, rewrite in rewrites.items():
            found[worker_name(parameter.name, worker)] = _Instance(parameter, worker, rewrite)
    return found


@dataclass(frozen=True, slots=True)
class _Offer:
    """A value for one instance; `shared` if it was given for whichever workers there are."""

    given: Given
    shared: bool


@dataclass
class _Offers:
    """Sorts given values by instance; one worker's own counts more than one for all workers."""

    resolved: ResolvedSpec
    instances: Mapping[str, _Instance]
    collector: Collector
    found: dict[str, _Offer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        spec = self.resolved.spec
        self.per_worker = {each.name for each in spec.parameters if each.per_worker}
        self.workers = [worker.name for worker in spec.workers]

    def take(self, key: str, value: Given) -> None:
        """A value under the name that somebody gave it; unknown names are errors."""
        name = parameter_name(key)
        if name in self.instances:
            self._own(name, value)
        elif name not in self.per_worker:
            names = (*self.instances, *self.per_worker)
            _report_unknown(self.resolved, names, value, key, self.collector)
        elif isinstance(value.value, Mapping):
            for worker, own in value.value.items():
                self._of_worker(name, worker, own)
        else:
            for worker in self.workers:
                self.found.setdefault(worker_name(name, worker), _Offer(value, shared=True))

    def _of_worker(self, name: str, worker: str, value: Given) -> None:
        if worker in self.workers:
            self._own(worker_name(name, worker), value)
            return
        message = f"there is no worker '{worker}', for which '{name}' is given"
        hint = did_you_mean(worker, self.workers) or f"workers: {', '.join(self.workers)}"
        self.collector.error(UNKNOWN_PARAMETER, message, value.key_place, hint=hint)

    def _own(self, name: str, value: Given) -> None:
        before = self.found.get(name)
        if before is not None and not before.shared:
            related = ((before.given.key_place, "first here"),)
            message = f"'{name}' is given twice"
            self.collector.error(WRONG_VALUE, message, value.key_place, related=related)
        self.found[name] = _Offer(value, shared=False)


def _report_unknown(
    resolved: ResolvedSpec, known: Iterable[str], value: Given, key: str, collector: Collector
) -> None:
    spelled = value.key or key
    name = parameter_name(key)
    if name in {each.name for each in resolved.spec.definitions}:
        message = f"'{name}' follows from other parameters, it cannot be given"
        collector.error(UNKNOWN_PARAMETER, message, value.key_place)
        return
    message = f"'{resolved.spec.engine}' has no parameter '{spelled}'"
    names = (spelled_like(spelled, each) for each in known)
    hint = did_you_mean(spelled, names) or f"all names: {_where_listed(resolved)}"
    collector.error(UNKNOWN_PARAMETER, message, value.key_place, hint=hint)


def _where_listed(resolved: ResolvedSpec) -> str:
    """The first line of the parameters, which follow one another."""
    places = [each.place for each in resolved.spec.parameters]
    return f"'parameters' in {min(places, default=resolved.spec.place).short}"


@dataclass
class _Completion:
    """Finds the value of every name once; a name without one is None.

    `broken` names have no value because of an error that was reported, so nothing is said about
    what rests on them.
    """

    resolved: ResolvedSpec
    domain: Domain
    instances: Mapping[str, _Instance]
    offers: Mapping[str, _Offer]
    place: Place
    collector: Collector
    at_defaults: bool = False
    known: dict[str, Value | None] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    pending: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.variables = {each.name: each for each in self.domain.variables}
        self.definitions = {each.name: each for each in self.domain.definitions}

    def run(self) -> dict[str, Value]:
        names = (*self.variables, *self.definitions)
        values = {name: self.value(name) for name in names}
        for name in self.variables:
            self._check_varying(name)
        for constraint in self.domain.constraints:
            self._check_constraint(constraint)
        return {name: value for name, value in values.items() if value is not None}

    def value(self, name: str) -> Value | None:
        """The value of a parameter or definition, None where it has none."""
        if name not in self.known:
            if name in self.pending:
                self._report_cycle(name)
                return None
            self.pending.append(name)
            found = self._found(name)
            self.pending.pop()
            self.known.setdefault(name, found)
        return self.known[name]

    def _found(self, name: str) -> Value | None:
        if name in self.variables:
            return self._parameter(self.variables[name])
        definition = self.definitions.get(name)
        if definition is None or not self._holds(definition.guard, name):
            return None
        value = self._evaluated(definition.value, name)
        if isinstance(value, list):
            value = sorted(set(value))
        if value == []:
            message = f"the list '{name}' has no element: {spell(definition.value)}"
            related = ((definition.place, f"'{name}' is defined here"),)
            place = self._place_of(free_names(definition.value))
            self.collector.error(BROKEN_CONSTRAINT, message, place, related=related)
            self.broken.add(name)
            return None
        return value

    def _parameter(self, variable: Variable) -> Value | None:
        name, offer = variable.name, self.offers.get(variable.name)
        instance = self.instances[name]
        if not self._holds(variable.guard, name):
            if offer is not None and not offer.shared and name not in self.broken:
                self._report_guarded(variable, offer.given)
            return None
        if offer is None:
            return self._default(variable, instance)
        value = convert(instance.parameter, name, offer.given, self.collector)
        if value is None or not self._in_range(variable, value, offer.given):
            self.broken.add(name)
            return None
        return value

    def _default(self, variable: Variable, instance: _Instance) -> Value | None:
        name, default = variable.name, instance.parameter.default
        if default is None:
            message = f"'{name}' has no default and was not given"
            related = ((variable.place, f"'{name}' is declared here"),)
            self.collector.error(MISSING_PARAMETER, message, self.place, related=related)
            self.broken.add(name)
            return None
        value = self._evaluated(instance.rewrite(default), name)
        if value is None or not self._in_range(variable, value, None):
            self.broken.add(name)
            return None
        return value

    def _environment(self, expression: Expr) -> Environment:
        values: dict[str, int | bool | list[int]] = {}
        for name in sorted(free_names(expression)):
            value = self.value(name)
            if value is not None:
                values[name] = value
        return Environment(values, upper=self._uppers(values))

    def _uppers(self, names: Iterable[str]) -> dict[str, int]:
        """The largest value of each varying parameter among the names."""
        found: dict[str, int] = {}
        for name in names:
            elements = self._elements(name)
            if elements:
                found[name] = max(elements)
        return found

    def _elements(self, name: str) -> list[int] | None:
        """The list that a parameter varies over; None if it does not vary."""
        instance = self.instances.get(name)
        if instance is None or instance.parameter.varies is None:
            return None
        source = instance.parameter.varies
        if source not in self.instances and instance.worker is not None:
            source = worker_name(source, instance.worker)
        value = self.value(source)
        return value if isinstance(value, list) else None

    def _evaluated(self, expression: Expr, name: str) -> Value | None:
        """The value of an expression that `name` rests on; None without one."""
        try:
            return evaluate(expression, self._environment(expression))
        except EvaluationError as error:
            self._blame(expression, name, error)
            return None

    def _holds(self, guard: Expr, name: str) -> bool:
        try:
            return evaluate_boolean(guard, self._environment(guard))
        except EvaluationError as error:
            self._blame(guard, name, error)
            return False

    def _blame(self, expression: Expr, name: str, error: EvaluationError) -> None:
        """A name without value is as broken as what it rests on; without any, that is an error."""
        if not free_names(expression) & self.broken:
            message = f"'{name}' has no value: {error}"
            self.collector.error(BROKEN_CONSTRAINT, message, expression.place)
        self.broken.add(name)

    def _in_range(self, variable: Variable, value: Value, given_value: Given | None) -> bool:
        """Whether an integer, or each element of a list, is in range; records an error if not."""
        low, high = (self._end(end, variable.name) for end in (variable.low, variable.high))
        if variable.type not in ("int", "list") or low is None or high is None:
            return True
        elements = value if isinstance(value, list) else [value]
        outside = next((each for each in elements if not low <= each <= high), None)
        if outside is None:
            return True
        what = (
            f"an element of '{variable.name}'" if variable.type == "list" else f"'{variable.name}'"
        )
        origin = what if given_value is not None else f"the default of {what}"
        message = f"{origin} is {outside}, expected {low} to {high}"
        place = self._place_of((variable.name,)) if given_value is None else given_value.place
        related = ((variable.place, "declared here"),)
        self.collector.error(WRONG_VALUE, message, place, related=related)
        return False

    def _end(self, end: Expr | None, name: str) -> int | None:
        value = None if end is None else self._evaluated(end, name)
        return value if isinstance(value, int) else None

    def _check_varying(self, name: str) -> None:
        """A varying parameter is one of the elements that it varies over."""
        value, elements = self.value(name), self._elements(name)
        if value is None or elements is None or value in elements:
            return
        message = f"'{name}' is {value}, expected one of {', '.join(map(str, elements))}"
        self.collector.error(WRONG_VALUE, message, self._place_of((name,)))

    def _check_constraint(self, constraint: Constraint) -> None:
        names = free_names(constraint.that)
        try:
            if evaluate_boolean(constraint.that, self._environment(constraint.that)):
                return
            detail = ", ".join(self._shown(name) for name in self._in_order(names))
        except EvaluationError as error:
            if self._rests_on_broken(names):
                return
            detail = str(error)
        message = f"{constraint.reason}: {detail}" if detail else constraint.reason
        related = ((constraint.place, "the constraint"),)
        self.collector.error(BROKEN_CONSTRAINT, message, self._place_of(names), related=related)

    def _in_order(self, names: frozenset[str]) -> list[str]:
        """The names that have values, parameters first, as they are declared."""
        return [
            name
            for name in (*self.variables, *self.definitions)
            if name in names and self.value(name) is not None
        ]

    def _shown(self, name: str) -> str:
        value = self.value(name)
        instance = self.instances.get(name)
        if instance is not None and value is not None:
            return f"{name} = {shown(instance.parameter, value)}"
        return f"{name} = {str(value).lower() if isinstance(value, bool) else value}"

    def _rests_on(self, names: Iterable[str]) -> set[str]:
        """The names, and those that they follow from."""
        found = set(names)
        for definition in reversed(self.domain.definitions):
            if definition.name in found:
                found |= free_names(definition.value) | free_names(definition.guard)
        return found

    def _rests_on_broken(self, names: Iterable[str]) -> bool:
        return bool(self._rests_on(names) & self.broken)

    def _place_of(self, names: Iterable[str]) -> Place:
        """Where the last value stands, given or a default, of what the names rest on."""
        found = self._rests_on(names)
        places = [offer.given.place for name, offer in self.offers.items() if name in found]
        if self.at_defaults:
            used = (
                each.parameter.default for name, each in self.instances.items() if name in found
            )
            places += [default.place for default in used if default is not None]
        return max(places, default=self.place)

    def _report_guarded(self, variable: Variable, value: Given) -> None:
        parameter = self.instances[variable.name].parameter
        message = (
            f"'{variable.name}' is given, but it has a value only where {spell(variable.guard)}"
        )
        related = ((parameter.place, "declared here"),)
        hint = "leave it out"
        self.collector.error(WRONG_VALUE, message, value.place, hint=hint, related=related)

    def _report_cycle(self, name: str) -> None:
        path = " -> ".join((*self.pending[self.pending.index(name) :], name))
        message = f"the default of '{name}' leads back to itself: {path}"
        self.collector.error(MISSING_PARAMETER, message, self.place, hint=f"give '{name}' a value")
        self.broken.add(name)
        self.known[name] = None
