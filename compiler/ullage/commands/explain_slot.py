"""One slot: its shape with the capacity of each dimension, where it comes from, and its tail."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.analysis import Analysis
from ullage.bound.capacities import Capacity
from ullage.commands.check import binding_modes
from ullage.commands.definitions import definitions_of
from ullage.commands.formulas import broken
from ullage.commands.readable import bracketed
from ullage.commands.reporting import Json
from ullage.commands.settings import Settings, plain, shown
from ullage.commands.subjects import SlotSubject
from ullage.commands.tails import TailRule, tail_rules
from ullage.commands.terminal import Page
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE
from ullage.plan.bytes import PlacedSlot, layout_for
from ullage.plan.model import Dimension, PlannedSlot
from ullage.spec.model import Dtype


def show(analysis: Analysis, subject: SlotSubject, settings: Settings | None, page: Page) -> None:
    """What a reader of the spec wants to know of a slot, on one page."""
    _Explanation(analysis, subject, settings, page).show()


def dtype_of(slot: PlannedSlot) -> Dtype:
    """The dtype on the device that the slot lies on."""
    return slot.dtype if slot.device == "compute" else slot.cpu_dtype


def placed(subject: SlotSubject, settings: Settings) -> PlacedSlot | None:
    """The slot in one configuration, None where it does not exist."""
    found = layout_for(subject.runner, settings.values)
    return next((each for each in found if each.name == subject.slot.name), None)


@dataclass(frozen=True, slots=True)
class _Explanation:
    analysis: Analysis
    subject: SlotSubject
    settings: Settings | None
    page: Page

    def show(self) -> None:
        self._heading()
        if self.settings is not None and placed(self.subject, self.settings) is None:
            self._absent(self.settings)
            return
        for position, dimension in enumerate(self.subject.slot.dimensions):
            self.page.line()
            self._dimension(position, dimension)
        self.page.line()
        self._tail()
        self._names()

    def _heading(self) -> None:
        slot, runner, page = self.subject.slot, self.subject.runner, self.page
        page.sides([(f"{runner.name}.{slot.name}", "bold")], slot.place.short)
        if slot.doc:
            page.wrapped(slot.doc, indent=2)
        for guard in (runner.guard, slot.guard):
            if guard != TRUE:
                page.lines(broken(f"where {spell(guard)}", page.width - 2), indent=2)
        page.line()
        shape = ", ".join(_written(dimension) for dimension in slot.dimensions)
        page.line(f"shape   [{shape}] {dtype_of(slot)} on the {slot.device} device")
        if slot.source is not None:
            optional = ", which a batch may lack" if slot.optional else ""
            page.line(f"from    {slot.source}{optional}")
        if slot.value is not None:
            page.line(f"value   {spell(slot.value)}, computed by load")
        if slot.elements is not None:
            page.line(f"value   {spell(slot.elements.value)}, written once at the start")
        if slot.written_by:
            page.line(f"written by step {' or '.join(slot.written_by)}")
        if slot.range is not None:
            page.line(f"values  {spell(slot.range.low)} to {spell(slot.range.high)}")
        if slot.live_range is not None:
            low, high = spell(slot.live_range.low), spell(slot.live_range.high)
            page.line(f"live    {low} to {high}")
        self._number()

    def _number(self) -> None:
        if self.settings is None:
            return
        found = placed(self.subject, self.settings)
        if found is None:
            return
        shape = ", ".join(map(str, found.shape))
        self.page.line("here    ", (f"[{shape}], {found.bytes:,} bytes", "bold"))

    def _absent(self, settings: Settings) -> None:
        """Why this configuration does not have the slot."""
        slot, runner = self.subject.slot, self.subject.runner
        named, guard = runner.name, runner.guard
        if settings.holds(guard):
            named, guard = f"{named}.{slot.name}", slot.guard
        self.page.line(f"here    there is no {named}: not {bracketed(guard)}")

    def _dimension(self, position: int, dimension: Dimension) -> None:
        page, settings = self.page, self.settings
        capacity = self._capacity(dimension)
        page.line(f"dimension {position}  ", (_written(dimension), "cyan"))
        if capacity is not None:
            page.lines(broken(spell(dimension.capacity), page.width - 4), indent=4)
        if settings is not None:
            page.line((f"= {shown(settings.value(dimension.capacity))}", "bold"), indent=4)
        if capacity is None:
            page.line("fixed by parameters", indent=2)
            return
        page.wrapped("bound by " + ", ".join(binding_modes(capacity)), indent=2)
        if settings is not None:
            page.wrapped("here by " + ", ".join(settings.binding(capacity)), indent=2)
        how = "derived as" if dimension.rises is None else "rises with"
        page.line(f"{how} {capacity.runner}.{capacity.target}", indent=2)

    def _capacity(self, dimension: Dimension) -> Capacity | None:
        if dimension.target is None:
            return None
        return self.analysis.capacities.of(self.subject.runner.name, dimension.target)

    def _tail(self) -> None:
        slot, page = self.subject.slot, self.page
        if slot.row_axis is None:
            page.line("no tail: every load writes all of it")
            return
        page.line(f"tail    along dimension {slot.row_axis}")
        absent = self._modes_elsewhere()
        for rule in tail_rules(slot):
            modes = [each for each in rule.modes if each not in absent]
            if not modes:
                continue
            page.wrapped(", ".join(modes), indent=2)
            page.wrapped(_held(rule), indent=4)
            self._readers(rule)

    def _modes_elsewhere(self) -> set[str]:
        """The modes of the runner that the configuration, if there is one, does not have."""
        if self.settings is None:
            return set()
        runners = self.analysis.problem.runners
        runner = next(each for each in runners if each.name == self.subject.runner.name)
        return {each.name for each in runner.modes if not self.settings.holds(each.guard)}

    def _readers(self, rule: TailRule) -> None:
        for reader in self.analysis.resolved.spec.readers:
            if reader.name in rule.readers:
                place = next(
                    each.place for each in reader.reads if each.slot == self.subject.slot.name
                )
                self.page.sides(["as ", (reader.name, "cyan"), " needs"], place.short, indent=6)

    def _names(self) -> None:
        formulas = [dimension.capacity for dimension in self.subject.slot.dimensions]
        found = definitions_of(self.analysis.problem.domain, *formulas)
        if found:
            self.page.line()
            self.page.line("names")
        for definition in found:
            self.page.sides([(definition.name, "cyan")], definition.place.short, indent=2)
            self.page.lines(broken(spell(definition.value), self.page.width - 4), indent=4)
            if self.settings is not None:
                number = shown(self.settings.value(definition.value))
                self.page.line((f"= {number}", "bold"), indent=4)


def _written(dimension: Dimension) -> str:
    return dimension.axis or spell(dimension.extent)


def _held(rule: TailRule) -> str:
    if rule.fill is None:
        return "padded rows stay as they were: no reader looks at them"
    return f"padded rows hold {spell(rule.fill)}"


def document(analysis: Analysis, subject: SlotSubject, settings: Settings | None) -> Json:
    """What `--json` writes; numbers are there with a configuration only."""
    slot, runner = subject.slot, subject.runner
    found = None if settings is None else placed(subject, settings)
    dimensions: list[Json] = [
        {
            "written": _written(each),
            "capacity": spell(each.capacity),
            "value": None if settings is None else plain(settings.value(each.capacity)),
            "target": each.target,
        }
        for each in slot.dimensions
    ]
    tails: list[Json] = [
        {
            "modes": list(rule.modes),
            "fill": None if rule.fill is None else spell(rule.fill),
            "readers": list(rule.readers),
        }
        for rule in tail_rules(slot)
    ]
    value = slot.value if slot.elements is None else slot.elements.value
    return {
        "runner": runner.name,
        "slot": slot.name,
        "place": str(slot.place),
        "dtype": dtype_of(slot),
        "device": slot.device,
        "source": None if slot.source is None else str(slot.source),
        "value": None if value is None else spell(value),
        "written_by": list(slot.written_by),
        "optional": slot.optional,
        "dimensions": dimensions,
        "tail_dimension": slot.row_axis,
        "tails": tails,
        "bytes": None if found is None else found.bytes,
    }
