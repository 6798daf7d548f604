"""The module `config`: enums, and one class with all parameters, definitions and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ullage.bound.domain import for_worker, worker_name
from ullage.bound.problem import Constraint, Definition, Domain, Variable
from ullage.emit.config_views import (
    ArgumentView,
    CheckView,
    EnumView,
    FieldView,
    PropertyView,
)
from ullage.emit.modules import Module
from ullage.emit.rendering import render
from ullage.emit.settings import Described, DescribedEnum, Settings
from ullage.emit.source import Source, negated, shortened
from ullage.emit.text import comment, docstring, entries, literal, sentence, tuple_of
from ullage.expr.kinds import EnumKind, IntKind, ListKind
from ullage.expr.tree import (
    TRUE,
    Binary,
    Boolean,
    Call,
    Enumerant,
    Expr,
    Integer,
    ListOf,
    Name,
    Progression,
    free_names,
    walk,
)
from ullage.place import Place
from ullage.plan.intervals import Intervals
from ullage.spec.model import Parameter, Spec
from ullage.spec.order import dependency_order


@dataclass(frozen=True, slots=True)
class ConfigEmitter:
    """Writes the configuration of one engine."""

    spec: Spec
    domain: Domain
    settings: Settings

    def module(self) -> Module:
        """The module `config`."""
        arguments = [self._argument(each) for each in self.domain.variables]
        body = render(
            "config.py.j2",
            enums=[_enum(each) for each in self.settings.enums],
            doc=docstring(
                (
                    sentence(f"What the server arguments of {self.spec.engine} resolve to"),
                    "Legal if `validate` accepts it, which is what every capacity was proved for. "
                    "A parameter that has no meaning in a configuration is None.",
                ),
                listing=entries(
                    (described.attribute, self._about(each, described))
                    for each in self.domain.variables
                    for described in (self.settings.of(each.name),)
                ),
            ),
            fields=[self._field(each) for each in self.domain.variables],
            arguments=arguments,
            spec_place=literal(self.spec.place.short),
            checks=tuple(self._checks()),
            computes_defaults=any(
                "defaults.value(" in line for each in arguments for line in each.fill
            ),
            properties=[self._property(each) for each in self.domain.definitions],
        )
        about = (sentence(f"The configuration of {self.spec.engine}"),)
        return Module("config.py", about, body, {})

    def _field(self, variable: Variable) -> FieldView:
        described = self.settings.of(variable.name)
        optional = " | None" if described.guarded else ""
        return FieldView(
            comment(variable.place.short, 4),
            described.attribute,
            self.settings.annotation(variable.name) + optional,
            " = None" if described.guarded else "",
            docstring((self._about(variable, described),)),
        )

    def _about(self, variable: Variable, described: Described) -> str:
        parameter = self.settings.parameter(variable.name)
        parts = [parameter.doc or parameter.name]
        if described.worker is not None:
            parts.append(f"of worker {described.worker}")
        unit = str(parameter.unit)
        if parameter.type in ("int", "list") and not parameter.unit.dimensionless:
            parts.append(f"in {unit}")
        if variable.low is not None and variable.high is not None and parameter.type != "enum":
            low, high = (shortened(end) for end in (variable.low, variable.high))
            parts.append(
                f"each in [{low}, {high}]" if parameter.type == "list" else f"[{low}, {high}]"
            )
        if described.guarded:
            parts.append(f"None unless {shortened(described.guard)}")
        return sentence("; ".join(parts))

    def _argument(self, variable: Variable) -> ArgumentView:
        described = self.settings.of(variable.name)
        annotation = self.settings.annotation(variable.name)
        parameter = self.settings.parameter(variable.name)
        default = self._default(parameter, described)
        kind = self._kind(described)
        place = literal(variable.place.short)
        name, key = described.attribute, literal(variable.name)
        view = ArgumentView(
            name, key, annotation, "", kind, place, (), base=described.base, worker=described.worker
        )
        if default is None and not described.guarded:
            return replace(view, required=True)
        if isinstance(default, Integer | Boolean | Enumerant) and not described.guarded:
            text = self._local.of(default)
            return replace(view, default=f" = {text}")
        fill = () if default is None else tuple(self._fill(described, default, variable.place))
        return replace(view, annotation=f"{annotation} | None", default=" = None", fill=fill)

    def _default(self, parameter: Parameter, described: Described) -> Expr | None:
        if parameter.default is None:
            return None
        worker = described.worker or self.spec.workers[0].name
        return self._over_parameters(for_worker(self.settings.resolved, worker)(parameter.default))

    def _fill(self, described: Described, default: Expr, place: Place) -> Iterator[str]:
        """The lines that compute a default where none was given."""
        conditions = [f"{described.attribute} is None"]
        if described.guarded:
            conditions.append(self._bracketed(self._local, self._over_parameters(described.guard)))
        value = self._value(self._local, default, isinstance(described.kind, ListKind))
        if not _is_plain(default):
            name, where = literal(described.name), literal(place.short)
            fallback = self._fallback(described)
            value = f"defaults.value({name}, lambda: {value}, {fallback}, {where})"
        yield comment(place.short, 8)
        yield f"if {' and '.join(conditions)}:"
        yield f"    {described.attribute} = ({value})"

    def _fallback(self, described: Described) -> str:
        """A value of the right type for a default that illegal arguments leave undefined."""
        match described.kind:
            case EnumKind(name=name, values=values):
                return self.settings.member(Enumerant(name, values[0], 0))
            case ListKind():
                return "()"
            case IntKind():
                return "0"
            case _:
                return "False"

    @property
    def _local(self) -> Source:
        """Expressions over the arguments of `Config.of`."""

        def name(each: str) -> str:
            described = self.settings.of(each)
            return f"present({described.attribute})" if described.guarded else described.attribute

        return Source(name, self.settings.member)

    def _kind(self, described: Described) -> str:
        match described.kind:
            case EnumKind():
                return self.settings.annotation_of(described.kind)
            case ListKind():
                return "tuple"
            case IntKind():
                return "int"
            case _:
                return "bool"

    def _over_parameters(self, expr: Expr) -> Expr:
        return self.settings.expanded(expr, self.domain.definitions)

    def _value(self, source: Source, expr: Expr, is_list: bool) -> str:
        return source.as_tuple(expr) if is_list else source.of(expr)

    def _bracketed(self, source: Source, expr: Expr) -> str:
        text = source.of(expr)
        return f"({text})" if " " in text else text

    def _checks(self) -> Iterator[CheckView]:
        for variable in self._in_order():
            yield self._check_parameter(variable)
        for variable in self.domain.variables:
            yield from self._check_membership(variable)
        for definition in self.domain.definitions:
            if definition.kind == "list":
                yield self._check_elements(definition)
        for constraint in self.domain.constraints:
            if constraint.that != TRUE:
                yield self._check_relation(constraint)

    def _in_order(self) -> list[Variable]:
        """The parameters, each behind those that its guard and its range depend on."""
        variables = {each.name: each for each in self.domain.variables}
        uses: Mapping[str, tuple[str, ...]] = {
            name: tuple(used for used in self._parameters(*self._conditions(each)) if used != name)
            for name, each in variables.items()
        }
        ordered, _ = dependency_order(dict(uses))
        return [variables[name] for name in ordered if name in variables]

    def _conditions(self, variable: Variable) -> tuple[Expr, ...]:
        parts = (variable.low, variable.high, variable.guard)
        return tuple(part for part in parts if part is not None)

    def _parameters(self, *exprs: Expr) -> tuple[str, ...]:
        """The parameters that expressions depend on, in declared order."""
        used = frozenset().union(*(free_names(self._over_parameters(each)) for each in exprs))
        return tuple(each.name for each in self.domain.variables if each.name in used)

    def _check_parameter(self, variable: Variable) -> CheckView:
        described = self.settings.of(variable.name)
        attribute, place = f"self.{described.attribute}", literal(variable.place.short)
        subject = f"{literal(variable.name)}, {attribute}"
        match described.kind:
            case EnumKind(values=values):
                call = f"problems.choice({subject}, {tuple_of(map(literal, values))}, {place})"
            case ListKind():
                call = f"problems.integers({subject}, {self._ends(variable)}, {place})"
            case IntKind():
                call = f"problems.integer({subject}, {self._ends(variable)}, {place})"
            case _:
                call = f"problems.boolean({subject}, {place})"
        needed = self._passed(self._parameters(*self._conditions(variable)))
        is_total = all(
            self._is_total(self._over_parameters(part)) for part in self._conditions(variable)
        )
        if not described.guarded:
            return CheckView(
                needed, "", call if is_total else f"problems.attempt(lambda: {call})", ""
            )
        guard = self._bracketed(self.settings.source("self"), variable.guard)
        text = literal(shortened(variable.guard))
        unset = f"problems.unset({subject}, {text}, {place})"
        if is_total:
            return CheckView(needed, guard, call, unset)
        return CheckView(
            needed, "", f"problems.attempt(lambda: {call} if {guard} else {unset})", ""
        )

    def _check_membership(self, variable: Variable) -> Iterator[CheckView]:
        """A parameter that varies is one of the list that it varies over."""
        described = self.settings.of(variable.name)
        source = self.settings.parameter(variable.name).varies
        if source is None:
            return
        names = {each.name for each in self.domain.variables}
        own = source if described.worker is None else worker_name(source, described.worker)
        listed = own if own in names else source
        call = (
            f"problems.member({literal(variable.name)}, self.{described.attribute}, "
            f"self.{self.settings.of(listed).attribute}, {literal(listed)}, "
            f"{literal(variable.place.short)})"
        )
        yield CheckView(self._passed((variable.name, listed)), "", call, "")

    def _ends(self, variable: Variable) -> str:
        source = self.settings.source("self")
        return ", ".join(source.of(end) for end in (variable.low, variable.high) if end is not None)

    def _passed(self, parameters: tuple[str, ...]) -> str:
        """One that was not looked at, since what its check rests on is wrong, has not passed."""
        variables = {each.name: each for each in self.domain.variables}
        needed = set(parameters)
        while (
            more := {
                *self._parameters(
                    *(p for each in needed for p in self._conditions(variables[each]))
                )
            }
            - needed
        ):
            needed |= more
        if not needed:
            return ""
        return (
            f"problems.passed({', '.join(literal(each) for each in variables if each in needed)})"
        )

    def _check_relation(self, constraint: Constraint) -> CheckView:
        parameters = self._parameters(constraint.that)
        holds = self.settings.source("self").of(constraint.that)
        is_total = self._is_total(self._over_parameters(constraint.that))
        values = self._values(parameters)
        statement = literal(shortened(constraint.that))
        reason, place = literal(constraint.reason), literal(constraint.place.short)
        call = f"problems.constraint({holds}, {statement}, {reason}, {{{values}}}, {place})"
        whole = call if is_total else f"problems.attempt(lambda: {call})"
        return CheckView(self._passed(parameters), "", whole, "")

    def _values(self, parameters: tuple[str, ...]) -> str:
        return ", ".join(
            f"{literal(each)}: self.{self.settings.of(each).attribute}" for each in parameters
        )

    def _check_elements(self, definition: Definition) -> CheckView:
        """Proofs take for granted that a list with a name is not empty."""
        parameters = self._parameters(definition.value, definition.guard)
        values = self._values(parameters)
        attribute = f"self.{self.settings.of(definition.name).attribute}"
        statement = literal(f"{definition.name} has an element")
        reason = literal(f"it is {shortened(definition.value)}")
        call = (
            f"problems.constraint({attribute} != (), {statement}, {reason}, {{{values}}}, "
            f"{literal(definition.place.short)})"
        )
        return CheckView(self._passed(parameters), "", f"problems.attempt(lambda: {call})", "")

    def _is_total(self, expr: Expr) -> bool:
        """Whether ranges alone make sure that the expression has a value."""
        intervals = Intervals(self.domain)
        for node in walk(expr):
            match node:
                case (
                    Binary("//" | "%", _, divisor)
                    | Call("align_up" | "cdiv", (_, divisor))
                    | Progression(step=divisor)
                ):
                    low = intervals.of(divisor).low
                    if low is None or low < 1:
                        return False
                case Call("next_in", _):
                    return False
                case Call("max" | "min", (source,)) if not isinstance(source, Name | ListOf):
                    return False
                case _:
                    pass
        return True

    def _property(self, definition: Definition) -> PropertyView:
        described = self.settings.of(definition.name)
        source = self.settings.source("self")
        own = next(each for each in self.spec.definitions if each.name == described.base)
        annotation = self.settings.annotation(definition.name)
        guarded = definition.guard != TRUE
        text = own.doc or f"`{shortened(definition.value)}`"
        parts = [text] if described.worker is None else [f"{text}; of worker {described.worker}"]
        if guarded:
            parts.append(f"None unless {shortened(definition.guard)}")
        is_list = isinstance(described.kind, ListKind)
        value = source.in_order(definition.value) if is_list else source.of(definition.value)
        return PropertyView(
            comment(definition.place.short, 4),
            described.attribute,
            f"{annotation} | None" if guarded else annotation,
            docstring((sentence("; ".join(parts)),), indent=8),
            source.of(negated(definition.guard)) if guarded else "",
            f"({value})",
        )


def _enum(enum: DescribedEnum) -> EnumView:
    members = tuple((value.upper(), literal(value)) for value in enum.values)
    doc = docstring((sentence(enum.doc),))
    return EnumView(comment(enum.place.short), enum.name, doc, members)


def _is_plain(default: Expr) -> bool:
    """Whether a default has a value for all arguments of the right types."""
    for node in walk(default):
        match node:
            case (
                Binary("//" | "%", _, divisor)
                | Call("align_up" | "cdiv", (_, divisor))
                | Progression(step=divisor)
            ):
                if not (isinstance(divisor, Integer) and divisor.value >= 1):
                    return False
            case Call("next_in", _) | Call("min" | "max", (_,)):
                return False
            case _:
                pass
    return True
