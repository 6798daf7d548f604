"""The batch that a runner is warmed up with: the witness of a capacity, filled like padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ullage.bound.capacities import Candidate
from ullage.emit.axes import brought_axes
from ullage.emit.live_fields import LiveField
from ullage.emit.model import RunnerModel
from ullage.emit.names import distinct
from ullage.emit.padding import expansions, mentions
from ullage.emit.registry import dtype_source
from ullage.emit.scope import scope_of
from ullage.emit.source import Source
from ullage.emit.text import comment, tuple_of
from ullage.expr.parse import SourceRef
from ullage.expr.simplify import fold
from ullage.expr.tree import TRUE, Expr, conjunction, free_names, substitute
from ullage.plan.model import PlannedSlot
from ullage.spec.model import LiveVariable, Mode
from ullage.spec.runner_parts import WarmUp


@dataclass(frozen=True, slots=True)
class WitnessView:
    """The largest batch of one mode, as a function of the configuration.

    `lines` compute its live variables and rows; `fields` are those of the live batch.
    """

    place: str
    mode: str
    member: str
    condition: str
    lines: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WarmUpView:
    """How a runner warms up; `modes` in the order in which they are tried."""

    place: str
    step: str
    modes: tuple[WitnessView, ...]


@dataclass(frozen=True, slots=True)
class WarmUps:
    """Writes the warm-up of one runner."""

    runner: RunnerModel

    def view(self) -> WarmUpView | None:
        """The warm-up, or None if the runner has none or this worker serves none of its modes."""
        warm_up = self.runner.runner.warm_up
        if warm_up is None:
            return None
        modes = tuple(self._modes(warm_up))
        return WarmUpView(comment(warm_up.place.short, 4), warm_up.step, modes) if modes else None

    def _modes(self, warm_up: WarmUp) -> Iterator[WitnessView]:
        served = {mode.name: problem for mode, problem in self.runner.modes}
        for name in warm_up.modes:
            for view in self._witnesses(name, served[name].guard) if name in served else ():
                yield view
                if not view.condition:
                    return

    def _witnesses(self, name: str, guard: Expr) -> Iterator[WitnessView]:
        """One witness for each branch of the mode's largest extent along the last axis."""
        mode = self.runner.engine.mode(name)
        axis = brought_axes(self.runner.engine)[-1].name
        for candidate in self.runner.capacity(axis).candidates:
            if candidate.mode == mode.name:
                yield self._witness(mode, candidate, guard)

    def _witness(self, mode: Mode, candidate: Candidate, guard: Expr) -> WitnessView:
        source = self.runner.engine.settings.source("config")
        condition = fold(conjunction(guard, candidate.condition))
        fields = tuple(self._fields(mode))
        used = [text for _, text in fields]
        lines: list[str] = []
        for local, value in reversed(list(self._lines(mode, candidate, source))):
            if any(mentions(text, local) for text in used):
                lines.insert(0, f"{local} = ({value})")
                used.append(value)
        return WitnessView(
            comment(mode.place.short, 8),
            mode.name,
            mode.name.upper(),
            "" if condition == TRUE else source.of(condition),
            tuple(lines),
            fields,
        )

    def _lines(self, mode: Mode, candidate: Candidate, source: Source) -> Iterator[tuple[str, str]]:
        """Local variables with their values, live variables first."""
        scope = scope_of(self.runner, mode)
        for variable in mode.live:
            if variable.name in candidate.witness:
                value = candidate.witness[variable.name]
                yield scope.local(variable.name), source.of(value)
        rows = self._rows(mode, candidate.witness)
        for axis in self.runner.engine.axes:
            yield self._rows_local(mode, axis.name), source.of(rows[axis.name])

    def _rows(self, mode: Mode, witness: Mapping[str, Expr]) -> Mapping[str, Expr]:
        """The live rows of the witness, over parameters."""
        problem = next(each for each in self.runner.problem.modes if each.name == mode.name)
        stage = problem.stages[len(expansions(self.runner, mode))]
        return {
            axis: fold(substitute(extent, dict(witness))) for axis, extent in stage.extents.items()
        }

    def _rows_local(self, mode: Mode, axis: str) -> str:
        """Live rows along an axis as a local variable."""
        scope = scope_of(self.runner, mode)
        return distinct(f"rows_{axis}", (scope.local(each.name) for each in mode.live))

    def _fields(self, mode: Mode) -> Iterator[tuple[str, str]]:
        scope = scope_of(self.runner, mode)
        engine = self.runner.engine
        seen: set[str] = set()
        for variable in mode.live:
            for each in variable.seen_in:
                field = engine.live_field(each)
                if not field.is_tensor and field.name not in seen:
                    seen.add(field.name)
                    yield field.name, scope.local(variable.name)
        for slot in self.runner.slots:
            if mode.name in slot.tails and slot.source is not None:
                name = engine.live_field(slot.source).name
                if name not in seen:
                    seen.add(name)
                    yield name, self._tensor(slot, mode)
        for variable in mode.live:
            assumed = () if variable.debug_in is None else (variable.debug_in,)
            sources = variable.seen_in or assumed
            if sources and not any(engine.live_field(each).name in seen for each in sources):
                field = engine.live_field(sources[0])
                seen.add(field.name)
                yield field.name, self._shown(variable, sources[0], field, mode)

    def _shown(
        self, variable: LiveVariable, source: SourceRef, field: LiveField, mode: Mode
    ) -> str:
        """A field that is no slot's source: the value, or the least of them for each request."""
        scope = scope_of(self.runner, mode)
        if variable.per is not None:
            known = {each.name: scope.local(each.name) for each in mode.live}
            least = scope.source(known).of(self.runner.of_batch(variable.range.low))
            return f"torch.full(({scope.local(variable.per)},), {least})"
        local = scope.local(variable.name)
        if not field.is_tensor:
            return local
        if source.dimension is not None:
            return f"torch.ones({', '.join([*['1'] * source.dimension, local])})"
        return f"torch.tensor([{local}])"

    def _tensor(self, slot: PlannedSlot, mode: Mode) -> str:
        """A tensor that no reader minds: of what a batch has to bring, or else of padding."""
        engine = self.runner.engine
        axes = {f"padded_{axis.name}": self._rows_local(mode, axis.name) for axis in engine.axes}
        source = engine.settings.source("config").with_names(axes)
        field = self.runner.field(slot.name)
        own = self.runner.own_extents_of(slot)
        shape = tuple_of(
            "0" if position in own else source.of(dimension.extent)
            for position, dimension in enumerate(slot.dimensions)
        )
        filled = f"torch.full({shape}, {self._value(slot, mode, source)}"
        if slot.carried_otherwise:
            device = "self.registry.regions.device"
            dtype = dtype_source(slot, device)
            where = '"cpu"' if slot.device == "host" else device
            return f"{filled}, dtype={dtype}, device={where})"
        registry = f"self.registry.{field}"
        tensor = f"{filled}, dtype={registry}.dtype, device={registry}.device)"
        return f"None if {registry} is None else {tensor}" if slot.guard != TRUE else tensor

    def _value(self, slot: PlannedSlot, mode: Mode, source: Source) -> str:
        if slot.live_range is not None:
            return source.of(slot.live_range.low)
        fill = slot.tails[mode.name].fill
        live = {f"live_{axis.name}" for axis in self.runner.engine.axes}
        if fill is not None and not free_names(fill) & live:
            return source.of(fill)
        return "0" if slot.range is None else source.of(slot.range.low)
