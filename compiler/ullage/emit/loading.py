"""How a runner loads: extents of each mode, checks before any write, then heads and tails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ullage.emit.model import RunnerModel
from ullage.emit.padding import (
    FunctionView,
    Scope,
    live_function,
    pad_function,
    scope_of,
    summing_source,
)
from ullage.emit.registry import follows_rows, is_viewed
from ullage.emit.source import Source, shortened
from ullage.emit.text import comment, literal
from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Expr, Name, free_names, substitute
from ullage.plan.model import Dimension, PlannedSlot, Tail
from ullage.spec.model import LiveVariable, Mode, Range


@dataclass(frozen=True, slots=True)
class ExtentsView:
    """The method that finds and checks the extents of one mode."""

    place: str
    mode: str
    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SlotLoad:
    """How one slot is loaded in the modes of a group.

    `source` is the live batch's field, empty for a computed slot; `check` are the lines before
    any write, `write` those that write; `exposed` is what the batch gets, `untouched` what it
    gets when nothing is copied.
    """

    name: str
    place: str
    view: tuple[str, ...]
    check: tuple[str, ...]
    values: tuple[str, ...]
    poison: tuple[str, ...]
    write: tuple[str, ...]
    verify: tuple[str, ...]
    exposed: str
    untouched: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """Modes that load the same slots with the same tails."""

    name: str
    modes: tuple[str, ...]
    slots: tuple[SlotLoad, ...]
    absent: tuple[str, ...]
    unloaded: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class Loading:
    """Writes the loading part of one runner."""

    runner: RunnerModel

    @property
    def scopes(self) -> Mapping[str, Scope]:
        """The scope of every mode."""
        return {mode.name: scope_of(self.runner, mode) for mode, _ in self.runner.modes}

    @property
    def own_extents(self) -> tuple[OwnExtent, ...]:
        """The dimensions whose extent does not follow from padded rows."""
        return tuple(
            OwnExtent(slot, position, dimension, self.runner.capacity_field(dimension.target))
            for slot, position, dimension in self.runner.own_dimensions
            if dimension.target is not None
            and not follows_rows(self.runner.engine, dimension.extent)
        )

    @property
    def extents_class(self) -> str:
        """The class that holds the extents of a batch."""
        return self.runner.classes.extents if self.own_extents else "Extents"

    def functions(self) -> Iterator[FunctionView]:
        """The pure functions of every mode."""
        for mode, _ in self.runner.modes:
            scope = self.scopes[mode.name]
            if mode.live:
                yield live_function(scope)
            yield pad_function(scope)

    def extents(self) -> Iterator[ExtentsView]:
        """The methods that find the extents of every mode."""
        for mode, _ in self.runner.modes:
            scope = self.scopes[mode.name]
            lines = tuple(_Extents(self, scope).lines())
            yield ExtentsView(comment(mode.place.short, 4), literal(mode.name), mode.name, lines)

    def groups(self) -> tuple[GroupView, ...]:
        """Modes by what they load."""
        grouped: dict[tuple[object, ...], list[Mode]] = {}
        for mode, _ in self.runner.modes:
            key = tuple(
                (slot.name, slot.tails[mode.name].fill)
                for slot in self.runner.slots
                if mode.name in slot.tails
            )
            grouped.setdefault(key, []).append(mode)
        return tuple(self._group(modes) for modes in grouped.values())

    def _group(self, modes: list[Mode]) -> GroupView:
        first = modes[0].name
        loaded = [slot for slot in self.runner.slots if first in slot.tails]
        absent = [slot for slot in self.runner.slots if first not in slot.tails]
        slots = tuple(_SlotWriter(self, slot, slot.tails[first]).load() for slot in loaded)
        fields = [self.runner.field(slot.name) for slot in absent]
        return GroupView(
            group_name(modes, self.runner),
            tuple(mode.name for mode in modes),
            slots,
            tuple(fields),
            tuple(f"self.registry.{field}" for field in fields),
        )


def group_name(modes: list[Mode], runner: RunnerModel) -> str:
    """A family if the modes are exactly its own, else the first mode."""
    families = [family for family in modes[0].families if all(family in m.families for m in modes)]
    for family in families:
        members = [mode.name for mode, _ in runner.modes if family in mode.families]
        if members == [mode.name for mode in modes]:
            return family
    return modes[0].name


@dataclass(frozen=True, slots=True)
class _Extents:
    """Writes how one mode's extents are found and checked."""

    loading: Loading
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
        yield f"return {self.loading.extents_class}(rows, padded_rows{extra})"

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
        guard = fold(runner.rewrite(substitute(parameter.when, {})))
        exists = fold(runner.rewrite(varied.when))
        conditions = [source.of(each) for each in dict.fromkeys((guard, exists)) if each != TRUE]
        members = source.of(runner.rewrite(Name(parameter.varies)))
        value = f"present({local})" if parameter.when != TRUE else local
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
        return summing_source(self.scope).of(fold(self.scope.runner.rewrite(end)))

    def _fields(self, variable: LiveVariable) -> str:
        engine = self.scope.runner.engine
        return ", ".join(f"live.{engine.live_field(each).name}" for each in variable.seen_in)

    def _seen(self, variable: LiveVariable) -> str:
        """The first present source; a number is always present."""
        engine = self.scope.runner.engine
        fields = [(engine.live_field(each), each.dimension or 0) for each in variable.seen_in]
        dimensions = {dimension for _, dimension in fields}
        if all(field.is_tensor for field, _ in fields) and len(dimensions) == 1:
            dimension = f", dimension={dimensions.pop()}" if dimensions != {0} else ""
            listed = ", ".join(f"live.{field.name}" for field, _ in fields)
            return f"live_extent({listed}{dimension})"
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
        rewritten = fold(self.scope.runner.rewrite(relation))
        spelled = self.scope.runner.engine.settings.spelled
        per = {variable.name for variable in self.scope.mode.live if variable.per}
        values = ", ".join(
            f"{literal(name)}: "
            + (f"sum({self.scope.local(name)})" if name in per else self.scope.local(name))
            for name in sorted(used)
        )
        yield comment(relation.place.short, 8)
        yield (
            f"check_relation({self._mode}, {source.of(rewritten)}, "
            f"{literal(shortened(rewritten, spelled))}, {{{values}}}, "
            f"place={literal(relation.place.short)})"
        )

    def _rows(self) -> Iterator[str]:
        mode = self.scope.mode
        pad = pad_function(self.scope)
        if mode.live:
            yield f"rows = {_called(live_function(self.scope))}"
        else:
            zeros = ", ".join("0" for _ in self.scope.runner.engine.axes)
            yield f"rows = Rows({zeros})"
        yield f"padded_rows = {_called(pad)} if pad else rows"

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
        return shortened(formula, runner.engine.settings.spelled)

    def _loaded_own(self) -> Iterator[OwnExtent]:
        for each in self.loading.own_extents:
            if self.scope.mode.name in each.slot.tails:
                yield each

    def _own(self) -> Iterator[str]:
        engine = self.scope.runner.engine
        for each in self._loaded_own():
            names = free_names(each.dimension.extent)
            live = {variable.name for variable in self.scope.mode.live}
            yield comment(each.slot.place.short, 8)
            if names & live <= self.scope.visible:
                for name, rows in ((each.name, "padded_rows"), (each.live, "rows")):
                    axes = {f"padded_{a.name}": f"{rows}.{engine.axis(a.name)}" for a in engine.axes}
                    source = summing_source(self.scope, axes)
                    yield f"{name} = ({source.of(each.dimension.extent)})"
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


