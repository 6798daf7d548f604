"""Parameters and definitions: their kinds, their order, and which of them differ by worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ullage.expr.environment import Environment, EvaluationError
from ullage.expr.evaluate import evaluate
from ullage.expr.kinds import BOOLEAN, EnumKind, IntKind, Kind, ListKind
from ullage.expr.tree import Expr, ListOf, free_names
from ullage.expr.units import NO_UNIT
from ullage.spec import problems
from ullage.spec.check_names import WORKER
from ullage.spec.model import Definition, Parameter, Range, Spec
from ullage.spec.order import dependency_order, reached
from ullage.spec.scope import Expressions, Scope, free, kind_name, unit_name
from ullage.spec.sizes import check_sizes

SEES_PARAMETERS = "parameters, definitions and 'worker'"


@dataclass(frozen=True, slots=True)
class Globals:
    """What every expression of a spec sees."""

    parameters: tuple[Parameter, ...]
    definitions: tuple[Definition, ...]
    kinds: Mapping[str, Kind]
    worker_dependent: frozenset[str]

    def scope(self, what: str) -> Scope:
        """A place that sees parameters, definitions and `worker`."""
        return Scope(what, SEES_PARAMETERS, self.kinds)

    def scope_of_all_workers(self, what: str) -> Scope:
        """A place that must come out the same for every worker."""
        return Scope(what, "what is the same for every worker", self.kinds, by_worker=False)


def kind_of_parameter(parameter: Parameter) -> Kind:
    """The kind of a parameter's value, by its declared type."""
    match parameter.type:
        case "int":
            return IntKind(parameter.unit)
        case "list":
            return ListKind(parameter.unit)
        case "enum":
            return EnumKind(parameter.name, parameter.choices)
        case "bool":
            return BOOLEAN


def resolve_globals(spec: Spec, expressions: Expressions) -> Globals:
    """Parameters and definitions with resolved expressions, definitions in dependency order."""
    uses = _uses(spec)
    _report_cycles(spec, dependency_order(uses)[1], expressions)
    dependent = _worker_dependent(spec, uses)
    expressions.worker_dependent = {*dependent, WORKER}
    kinds: dict[str, Kind] = {WORKER: _workers(spec)}
    kinds.update((each.name, kind_of_parameter(each)) for each in spec.parameters)
    definitions = {each.name: each for each in spec.definitions}
    resolved: list[Definition] = []
    for name in dependency_order({name: uses[name] for name in definitions})[0]:
        if name not in kinds:
            resolved.append(_definition(definitions[name], kinds, expressions))
    check_sizes(resolved, expressions.collector)
    known = Globals((), tuple(resolved), kinds, dependent)
    parameters = tuple(_parameter(each, spec, known, uses, expressions) for each in spec.parameters)
    return replace(known, parameters=parameters)


def _workers(spec: Spec) -> EnumKind:
    return EnumKind(WORKER, tuple(worker.name for worker in spec.workers))


def _uses(spec: Spec) -> dict[str, tuple[str, ...]]:
    """The parameters and definitions that each of them uses, in the order they are written."""
    uses: dict[str, tuple[str, ...]] = {}
    for parameter in spec.parameters:
        ends = () if parameter.range is None else (parameter.range.low, parameter.range.high)
        uses.setdefault(parameter.name, _names(parameter.when, *ends))
    for definition in spec.definitions:
        uses.setdefault(definition.name, _names(definition.when, definition.value))
    return uses


def _names(*parts: Expr) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.name for part in parts for name in free(part)))


def _worker_dependent(spec: Spec, uses: dict[str, tuple[str, ...]]) -> frozenset[str]:
    sources = {each.name for each in spec.parameters if each.per_worker} | {WORKER}
    parameters = {each.name for each in spec.parameters}
    values = {name: () if name in parameters else used for name, used in uses.items()}
    return frozenset(name for name in uses if reached(values, (name,)) & sources)


def _report_cycles(
    spec: Spec, cycles: tuple[tuple[str, ...], ...], expressions: Expressions
) -> None:
    places = {each.name: each.place for each in spec.definitions}
    places |= {each.name: each.place for each in spec.parameters}
    guarded = {each.name for each in spec.parameters}
    for cycle in cycles:
        expressions.broken.update(name for name in cycle if name not in guarded)
        shown = " -> ".join((*cycle, cycle[0]))
        is_guard = any(name in guarded for name in cycle)
        message = (
            f"whether '{cycle[0]}' exists depends on itself: {shown}"
            if is_guard
            else f"'{cycle[0]}' is defined by itself: {shown}"
        )
        related = tuple((places[name], f"'{name}' is declared here") for name in cycle[1:])
        expressions.collector.error(problems.CYCLE, message, places[cycle[0]], related=related)


def _definition(
    definition: Definition, kinds: dict[str, Kind], expressions: Expressions
) -> Definition:
    """The definition over what comes before it; its kind is added to `kinds`."""
    scope = Scope(f"definition '{definition.name}'", SEES_PARAMETERS, kinds)
    when = expressions.condition(definition.when, scope)
    value, kind = expressions.infer(definition.value, scope)
    kind = None if kind is None else _restated(definition, kind, expressions)
    if kind is None:
        expressions.broken.add(definition.name)
    else:
        kinds[definition.name] = kind
    return replace(definition, value=value, when=when)


