"""How a runner finds the extents of a live batch, and checks them before anything is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.padding import (
    FunctionView,
    Scope,
    live_function,
    pad_function,
    summing_source,
)
from ullage.emit.registry import follows_rows
from ullage.emit.source import shortened
from ullage.emit.text import comment, literal
from ullage.expr.simplify import fold
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
        mode = self.scope.mode
        yield from self._serving()
        for variable in mode.live:
            yield from self._variable(variable)
        for relation in mode.where:
            yield from self._relation(relation)
        yield from self._rows()
        yield from self._capacities()
        yield from self._own()
        extra = "".join(
            f", {each.name}={each.name}, {each.live}={each.live}" for each in self._loaded_own()
        )
        yield f"return {extents_class(self.scope.runner)}(rows, padded_rows{extra})"

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
            f"place={literal(parameter.place.short)})"
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
        subject = literal(variable.name)
        yield comment(variable.place.short, 8)
        if variable.per is None:
            yield f"{local} = {self._seen(variable)}"
            yield f"check_range({self._mode}, {subject}, {local}, {low}, {high}, place={place})"
            return
        yield f"{local}: list[int] = values_of({self._fields(variable)})"
        count = self.scope.local(variable.per)
        yield (
            f"check_range({self._mode}, {literal(f'number of {variable.name}')}, len({local}), "
            f"{count}, {count}, place={place})"
        )
        yield f"for value in (min({local}, default=None), max({local}, default=None)):"
        yield "    if value is not None:"
        yield f"        check_range({self._mode}, {subject}, value, {low}, {high}, place={place})"

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
        source = summing_source(self.scope)
        rewritten = self.scope.runner.of_batch(relation)
        per = {variable.name for variable in self.scope.mode.live if variable.per}
        values = ", ".join(
            f"{literal(name)}: "
            + (f"sum({self.scope.local(name)})" if name in per else self.scope.local(name))
            for name in sorted(used)
        )
        yield comment(relation.place.short, 8)
        yield (
            f"check_relation({self._mode}, {source.of(rewritten)}, "
            f"{literal(shortened(rewritten))}, {{{values}}}, "
            f"place={literal(relation.place.short)})"
        )

    def _rows(self) -> Iterator[str]:
        yield f"rows = {_called(live_function(self.scope))}"
        yield f"padded_rows = {_called(pad_function(self.scope))} if pad else rows"

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

    def _own(self) -> Iterator[str]:
        runner, engine = self.scope.runner, self.scope.runner.engine
        for each in self._loaded_own():
            extent = runner.unfold(each.dimension.extent)
            names = free_names(extent)
            live = {variable.name for variable in self.scope.mode.live}
            yield comment(each.slot.place.short, 8)
            if names & live <= self.scope.visible:
                for name, rows in ((each.name, "padded_rows"), (each.live, "rows")):
                    axes = {
                        f"padded_{a.name}": f"{rows}.{engine.axis(a.name)}" for a in engine.axes
                    }
                    source = summing_source(self.scope, axes)
                    yield f"{name} = ({source.of(extent)})"
            elif each.slot.source is not None:
                field = engine.live_field(each.slot.source).name
                yield f"{each.name} = live_extent(live.{field}, dimension={each.position})"
                yield f"{each.live} = {each.name}"
            else:
                yield f"{each.name} = {each.live} = 0"
            target = each.dimension.target or each.slot.name
            place = each.slot.place.short
            yield self._capacity(target, each.name, each.name, place)


def _called(function: FunctionView) -> str:
    """A call that passes each argument by its own name."""
    passed: list[str] = []
    for argument in function.arguments:
        name, _, kind = argument.partition(": ")
        passed.append(f"self.{name}" if kind == "Ranks" else name)
    return f"{function.name}({', '.join(passed)})"
