"""How a runner finds the extents of a live batch, and checks them before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ullage.emit.accepting import Accepting
from ullage.emit.axes import axes_of_sources
from ullage.emit.legality import LegalityWriter
from ullage.emit.model import OwnExtent, RunnerModel
from ullage.emit.padding import (
    FunctionView,
    exchanges_of_padding,
    fit_function,
    live_function,
    pad_function,
    summing_source,
)
from ullage.emit.refusals import refusing
from ullage.emit.scope import Scope
from ullage.emit.source import shortened
from ullage.emit.text import comment, literal
from ullage.expr.tree import free_names
from ullage.plan.model import PlannedSlot


def extents_class(runner: RunnerModel) -> str:
    """The class that holds the extents of a batch."""
    return runner.classes.extents if runner.own_extents else "Extents"


@dataclass(frozen=True, slots=True)
class ExtentsWriter:
    """Writes how one mode's extents are found and checked."""

    scope: Scope

    def lines(self, check: str = "") -> Iterator[str]:
        """`check`: the call that checks the mode's sources, if it has any."""
        pads = "pad is True" if self._has_choice else "pad"
        checked = ("if sources:", f"    {check}") if check else ()
        yield from self._told(tuple(self._checks()), self._brought(), checked, pads)
        yield from self._rows()
        yield from self._capacities()
        yield from self._own()
        extra = "".join(
            f", {each.name}={each.name}, {each.live}={each.live}" for each in self._loaded_own()
        )
        yield f"return {extents_class(self.scope.runner)}(rows, padded_rows{extra})"

    def offered(self, module: str, check: tuple[str, ...] = ()) -> Iterator[str]:
        """The rows of a legal batch before and after the pipeline of its mode, for any runner.

        `check`: statements that check sources, once rows are known.
        """
        rows = f"rows = {module}.{_called(live_function(self.scope))}"
        yield from self._told(tuple(LegalityWriter(self.scope).lines()), (rows,), check, "")
        yield f"padded_rows = {module}.{_called(pad_function(self.scope))}"

    def live_extents(self, slots: Collection[str]) -> Iterator[str]:
        """What the sources of some slots bring along extents that are not those of rows."""
        for each in self._loaded_own():
            if each.slot.name not in slots:
                continue
            if self._is_computed(each) or each.slot.source is None:
                yield from self._live_own(each)
            else:
                yield f"{each.live} = {self._extent_of_source(each)}"

    @property
    def _has_choice(self) -> bool:
        """Whether the batch may come with the rows by which a runner was chosen."""
        runner = self.scope.runner
        return runner.engine.has_choice(runner.planned.worker)

    def _checks(self) -> Iterator[str]:
        """What this rank alone can tell, before it exchanges anything with others."""
        yield from LegalityWriter(self.scope).lines()
        for each in self._loaded_own():
            yield from self._seen_own(each)

    def _told(
        self, legal: tuple[str, ...], brought: Iterable[str], sources: tuple[str, ...], pads: str
    ) -> Iterator[str]:
        """Whether the batch is legal, what it brings along each axis, and whether sources do.

        If a check fails, the ranks that wait in an exchange hear of it. `pads`: the condition that
        this rank takes part in exchanges, empty where it always does.
        """
        exchanges = exchanges_of_padding(self.scope)
        if not exchanges or not (legal or sources):
            yield from (*legal, *brought, *sources)
            return
        yield "try:"
        yield from (f"    {line}" for line in (*legal, *brought, *sources))
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

    def _brought(self) -> Iterator[str]:
        """The rows that the sources bring, and what they bring along other extents."""
        yield f"rows = {_called(live_function(self.scope))}"
        for each in self._loaded_own():
            yield from self._live_own(each)

    def _rows(self) -> Iterator[str]:
        chosen = "pad.rows if isinstance(pad, Offer) else " if self._has_choice else ""
        yield f"padded_rows = {chosen}{_called(pad_function(self.scope))} if pad else rows"
        yield from self._fitted()

    def _fitted(self) -> Iterator[str]:
        """The rows that the runner makes of those that it accepts."""
        runner = self.scope.runner.runner
        yield from Accepting(self.scope, "rows", "padded_rows").checks()
        if runner.pipeline_in(self.scope.mode.name):
            yield "if pad:"
            fitted = _called(fit_function(self.scope), rows="padded_rows")
            yield f"    padded_rows = {fitted}"

    def _capacities(self) -> Iterator[str]:
        runner = self.scope.runner
        for axis in runner.engine.axes:
            if axis.name not in runner.problem.targets:
                continue
            field = runner.engine.axis(axis.name)
            live = f"rows.{field}" if axis in axes_of_sources(runner.engine) else "0"
            rows = f"{live}, padded_rows.{field}"
            yield self._capacity(axis.name, rows, field, axis.place.short)
            for target, slot in self._shorter(axis.name).items():
                name = self.scope.runner.capacity_field(target)
                yield self._capacity(target, rows, name, slot.place.short)

    def _shorter(self, axis: str) -> dict[str, PlannedSlot]:
        """The capacities of slots along an axis that only some modes load, this one among them."""
        found: dict[str, PlannedSlot] = {}
        for slot in self.scope.runner.slots:
            for each in slot.dimensions:
                shorter = each.along == axis and each.target not in (None, axis)
                if shorter and each.target is not None and self.scope.mode.name in slot.tails:
                    found.setdefault(each.target, slot)
        return found

    def _capacity(self, target: str, extents: str, field: str, place: str) -> str:
        """`extents`: live and padded."""
        return (
            f"check_extent({literal(self.scope.mode.name)}, {literal(target)}, {extents}, "
            f"self.capacities.{field}, "
            f"place={literal(place)}, binding={literal(self._binding(target))})"
        )

    def _binding(self, target: str) -> str:
        runner = self.scope.runner
        capacity = runner.capacity(target)
        own = [each for each in capacity.candidates if each.mode == self.scope.mode.name]
        formula = own[0].formula if len(own) == 1 else capacity.formula
        return shortened(formula)

    def _loaded_own(self) -> Iterator[OwnExtent]:
        for each in self.scope.runner.own_extents:
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
        yield comment(own.slot.place.short, 8)
        yield f"{own.name} = {self._extent_of_source(own)}"
        yield f"{own.live} = {own.name}"
        yield self._own_capacity(own)

    def _extent_of_source(self, own: OwnExtent) -> str:
        source = own.slot.source
        field = "" if source is None else self.scope.runner.engine.live_field(source).name
        return (
            f"live_extent({literal(self.scope.mode.name)}, {literal(own.slot.name)}, live.{field}, "
            f"place={literal(own.slot.place.short)}, dimension={own.position})"
        )

    def _live_own(self, own: OwnExtent) -> Iterator[str]:
        """The live extent that follows from rows, or that of a slot which has neither."""
        if self._is_computed(own):
            yield comment(own.slot.place.short, 8)
            yield f"{own.live} = ({self._extent(own, 'rows')})"
        elif own.slot.source is None:
            yield comment(own.slot.place.short, 8)
            yield f"{own.name} = {own.live} = 0"

    def _own(self) -> Iterator[str]:
        """The padded extents that follow from padded rows."""
        for each in self._loaded_own():
            if self._is_computed(each):
                yield comment(each.slot.place.short, 8)
                yield f"{each.name} = ({self._extent(each, 'padded_rows')})"
                yield self._own_capacity(each)

    def _extent(self, own: OwnExtent, rows: str) -> str:
        engine = self.scope.runner.engine
        axes = {f"padded_{a.name}": f"{rows}.{engine.axis(a.name)}" for a in engine.axes}
        extent = self.scope.runner.unfold(own.dimension.extent)
        return summing_source(self.scope, axes).of(extent)

    def _own_capacity(self, own: OwnExtent) -> str:
        target = own.dimension.target or own.slot.name
        extents = f"{own.live}, {own.name}"
        return self._capacity(target, extents, own.name, own.slot.place.short)


def _bracketed(condition: str) -> str:
    return f"({condition})" if " or " in condition or " if " in condition else condition


def _called(function: FunctionView, rows: str = "rows") -> str:
    """A call that passes each argument by its own name; `rows`: what it is given as rows."""
    passed: list[str] = []
    for argument in function.arguments:
        name, _, kind = argument.partition(": ")
        passed.append(f"self.{name}" if kind == "Ranks" else rows if name == "rows" else name)
    return f"{function.name}({', '.join(passed)})"
