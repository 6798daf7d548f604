"""The module `strategies`: legal configurations and live batches for property tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ullage.bound.problem import Variable
from ullage.emit.axes import brought_axes
from ullage.emit.live_fields import LiveField
from ullage.emit.model import EngineModel, OwnExtent, RunnerModel
from ullage.emit.modules import Module
from ullage.emit.padding import live_function, summing_source
from ullage.emit.rendering import render
from ullage.emit.scope import Scope, scope_of
from ullage.emit.source import Source
from ullage.emit.text import comment, docstring, literal, sentence, tuple_of
from ullage.expr.kinds import EnumKind, IntKind, ListKind
from ullage.expr.simplify import fold
from ullage.expr.tree import (
    TRUE,
    Comparison,
    Expr,
    Integer,
    Name,
    conjunction,
    free_names,
    walk,
)
from ullage.plan.intervals import Intervals
from ullage.plan.model import PlannedSlot
from ullage.spec.model import LiveVariable, Mode

SPAN = 24
"""How far above its least value a parameter goes, so that all batches can be tried."""

WIDEST = 2**31 - 1
"""The end of ranges that depend on other parameters in a way that has no constant bound."""


@dataclass(frozen=True, slots=True)
class ChoiceView:
    """The values that one parameter is tried with."""

    place: str
    key: str
    kind: str
    strategy: str
    small: str


@dataclass(frozen=True, slots=True)
class RepairView:
    """A parameter that some constraint determines, and how it follows from others."""

    place: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class BatchStrategy:
    """The live batches of one mode: lines that draw, and the fields of the batch."""

    place: str
    name: str
    member: str
    mode: str
    lines: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RunnerStrategies:
    """The strategies of one runner."""

    name: str
    title: str
    place: str
    doc: str
    modes: tuple[BatchStrategy, ...]


@dataclass(frozen=True)
class StrategiesEmitter:
    """Writes the strategies of one engine."""

    engine: EngineModel

    def module(self) -> Module:
        """The module `strategies`."""
        settings = self.engine.settings
        choices = [self._choice(each) for each in self.engine.domain.variables]
        kinds = list(dict.fromkeys(each.kind for each in choices))
        required = [
            literal(each.name)
            for each in self.engine.domain.variables
            if settings.parameter(each.name).default is None and each.guard == TRUE
        ]
        body = render(
            "strategies.py.j2",
            span=SPAN,
            choices=choices,
            kinds=[tuple_of(each.key for each in choices if each.kind == kind) for kind in kinds],
            repairs=list(self._repairs()),
            required=required,
            bases=[
                (literal(each.name), literal(described.base))
                for each in self.engine.domain.variables
                for described in (settings.of(each.name),)
                if described.worker is not None
            ],
            runners=[self._runner(each) for each in self.engine.runners],
        )
        about = (sentence(f"Hypothesis strategies for {self.engine.spec.engine}"),)
        siblings = {"Config": "config", "LiveBatch": "batch", "Mode": "batch"}
        siblings |= dict.fromkeys(settings.enum_classes, "config")
        siblings |= {each.classes.module: "" for each in self.engine.runners}
        return Module("strategies.py", about, body, siblings)

    def _choice(self, variable: Variable) -> ChoiceView:
        described = self.engine.settings.of(variable.name)
        low, high = self._ends(variable)
        small = ""
        match described.kind:
            case EnumKind(values=values):
                strategy = f"st.sampled_from({tuple_of(map(literal, values))})"
            case ListKind():
                strategy = f"_lists({low}, {high}, span)"
                small = f"([min({high}, {low} + span), {low}],)"
            case IntKind():
                strategy = f"_integers({low}, {high}, span)"
                if not self._is_small(variable, low):
                    small = f"({min(low + 2, high)}, min({high}, {low} + span), {low})"
            case _:
                strategy = "st.booleans()"
        place = comment(variable.place.short, 8)
        kind = self.engine.settings.parameter(variable.name).type
        return ChoiceView(place, literal(variable.name), kind, strategy, small)

    def _is_small(self, variable: Variable, low: int) -> bool:
        """Whether the default is small enough to begin with."""
        default = self.engine.settings.parameter(variable.name).default
        return isinstance(default, Integer) and default.value <= low + SPAN

    @cached_property
    def _intervals(self) -> Intervals:
        return Intervals(self.engine.domain)

    @cached_property
    def _variables(self) -> frozenset[str]:
        return frozenset(each.name for each in self.engine.domain.variables)

    def _ends(self, variable: Variable) -> tuple[int, int]:
        intervals = self._intervals
        low = None if variable.low is None else intervals.of(variable.low).low
        high = None if variable.high is None else intervals.of(variable.high).high
        return (0 if low is None else low), (WIDEST if high is None else high)

    def _repairs(self) -> Iterator[RepairView]:
        """Equalities in constraints that say what a parameter is."""
        definitions = self.engine.domain.definitions
        for constraint in self.engine.domain.constraints:
            for node in walk(constraint.that):
                match node:
                    case Comparison("==", Name(name=name), value) if self._is_number(name):
                        expanded = self.engine.settings.expanded(value, definitions)
                        if free_names(expanded) and self._are_numbers(expanded, name):
                            place = comment(constraint.place.short, 4)
                            source = Source(_given, self.engine.settings.member)
                            text = f"lambda value: {source.of(expanded)}"
                            yield RepairView(place, literal(name), text)
                    case _:
                        pass

    def _is_number(self, name: str) -> bool:
        settings = self.engine.settings
        return name in self._variables and isinstance(settings.of(name).kind, IntKind)

    def _are_numbers(self, value: Expr, determined: str) -> bool:
        return all(self._is_number(name) and name != determined for name in free_names(value))

    def _runner(self, runner: RunnerModel) -> RunnerStrategies:
        tensors = {slot.name: _tensor(runner, slot) for slot in runner.slots}
        modes = tuple(_BatchWriter(runner, mode, tensors).view() for mode, _ in runner.modes)
        doc = docstring(
            (
                f"Legal live batches of one mode of the {runner.title}.",
                "The runner may refuse them." if runner.runner.accepts else "",
                "Raises BatchError for a mode that the runner does not serve.",
            )
        )
        title, place = literal(runner.planned.runner), literal(runner.planned.place.short)
        return RunnerStrategies(runner.classes.module, title, place, doc, modes)


def _given(name: str) -> str:
    return f"value({literal(name)})"


@dataclass(frozen=True)
class _BatchWriter:
    """Writes how live batches of one mode are drawn; `tensors`: how the sources of slots are."""

    runner: RunnerModel
    mode: Mode
    tensors: Mapping[str, str]

    def view(self) -> BatchStrategy:
        name = f"_{self.runner.classes.module}_{self.mode.name}"
        return BatchStrategy(
            comment(self.mode.place.short),
            name,
            self.mode.name.upper(),
            self.mode.name,
            tuple(self._lines()),
            tuple(self._fields()),
        )

    @cached_property
    def _seen(self) -> Scope:
        return scope_of(self.runner, self.mode)

    @cached_property
    def _scope(self) -> Scope:
        """Expressions over all live variables: what is drawn is known, whoever sees it."""
        return replace(self._seen, visible=frozenset(each.name for each in self.mode.live))

    def _lines(self) -> Iterator[str]:
        scope = self._scope
        yield from self._serving(scope)
        for variable in self.mode.live:
            yield from self._draw(variable, scope)
        yield from self._relations(scope)
        called = _called(self._seen)
        yield f"rows = {self.runner.classes.module}.{called}"
        for own in self._own():
            yield f"{own.live} = ({self._own_extent(own, scope)})"

    def _serving(self, scope: Scope) -> Iterator[str]:
        settings = self.runner.engine.settings.source("config")
        for name, parameter in scope.serving.items():
            members = settings.of(self.runner.rewrite(Name(parameter.varies or parameter.name)))
            varied = self.runner.engine.settings.parameter(
                next(iter(free_names(self.runner.rewrite(Name(parameter.varies or "")))))
            )
            conditions = [fold(self.runner.rewrite(each.when)) for each in (parameter, varied)]
            exists = fold(conjunction(*conditions))
            drawn = f"draw(st.sampled_from({members}))"
            attribute = f"config.{self.runner.engine.settings.of(name).attribute}"
            chosen = (
                drawn if exists == TRUE else f"{drawn} if {settings.of(exists)} else {attribute}"
            )
            yield f"{scope.local(name)} = ({chosen})"

    def _draw(self, variable: LiveVariable, scope: Scope) -> Iterator[str]:
        source = summing_source(scope)
        low, high = (
            source.of(self.runner.of_batch(end))
            for end in (variable.range.low, variable.range.high)
        )
        local = scope.local(variable.name)
        yield comment(variable.place.short, 4)
        if variable.per is None:
            yield f"{local} = draw(_extents({low}, {high}))"
        else:
            count = scope.local(variable.per)
            yield f"{local} = draw(_each({count}, {low}, {high}))"

    def _relations(self, scope: Scope) -> Iterator[str]:
        """Relations that what was drawn may break: then the batch is a witness instead."""
        if not self.mode.where:
            return
        source = summing_source(scope)
        holds = source.of(self.runner.of_batch(conjunction(*self.mode.where)))
        witness = tuple(self._witness(scope))
        yield f"if not ({holds}):"
        yield from (f"    {line}" for line in witness)
        if any(variable.per for variable in self.mode.live):
            yield f"    if not ({holds}):"
            yield "        reject()"

    def _witness(self, scope: Scope) -> Iterator[str]:
        source = summing_source(scope)
        config = self.runner.engine.settings.source("config")
        witness = self._values_of_witness()
        for variable in self.mode.live:
            local = scope.local(variable.name)
            if variable.per is None and variable.name in witness:
                yield f"{local} = ({config.of(witness[variable.name])})"
            elif variable.per is not None:
                low = source.of(self.runner.of_batch(variable.range.low))
                yield f"{local} = [{low}] * {scope.local(variable.per)}"

    def _values_of_witness(self) -> Mapping[str, Expr]:
        axis = brought_axes(self.runner.engine)[-1].name
        candidates = self.runner.capacity(axis).candidates
        own = (each.witness for each in candidates if each.mode == self.mode.name)
        return next(own, {})

    def _own(self) -> Iterator[OwnExtent]:
        for own in self.runner.own_extents:
            if self.mode.name in own.slot.tails:
                yield own

    def _own_extent(self, own: OwnExtent, scope: Scope) -> str:
        engine = self.runner.engine
        axes = {f"padded_{a.name}": f"rows.{engine.axis(a.name)}" for a in engine.axes}
        return summing_source(scope, axes).of(self.runner.unfold(own.dimension.extent))

    def _fields(self) -> Iterator[tuple[str, str]]:
        """Every field of the live batch that this mode looks at, with what is drawn for it."""
        scope, engine = self._scope, self.runner.engine
        seen: dict[str, str] = {}
        for name, parameter in scope.serving.items():
            seen[engine.serving_field(parameter).name] = scope.local(name)
        for variable in self.mode.live:
            for position, each in enumerate(variable.seen_in):
                field = engine.live_field(each)
                if not field.is_tensor:
                    seen.setdefault(field.name, scope.local(variable.name))
                elif variable.per is not None:
                    seen.setdefault(field.name, f"torch.tensor({scope.local(variable.name)})")
                elif position == 0:
                    seen.setdefault(field.name, self._of_source(field, variable, each.dimension))
        for variable in self.mode.live:
            if variable.debug_in is not None:
                field = engine.live_field(variable.debug_in)
                seen.setdefault(field.name, self._in_debug(field, variable))
        for slot in self.runner.slots:
            if self.mode.name in slot.tails and slot.source is not None:
                field = engine.live_field(slot.source)
                seen.setdefault(field.name, self._drawn(slot))
        yield from seen.items()

    def _in_debug(self, field: LiveField, variable: LiveVariable) -> str:
        """What debug mode reads for a live variable; a slot's source is of a dtype of the slot."""
        local, source = self._scope.local(variable.name), variable.debug_in
        if not field.is_tensor:
            return local
        if source is not None and source.dimension is not None:
            return self._of_source(field, variable, source.dimension)
        elements = local if variable.per is not None else f"[{local}]"
        for slot in self.runner.slots_from(field.path):
            return f"torch.tensor({elements}, dtype={_dtypes(slot)[0]})"
        return f"torch.tensor({elements})"

    def _of_source(self, field: LiveField, variable: LiveVariable, dimension: int | None) -> str:
        """The tensor in whose extent a live variable is seen, which cannot be absent."""
        for slot in self.runner.slots_from(field.path):
            if self.mode.name in slot.tails and slot.guard == TRUE:
                return f"draw({self.tensors[slot.name]})"
        sizes = ["1"] * (dimension or 0) + [self._scope.local(variable.name)]
        return f"torch.ones({', '.join(sizes)})"

    def _drawn(self, slot: PlannedSlot) -> str:
        tensor = self.tensors[slot.name]
        moving = [p for p, each in enumerate(slot.dimensions) if each.target is not None]
        may_lack = slot.optional or not self.mode.live
        drawn = f"draw(st.none() | {tensor})" if may_lack and moving else f"draw({tensor})"
        if slot.guard == TRUE or slot.carried_otherwise:
            return drawn
        # What the tensor is made of may exist only where the slot does.
        guard = self.runner.engine.settings.source("config").of(slot.guard)
        return f"{drawn} if {guard} else None"


def _tensor(runner: RunnerModel, slot: PlannedSlot) -> str:
    """What draws the source of a slot in a mode that loads it."""
    engine = runner.engine
    config = engine.settings.source("config")
    axes = {f"padded_{a.name}": f"rows.{engine.axis(a.name)}" for a in engine.axes}
    source = config.with_names(axes)
    own = runner.own_extents_of(slot)
    shape = tuple_of(
        own[p].live if p in own else source.of(dimension.extent)
        for p, dimension in enumerate(slot.dimensions)
    )
    low, high = "0", "1"
    if slot.brought is not None:
        low, high = config.of(slot.brought.low), config.of(slot.brought.high)
    return f"_tensors({shape}, {tuple_of(_dtypes(slot))}, {low}, {high})"


def _dtypes(slot: PlannedSlot) -> tuple[str, ...]:
    """The dtypes that a source on the host may have, that of the slot first."""
    return tuple(dict.fromkeys(f"torch.{each}" for each in (slot.cpu_dtype, *slot.casts_from)))


def _called(scope: Scope) -> str:
    function = live_function(scope)
    names = [argument.partition(": ")[0] for argument in function.arguments]
    return f"{function.name}({', '.join(names)})"
