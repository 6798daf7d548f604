"""How a runner finds the extents of a live batch, and checks them before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.accepting import Accepting, has_choice
from ullage.emit.model import RunnerModel
from ullage.emit.padding import (
    FunctionView,
    exchanges_of_padding,
    fit_function,
    live_function,
    pad_function,
    summing_source,
)
from ullage.emit.refusals import refusing
from ullage.emit.refused_values import bound_text, values_behind
from ullage.emit.registry import follows_rows
from ullage.emit.scope import Scope
from ullage.emit.source import negated, shortened
from ullage.emit.text import comment, literal
from ullage.expr.simplify import fold
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Expr, Name, free_names
from ullage.plan.model import Dimension, PlannedSlot
from ullage.spec.model import LiveVariable


@dataclass(frozen=True, slots=True)
class OwnExtent:
    """An extent of a slot's own dimension that belongs to the extents of a batch."""

    slot: PlannedSlot
    position: int
    dimension: Dimension
    name: str

    @property
    def live(self) -> str:
        return f"live_{self.name}"


def own_extents(runner: RunnerModel) -> tuple[OwnExtent, ...]:
    """The dimensions of slots whose extent does not follow from padded rows."""
    return tuple(
        OwnExtent(slot, position, dimension, runner.capacity_field(dimension.target))
        for slot, position, dimension in runner.own_dimensions
        if dimension.target is not None and not follows_rows(runner, dimension.extent)
    )


def extents_class(runner: RunnerModel) -> str:
    """The class that holds the extents of a batch."""
    return runner.classes.extents if own_extents(runner) else "Extents"