def _restated(definition: Definition, kind: Kind, expressions: Expressions) -> Kind | None:
    """The kind in the stated unit; a literal that states none is without unit."""
    if not isinstance(kind, (IntKind, ListKind)):
        if definition.unit is None:
            return kind
        message = f"definition '{definition.name}' is {kind_name(kind)}, which has no unit"
        expressions.collector.error(problems.WRONG_KIND, message, definition.place)
        return None
    unit = kind.unit or NO_UNIT
    if definition.unit is not None:
        if not unit.dimensionless and unit != definition.unit:
            message = (
                f"definition '{definition.name}' is in {unit}, which cannot be restated "
                f"in {definition.unit}"
            )
            hint = "leave the unit out, or divide by an amount in it first"
            code, place = problems.UNITS_DIFFER, definition.value.place
            expressions.collector.error(code, message, place, hint=hint)
            return None
        unit = definition.unit
    return replace(kind, unit=unit)


def _parameter(
    parameter: Parameter,
    spec: Spec,
    known: Globals,
    uses: dict[str, tuple[str, ...]],
    expressions: Expressions,
) -> Parameter:
    what = f"parameter '{parameter.name}'"
    scope = known.scope(what) if parameter.per_worker else known.scope_of_all_workers(what)
    when = expressions.condition(parameter.when, scope)
    kind = kind_of_parameter(parameter)
    unit = IntKind(parameter.unit)
    bounds = parameter.range and check_range(parameter.range, scope, unit, expressions)[0]
    default = parameter.default and expressions.check(parameter.default, scope, kind)
    _check_default(parameter.name, default, bounds, expressions)
    _check_earlier(parameter, spec, uses, expressions)
    _check_varies(parameter, spec, expressions)
    return replace(parameter, when=when, range=bounds, default=default)


def check_range(
    bounds: Range, scope: Scope, wanted: IntKind, expressions: Expressions
) -> tuple[Range, IntKind | None]:
    """The range with resolved ends, both of the wanted kind, and that kind.

    Where any integer is wanted, both ends are in one unit. None after an error.
    """
    low, low_kind = expressions.infer(bounds.low, scope)
    high, high_kind = expressions.infer(bounds.high, scope)
    kind: IntKind | None = wanted
    for end, found in ((low, low_kind), (high, high_kind)):
        expected = wanted if kind is None else kind
        if found is None or not expressions.expect(found, expected, scope, end):
            kind = None
        elif kind is not None and kind.unit is None and isinstance(found, IntKind):
            kind = found
    least, most = constant(low), constant(high)
    if least is not None and most is not None and least > most:
        message = f"{scope.what}: {least} is above {most}, so that nothing is in between"
        hint = f"write [{most}, {least}]"
        expressions.collector.error(problems.EMPTY_RANGE, message, bounds.place, hint=hint)
    return Range(low, high, bounds.place), kind


def constant(expr: Expr) -> int | None:
    """The value of an integer expression without names; None for any other."""
    if free_names(expr):
        return None
    try:
        value = evaluate(expr, Environment({}))
    except EvaluationError:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _check_default(
    parameter: str, default: Expr | None, bounds: Range | None, expressions: Expressions
) -> None:
    """A default that is a number, or a list of some, is in its range."""
    if default is None or bounds is None:
        return
    least, most = constant(bounds.low), constant(bounds.high)
    if least is not None and most is not None and least > most:
        return  # reported as an empty range
    for element in default.elements if isinstance(default, ListOf) else (default,):
        value = constant(element)
        if value is None or ((least is None or least <= value) and (most is None or value <= most)):
            continue
        message = f"the default of '{parameter}' is {value}, outside [{least}, {most}]"
        hint = "a configuration that does not give it would be refused"
        expressions.collector.error(
            problems.DEFAULT_OUT_OF_RANGE, message, default.place, hint=hint
        )
        return


def _check_earlier(
    parameter: Parameter, spec: Spec, uses: dict[str, tuple[str, ...]], expressions: Expressions
) -> None:
    """A default uses earlier parameters only, directly or through definitions."""
    if parameter.default is None:
        return
    names = [each.name for each in spec.parameters]
    later = set(names[names.index(parameter.name) :])
    definitions = {each.name: uses[each.name] for each in spec.definitions if each.name in uses}
    for used in sorted(free_names(parameter.default)):
        for name in sorted(reached(definitions, (used,)) & later):
            through = "" if name == used else f" through '{used}'"
            message = (
                f"the default of '{parameter.name}' uses '{name}'{through}, "
                "which is not declared before it"
            )
            hint = "defaults are computed in the order of declaration: move one of the two"
            code, place = problems.NOT_ALLOWED_HERE, parameter.default.place
            expressions.collector.error(code, message, place, hint=hint)


def _check_varies(parameter: Parameter, spec: Spec, expressions: Expressions) -> None:
    source = next((each for each in spec.parameters if each.name == parameter.varies), None)
    if source is None or source.type != "list" or source.unit == parameter.unit:
        return
    message = (
        f"parameter '{parameter.name}' in {unit_name(parameter.unit)} "
        f"varies over '{source.name}' in {unit_name(source.unit)}"
    )
    related = ((source.place, "the list"),)
    code, place = problems.UNITS_DIFFER, parameter.place
    expressions.collector.error(code, message, place, related=related)