@dataclass(frozen=True, slots=True)
class _SlotWriter:
    """Writes how one slot is checked and loaded in one group of modes."""

    loading: Loading
    slot: PlannedSlot
    tail: Tail

    def load(self) -> SlotLoad:
        return self._computed() if self.slot.compute is not None else self._copied()

    @property
    def _runner(self) -> RunnerModel:
        return self.loading.runner

    @property
    def _field(self) -> str:
        return self._runner.field(self.slot.name)

    @property
    def _live(self) -> str:
        """The source as a field of the live batch."""
        source = self.slot.source
        return "" if source is None else self._runner.engine.live_field(source).name

    @property
    def _guarded(self) -> bool:
        return self.slot.guard != TRUE

    @property
    def _viewed(self) -> bool:
        return is_viewed(self._runner.engine, self.slot)

    @property
    def _view(self) -> str:
        return f"views.{self._field}" if self._viewed else f"{self._field}_view"

    @property
    def _source(self) -> Source:
        """Expressions over live and padded extents."""
        engine = self._runner.engine
        names = {f"live_{a.name}": f"rows.{engine.axis(a.name)}" for a in engine.axes}
        names |= {f"padded_{a.name}": f"padded.{engine.axis(a.name)}" for a in engine.axes}
        return engine.settings.source("config").with_names(names)

    def _own_view(self) -> Iterator[str]:
        """The lines that take the view of a slot that does not follow from padded rows."""
        if self._viewed:
            return
        shape = ", ".join(self._extent(position, live=False) for position in self._positions)
        registry = f"self.registry.{self._field}"
        view = f"padded_view({registry}, {shape})"
        text = f"None if {registry} is None else {view}" if self._guarded else view
        yield f"{self._view} = {text}"

    @property
    def _positions(self) -> range:
        return range(len(self.slot.dimensions))

    def _extent(self, position: int, *, live: bool) -> str:
        """The extent of a dimension in the batch, of live or of all rows."""
        dimension = self.slot.dimensions[position]
        for own in self.loading.own_extents:
            if own.slot == self.slot and own.position == position:
                return f"extents.{own.live if live else own.name}"
        engine = self._runner.engine
        rows = "rows" if live else "padded"
        names = {f"padded_{a.name}": f"{rows}.{engine.axis(a.name)}" for a in engine.axes}
        return engine.settings.source("config").with_names(names).of(dimension.extent)

    @property
    def _moving(self) -> list[int]:
        """The dimensions along which live and padded rows may differ."""
        return [p for p in self._positions if self.slot.dimensions[p].target is not None]

    def _fill(self) -> str:
        return "None" if self.tail.fill is None else self._source.of(self.tail.fill)

    def _copied(self) -> SlotLoad:
        value = f"live.{self._live}"
        if self._guarded:
            value = f"None if {self._view} is None else {value}"
        wanted = self._presence()
        check = [f"{self._field} = {value}"]
        if wanted:
            check += [f"if {wanted}:", f"    {self._check_source()}"]
        else:
            check = [f"{self._field} = {self._check_source(value)}"]
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 8),
            tuple(self._own_view()),
            tuple(check),
            tuple(self._values()),
            tuple(self._poison()),
            tuple(self._writes()),
            tuple(self._verify()),
            self._exposed(),
            self._field,
        )

    def _present(self) -> str:
        return f"{self._field} is not None"

    def _presence(self) -> str:
        """When the source is looked at: an optional one if given, others if rows are live."""
        if self.slot.optional:
            return self._present()
        rows = [self._extent(position, live=True) for position in self._moving]
        parts = [self._present(), *(f"{each} > 0" for each in rows[:1])]
        if not rows:
            return f"{self._view} is not None" if self._guarded else ""
        condition = " or ".join(parts)
        return f"{self._view} is not None and ({condition})" if self._guarded else condition

    def _check_source(self, source: str = "") -> str:
        shape = "".join(f"{self._extent(position, live=True)}, " for position in self._positions)
        accepts = "".join(f"torch.{each}, " for each in self.slot.accepts)
        given = f", accepts=({accepts})" if accepts else ""
        view = self._view
        if self._guarded and self.slot.optional:
            view = f"present({view})"
        return (
            f"check_source(mode, {literal(self.slot.name)}, {source or self._field}, "
            f"shape=({shape}), into={view}, place={literal(self.slot.place.short)}{given})"
        )

    def _values(self) -> Iterator[str]:
        if self.slot.values is None:
            return
        low, high = self._range(self.slot.values)
        yield f"if live.{self._live} is not None:"
        yield (
            f"    check_values(mode, {literal(self.slot.name)}, live.{self._live}, {low}, {high}, "
            f"place={literal(self.slot.place.short)})"
        )

    def _range(self, values: Range) -> tuple[str, str]:
        source = self._runner.engine.settings.source("config")
        return source.of(values.low), source.of(values.high)

    def _poison(self) -> Iterator[str]:
        registry = f"self.registry.{self._field}"
        if self._guarded:
            yield f"if {registry} is not None:"
            yield f"    poison_around({registry}, live.{self._live})"
        else:
            yield f"poison_around({registry}, live.{self._live})"

    def _writes(self) -> Iterator[str]:
        condition = self._written()
        margin = "    " if condition else ""
        if condition:
            yield f"if {condition}:"
        if len(self._moving) > 1:
            yield f"{margin}load_block({self._view}, {self._field}, {self._fill()})"
            return
        if not self._moving:
            yield f"{margin}load_rows({self._view}, {self._field}, {self._view}.shape[0])"
            return
        (axis,) = self._moving
        along = f", axis={axis}" if axis else ""
        rows = self._extent(axis, live=True)
        yield f"{margin}load_rows({self._view}, {self._field}, {rows}, {self._fill()}{along})"

    def _written(self) -> str:
        """When the slot is written at all."""
        if self.slot.optional:
            guard = f"{self._view} is not None and " if self._guarded else ""
            return guard + self._present()
        return f"{self._view} is not None" if self._guarded else ""

    def _verify(self) -> Iterator[str]:
        if self.tail.fill is None:
            return
        batch = f"batch.{self._field}"
        yield f"if {batch} is not None:"
        yield (
            f"    require_unpoisoned(mode, {literal(self.slot.name)}, {batch}, "
            f"place={literal(self.slot.place.short)})"
        )

    def _exposed(self) -> str:
        if self.slot.optional:
            return f"{self._view} if {self._present()} else None"
        return self._view

    def _computed(self) -> SlotLoad:
        compute = self.slot.compute
        value = "0" if compute is None else self._source.of(compute)
        registry = f"self.registry.{self._field}"
        write = [f"write_scalar({self._view}, {value})"]
        poison = [f"poison_around({registry}, None)"]
        untouched = f"torch.full_like({self._view}, {value})"
        if self._guarded:
            write = [f"if {self._view} is not None:", f"    {write[0]}"]
            poison = [f"if {registry} is not None:", f"    {poison[0]}"]
            untouched = f"None if {self._view} is None else {untouched}"
        return SlotLoad(
            self._field,
            comment(self.slot.place.short, 8),
            tuple(self._own_view()),
            (),
            (),
            tuple(poison),
            tuple(write),
            (),
            self._view,
            untouched,
        )