@dataclass(frozen=True, slots=True)
class ExtentsWriter:
    """Writes how one mode's extents are found and checked."""

    scope: Scope

    def lines(self) -> Iterator[str]:
        pads = "pad is True" if self._has_choice else "pad"
        yield from self._told(tuple(self._checks()), pads)
        yield from self._rows()
        yield from self._capacities()
        yield from self._own()
        extra = "".join(
            f", {each.name}={each.name}, {each.live}={each.live}" for each in self._loaded_own()
        )
        yield f"return {extents_class(self.scope.runner)}(rows, padded_rows{extra})"

    def offered(self, module: str) -> Iterator[str]:
        """The rows of a legal batch before and after the pipeline of its mode, for any runner."""
        yield from self._told(tuple(self._legal()), "")
        yield f"rows = {module}.{_called(live_function(self.scope))}"
        yield f"padded_rows = {module}.{_called(pad_function(self.scope))}"

    def seen(self, names: frozenset[str]) -> Iterator[str]:
        """Some live variables of a batch that is known to be legal."""
        for variable in self.scope.mode.live:
            if variable.name in names:
                local = self.scope.local(variable.name)
                values = f"values_of({self._fields(variable)})"
                yield f"{local} = {values if variable.per else self._seen(variable)}"

    @property
    def _has_choice(self) -> bool:
        """Whether the batch may come with the rows by which a runner was chosen."""
        runner = self.scope.runner
        return has_choice(runner.engine, runner.planned.worker)

    def _checks(self) -> Iterator[str]:
        """What this rank alone can tell, before it exchanges anything with others."""
        yield from self._legal()
        for each in self._loaded_own():
            yield from self._seen_own(each)

    def _legal(self) -> Iterator[str]:
        """Whether the batch is one of its mode."""
        mode = self.scope.mode
        yield from self._serving()
        for variable in mode.live:
            yield from self._variable(variable)
        for relation in mode.where:
            yield from self._relation(relation)

    def _told(self, checks: tuple[str, ...], pads: str) -> Iterator[str]:
        """The checks; if one fails, the ranks that wait in an exchange hear of it.

        `pads`: the condition that this rank takes part in exchanges, empty where it always does.
        """
        exchanges = exchanges_of_padding(self.scope)
        if not (checks and exchanges):
            yield from checks
            return
        yield "try:"
        yield from (f"    {line}" for line in checks)
        yield "except UllageRuntimeError as refusal:"
        told = tuple(refusing(self.scope.runner, exchanges, owner="self."))
        match told:
            case _ if not pads:
                yield from (f"    {line}" for line in told)
            case (condition, call) if condition.startswith("if "):
                yield f"    if {pads} and {_bracketed(condition[3:-1])}:"
                yield f"    {call}"
            case _:
                yield f"    if {pads}:"
                yield from (f"        {line}" for line in told)
        yield "    raise"

    def _serving(self) -> Iterator[str]:
        engine = self.scope.runner.engine
        for name, parameter in self.scope.serving.items():
            local = self.scope.local(name)
            described = engine.settings.of(name)
            serving = engine.serving_field(parameter).name
            yield comment(parameter.place.short, 8)
            yield (
                f"{local} = config.{described.attribute} if live.{serving} is None "
                f"else live.{serving}"
            )
            yield from self._membership(name, local)

    def _membership(self, name: str, local: str) -> Iterator[str]:
        runner = self.scope.runner
        parameter = self.scope.serving[name]
        if parameter.varies is None:
            return
        varied = runner.engine.settings.parameter(
            next(iter(free_names(runner.rewrite(Name(parameter.varies)))))
        )
        source = runner.engine.settings.source("config")
        guard = runner.engine.settings.of(name).guard
        exists = fold(runner.rewrite(varied.when))
        conditions = [source.of(each) for each in dict.fromkeys((guard, exists)) if each != TRUE]
        members = source.of(runner.rewrite(Name(parameter.varies)))
        guarded = runner.engine.settings.of(name).guarded
        value = f"present({local})" if guarded else local
        call = (
            f"check_member({self._mode}, {literal(parameter.name)}, {value}, {members}, "
            f"place={literal(parameter.place.short)}, listed={literal(parameter.varies)})"
        )
        if conditions:
            yield f"if {' and '.join(f'({each})' for each in conditions)}:"
            yield f"    {call}"
        else:
            yield call

    @property
    def _mode(self) -> str:
        return literal(self.scope.mode.name)

    def _variable(self, variable: LiveVariable) -> Iterator[str]:
        if not variable.seen_in:
            return
        local = self.scope.local(variable.name)
        place = literal(variable.place.short)
        low, high = self._end(variable.range.low), self._end(variable.range.high)
        yield comment(variable.place.short, 8)
        if variable.per is None:
            yield f"{local} = {self._seen(variable)}"
            yield f"if not {low} <= {local} <= {high}:"
            yield f"    raise {self._refused(variable, local, low, high)}"
            return
        yield f"{local}: list[int] = values_of({self._fields(variable)})"
        count = self.scope.local(variable.per)
        yield f"if len({local}) != {count}:"
        yield (
            f"    raise out_of_range({self._mode}, {literal(f'number of {variable.name}')}, "
            f"len({local}), {count}, {count}, place={place}, lower={literal(variable.per)}, "
            f"upper={literal(variable.per)})"
        )
        yield f"for value in (min({local}, default=None), max({local}, default=None)):"
        yield f"    if value is not None and not {low} <= value <= {high}:"
        yield f"        raise {self._refused(variable, 'value', low, high)}"

    def _refused(self, variable: LiveVariable, value: str, low: str, high: str) -> str:
        """The error for a value outside of its range."""
        ends = {"lower": variable.range.low, "upper": variable.range.high}
        texts = {side: bound_text(self.scope, end) for side, end in ends.items()}
        written = [ends[side] for side, text in texts.items() if text]
        shown = [f"{side}={literal(text)}" for side, text in texts.items() if text]
        values = values_behind(self.scope, *written)
        shown += [] if values == "{}" else [f"values={values}"]
        return (
            f"out_of_range({self._mode}, {literal(variable.name)}, {value}, {low}, {high}, "
            f"place={literal(variable.place.short)}{''.join(f', {each}' for each in shown)})"
        )

    def _end(self, end: Expr) -> str:
        return summing_source(self.scope).of(self.scope.runner.of_batch(end))

    def _fields(self, variable: LiveVariable) -> str:
        engine = self.scope.runner.engine
        return ", ".join(f"live.{engine.live_field(each).name}" for each in variable.seen_in)

    def _seen(self, variable: LiveVariable) -> str:
        """The first present source; a number is always present."""
        engine = self.scope.runner.engine
        fields = [(engine.live_field(each), each.dimension or 0) for each in variable.seen_in]
        dimensions = {dimension for _, dimension in fields}
        if all(field.is_tensor for field, _ in fields) and len(dimensions) == 1:
            along = f", dimension={dimensions.pop()}" if dimensions != {0} else ""
            listed = ", ".join(f"live.{field.name}" for field, _ in fields)
            return f"live_extent({listed}{along})"
        text = ""
        for field, dimension in fields:
            if not field.is_tensor:
                return f"{text}live.{field.name}"
            text += (
                f"live_extent(live.{field.name}, dimension={dimension}) "
                f"if live.{field.name} is not None else "
            )
        return f"{text}0"

    def _relation(self, relation: Expr) -> Iterator[str]:
        """A relation between live variables, if load sees all of them."""
        live = {variable.name for variable in self.scope.mode.live}
        used = free_names(relation) & live
        if not used <= self.scope.visible:
            return
        broken = negated(fold(self.scope.runner.of_batch(relation)))
        yield comment(relation.place.short, 8)
        yield f"if {summing_source(self.scope).of(broken)}:"
        yield (
            f"    raise broken_relation({self._mode}, {literal(spell(relation))}, "
            f"{values_behind(self.scope, relation)}, place={literal(relation.place.short)})"
        )

    def _rows(self) -> Iterator[str]:
        yield f"rows = {_called(live_function(self.scope))}"
        chosen = "pad if isinstance(pad, Rows) else " if self._has_choice else ""
        yield f"padded_rows = {chosen}{_called(pad_function(self.scope))} if pad else rows"
        yield from self._fitted()

    def _fitted(self) -> Iterator[str]:
        """The rows that the runner makes of those that it accepts."""
        runner = self.scope.runner.runner
        yield from Accepting(self.scope, "rows", "padded_rows").checks()
        if runner.pipeline:
            yield "if pad:"
            fitted = _called(fit_function(self.scope), rows="padded_rows")
            yield f"    padded_rows = {fitted}"

    def _capacities(self) -> Iterator[str]:
        for axis in self.scope.runner.engine.axes:
            field = self.scope.runner.engine.axis(axis.name)
            yield self._capacity(axis.name, f"padded_rows.{field}", field, axis.place.short)

    def _capacity(self, target: str, extent: str, field: str, place: str) -> str:
        return (
            f"check_extent({self._mode}, {literal(target)}, {extent}, self.capacities.{field}, "
            f"place={literal(place)}, binding={literal(self._binding(target))})"
        )

    def _binding(self, target: str) -> str:
        runner = self.scope.runner
        capacity = runner.capacity(target)
        own = [each for each in capacity.candidates if each.mode == self.scope.mode.name]
        formula = own[0].formula if len(own) == 1 else capacity.formula
        return shortened(formula)

    def _loaded_own(self) -> Iterator[OwnExtent]:
        for each in own_extents(self.scope.runner):
            if self.scope.mode.name in each.slot.tails:
                yield each

    def _is_computed(self, own: OwnExtent) -> bool:
        """Whether an extent follows from what load sees; otherwise its source brings it."""
        live = {variable.name for variable in self.scope.mode.live}
        names = free_names(self.scope.runner.unfold(own.dimension.extent))
        return names & live <= self.scope.visible

    def _seen_own(self, own: OwnExtent) -> Iterator[str]:
        """An extent that is that of the source."""
        if self._is_computed(own) or own.slot.source is None:
            return
        field = self.scope.runner.engine.live_field(own.slot.source).name
        yield comment(own.slot.place.short, 8)
        yield f"{own.name} = live_extent(live.{field}, dimension={own.position})"
        yield f"{own.live} = {own.name}"
        yield self._own_capacity(own)

    def _own(self) -> Iterator[str]:
        """The extents that follow from rows, and those of slots that have neither."""
        engine = self.scope.runner.engine
        for each in self._loaded_own():
            if self._is_computed(each):
                extent = self.scope.runner.unfold(each.dimension.extent)
                yield comment(each.slot.place.short, 8)
                for name, rows in ((each.name, "padded_rows"), (each.live, "rows")):
                    axes = {
                        f"padded_{a.name}": f"{rows}.{engine.axis(a.name)}" for a in engine.axes
                    }
                    yield f"{name} = ({summing_source(self.scope, axes).of(extent)})"
                yield self._own_capacity(each)
            elif each.slot.source is None:
                yield comment(each.slot.place.short, 8)
                yield f"{each.name} = {each.live} = 0"

    def _own_capacity(self, own: OwnExtent) -> str:
        target = own.dimension.target or own.slot.name
        return self._capacity(target, own.name, own.name, own.slot.place.short)


def _bracketed(condition: str) -> str:
    return f"({condition})" if " or " in condition or " if " in condition else condition


def _called(function: FunctionView, rows: str = "rows") -> str:
    """A call that passes each argument by its own name; `rows`: what it is given as rows."""
    passed: list[str] = []
    for argument in function.arguments:
        name, _, kind = argument.partition(": ")
        passed.append(f"self.{name}" if kind == "Ranks" else rows if name == "rows" else name)
    return f"{function.name}({', '.join(passed)})"
