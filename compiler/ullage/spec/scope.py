"""Which names an expression may use where it stands, and what it must amount to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ullage.diagnostics.diagnostic import Collector, Diagnostic, Related
from ullage.expr.errors import ExpressionError, suggestion
from ullage.expr.kinds import (
    BOOLEAN,
    BoolKind,
    EnumKind,
    IntKind,
    Kind,
    ListKind,
    enumerant,
    infer,
    resolve,
)
from ullage.expr.tree import (
    Aggregate,
    Call,
    Comprehension,
    Conditional,
    Expr,
    Name,
    Over,
    children,
    free_names,
    rebuild,
    walk,
)
from ullage.expr.units import Unit
from ullage.place import Place
from ullage.spec import problems

MOST_SHOWN: Final = 3
"""How many of the quantities whose units do not meet are shown."""

ANY_INTEGER: Final = IntKind(None)
"""An integer in whatever unit."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that are known at one place.

    `what` names the place in messages ("a constraint"), `sees` lists what may be used there.
    `per_request` are live variables with one value for each request, which only `sum_requests`
    may use; `batch` are quantities of the whole batch, which `sum_requests` may not use.
    `places`: where local names are declared, as far as that is known.
    """

    what: str
    sees: str
    kinds: Mapping[str, Kind]
    aggregates: frozenset[Aggregate] = frozenset()
    per_request: frozenset[str] = frozenset()
    batch: frozenset[str] = frozenset()
    by_worker: bool = True
    places: Mapping[str, Place] = field(default_factory=dict[str, Place])

    def named(self, what: str) -> Scope:
        """The same names at another place."""
        return replace(self, what=what)

    def with_names(
        self,
        kinds: Mapping[str, Kind],
        *,
        batch: bool = False,
        places: Mapping[str, Place] | None = None,
    ) -> Scope:
        """The same place with more names, which hide those that were known before."""
        added = frozenset(kinds) if batch else frozenset()
        kept = {name: place for name, place in self.places.items() if name not in kinds}
        return replace(
            self,
            kinds={**self.kinds, **kinds},
            batch=self.batch | added,
            places={**kept, **(places or {})},
        )


@dataclass(slots=True)
class Expressions:
    """Resolves and checks expressions in their scopes; every mistake goes to `collector`.

    `elsewhere` says what a name is that some places do not know ("a live variable"). `broken`
    names had an error where they were defined, so nothing more is said about their uses.
    `declared`: where the names that are known everywhere stand.
    """

    collector: Collector
    elsewhere: dict[str, str] = field(default_factory=dict)
    enum_values: dict[str, str] = field(default_factory=dict)
    worker_dependent: set[str] = field(default_factory=set)
    varying: frozenset[str] = frozenset()
    broken: set[str] = field(default_factory=set)
    declared: Mapping[str, Place] = field(default_factory=dict[str, Place])

    def apart(self) -> Expressions:
        """The same, where names that break from here on are broken here only."""
        return replace(self, broken=set(self.broken))

    def condition(self, expr: Expr, scope: Scope) -> Expr:
        """A resolved boolean."""
        return self.check(expr, scope, BOOLEAN)

    def check(self, expr: Expr, scope: Scope, wanted: Kind, related: Related = ()) -> Expr:
        """The resolved expression, which must be of the wanted kind; `related` says why."""
        resolved, kind = self.infer(expr, scope, wanted if isinstance(wanted, EnumKind) else None)
        if kind is not None:
            self.expect(kind, wanted, scope, resolved, related)
        return resolved

    def infer(
        self, expr: Expr, scope: Scope, enum: EnumKind | None = None
    ) -> tuple[Expr, Kind | None]:
        """The resolved expression and its kind, None after an error; bare values are of `enum`."""
        try:
            resolved = resolve(expr, scope.kinds)
            resolved = resolved if enum is None else _as_value(resolved, enum, scope.kinds)
            misuses = tuple(self._misuses(resolved, scope))
            self.collector.add(*misuses)
            if misuses or free_names(resolved) & self.broken:
                return resolved, None
            return resolved, infer(resolved, scope.kinds)
        except ExpressionError as error:
            self.collector.add(self._explained(error, expr, scope))
            return expr, None

    def _explained(self, error: ExpressionError, expr: Expr, scope: Scope) -> Diagnostic:
        """The error; of units that do not meet, with the places that they come from."""
        found = error.diagnostic
        if found.code != problems.UNITS_DIFFER:
            return found
        part = next((each for each in walk(expr) if each.place == found.place), expr)
        return replace(found, related=self._in_units(part, scope))

    def _in_units(self, expr: Expr, scope: Scope) -> Related:
        """Where the quantities of an expression that have a unit are declared, the first few."""
        found: dict[Place, str] = {}
        for name in free(expr):
            unit = _unit_of(scope.kinds.get(name.name))
            place = scope.places.get(name.name) or self.declared.get(name.name)
            if unit is not None and not unit.dimensionless and place is not None:
                found.setdefault(place, f"'{name.name}' is in {unit}")
        return tuple(found.items())[:MOST_SHOWN]

    def expect(
        self, kind: Kind, wanted: Kind, scope: Scope, value: Expr, related: Related = ()
    ) -> bool:
        """Whether a value is of the wanted kind; records an error if not."""
        match kind, wanted:
            case (IntKind(unit=unit), IntKind(unit=other)) | (
                ListKind(unit=unit),
                ListKind(unit=other),
            ):
                if unit is None or other is None or unit == other:
                    return True
                message = f"expected {unit_name(other)}, found {unit_name(unit)}"
                code = problems.UNITS_DIFFER
                related = (*related, *self._in_units(value, scope))
            case (BoolKind(), BoolKind()):
                return True
            case (EnumKind(name=name), EnumKind(name=other_enum)) if name == other_enum:
                return True
            case _:
                message = f"expected {kind_name(wanted)}, found {kind_name(kind)}"
                code = problems.WRONG_KIND
        self.collector.error(code, f"{scope.what}: {message}", value.place, related=related)
        return False

    def _misuses(self, expr: Expr, scope: Scope) -> Iterator[Diagnostic]:
        """What is wrong with the use of names and functions where `expr` stands."""
        yield from self._unknown(expr, scope)
        if not scope.by_worker:
            for name in free(expr):
                if name.name in self.worker_dependent:
                    message = (
                        f"{scope.what} is the same for every worker, "
                        f"so it cannot depend on '{name.name}'"
                    )
                    yield Diagnostic(problems.NOT_ALLOWED_HERE, message, name.place)
        for node in walk(expr):
            match node:
                case Call(function="upper", arguments=(Name() as name,)):
                    yield from self._without_upper(name)
                case Over(aggregate=aggregate) if aggregate not in scope.aggregates:
                    yield _refused_aggregate(node, scope)
                case Over(aggregate="sum_requests", operand=operand):
                    yield from _misused_sum(operand, scope)
        yield from _missing_sums(expr, scope)

    def _unknown(self, expr: Expr, scope: Scope) -> Iterator[Diagnostic]:
        """Unknown names; a bare value is only one if the enum beside it is not the mistake."""
        unknown = [name for name in free(expr) if name.name not in scope.kinds]
        unknown = [name for name in unknown if name.name not in self.broken]
        misspelt = [name for name in unknown if name.name not in self.enum_values]
        for name in misspelt or unknown:
            yield self._unknown_name(name, scope)

    def _unknown_name(self, name: Name, scope: Scope) -> Diagnostic:
        code, message = problems.UNKNOWN_NAME, f"there is no '{name.name}' in {scope.what}"
        hint = suggestion(name.name, scope.kinds)
        if (enum := self.enum_values.get(name.name)) is not None:
            message = f"'{name.name}' is a value of '{enum}', which stands beside nothing here"
            hint = f"compare it: {enum} == {name.name}"
        elif (what := self.elsewhere.get(name.name)) is not None:
            code = problems.NOT_ALLOWED_HERE
            message = f"'{name.name}' is {what}, which {scope.what} cannot use"
            hint = f"it can use {scope.sees}"
        return Diagnostic(code, message, name.place, hint)

    def _without_upper(self, name: Name) -> Iterator[Diagnostic]:
        if name.name not in self.varying:
            message = f"'{name.name}' does not vary, so it has no upper value"
            yield Diagnostic(problems.WRONG_ARGUMENTS, message, name.place, f"write {name.name}")


def _refused_aggregate(node: Over, scope: Scope) -> Diagnostic:
    message = f"'{node.aggregate}' is not allowed in {scope.what}"
    hint = (
        "use it in the axes and relations of a mode, and in shapes"
        if node.aggregate == "sum_requests"
        else "use it in a transform that declares a collective"
    )
    return Diagnostic(problems.NOT_ALLOWED_HERE, message, node.place, hint)


def _misused_sum(operand: Expr, scope: Scope) -> Iterator[Diagnostic]:
    code = problems.WRONG_ARGUMENTS
    names = tuple(free(operand))
    known = all(name.name in scope.kinds for name in names)
    if known and not any(name.name in scope.per_request for name in names):
        message = "this sum over requests has nothing that differs between requests"
        others = ", ".join(sorted(scope.per_request))
        hint = f"such live variables: {others}" if others else "declare a live variable with 'per'"
        yield Diagnostic(code, message, operand.place, hint)
    for name in names:
        if name.name in scope.batch:
            message = f"'{name.name}' counts the whole batch, so no single request has it"
            yield Diagnostic(code, message, name.place)
    for node in walk(operand):
        if isinstance(node, Over):
            message = "a sum over requests holds no other aggregate"
            yield Diagnostic(code, message, node.place)


def _missing_sums(expr: Expr, scope: Scope) -> Iterator[Diagnostic]:
    for name in _outside_sums(expr):
        if name.name in scope.per_request:
            message = f"'{name.name}' has a value for each request, so it needs a sum"
            hint = f"write sum_requests({name.name})"
            yield Diagnostic(problems.NOT_ALLOWED_HERE, message, name.place, hint)


def _unit_of(kind: Kind | None) -> Unit | None:
    match kind:
        case IntKind(unit=unit) | ListKind(unit=unit):
            return unit
        case _:
            return None


def unit_name(unit: Unit) -> str:
    """How a message calls a unit."""
    return "no unit" if unit.dimensionless else str(unit)


def kind_name(kind: Kind) -> str:
    """How a message calls a kind whose unit does not matter."""
    match kind:
        case IntKind():
            return "an integer"
        case ListKind():
            return "a list"
        case _:
            return str(kind)


def free(expr: Expr, bound: frozenset[str] = frozenset()) -> Iterator[Name]:
    """The names that are taken from outside, each time they are written."""
    match expr:
        case Name(name=name):
            if name not in bound:
                yield expr
        case Comprehension(element, variable, source, condition):
            inner = bound | {variable}
            yield from free(element, inner)
            yield from free(source, bound)
            if condition is not None:
                yield from free(condition, inner)
        case _:
            for child in children(expr):
                yield from free(child, bound)


def _outside_sums(expr: Expr) -> Iterator[Name]:
    match expr:
        case Over(aggregate="sum_requests"):
            return
        case Name():
            yield expr
        case _:
            for child in children(expr):
                yield from _outside_sums(child)


def _as_value(expr: Expr, enum: EnumKind, kinds: Mapping[str, Kind]) -> Expr:
    """Where a value of `enum` is wanted, a bare name is one of its values."""
    match expr:
        case Name(name=name) if name not in kinds:
            return enumerant(expr, enum)
        case Conditional(condition, then, otherwise):
            arms = (_as_value(arm, enum, kinds) for arm in (then, otherwise))
            return rebuild(expr, (condition, *arms))
        case _:
            return expr
