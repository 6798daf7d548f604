"""`ullage size`: the buffers of one configuration, in rows and bytes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.commands.progress import progress
from ullage.commands.reporting import Exit, Format, Json, write_diagnostics, write_json
from ullage.commands.settings import (
    Settings,
    parameters_record,
    read_settings,
    require_accepted,
    show_absent,
    show_parameters,
    shown,
)
from ullage.commands.tails import TailRule, tail_rules
from ullage.commands.terminal import Page, result_console
from ullage.expr.spell import spell
from ullage.memory import memory_of
from ullage.plan.arenas import arenas_for
from ullage.plan.bytes import PlacedSlot, bytes_by_device, layout_for
from ullage.plan.model import PlannedRunner, PlannedSlot
from ullage.spec.model import DeviceRole

Bytes = Mapping[DeviceRole, int]
"""How many bytes, by device."""


def run(specs: Path, configuration: Path, output: Format) -> Exit:
    """Show every runner that exists in the configuration, with its capacities and slots."""
    settings = read_settings(specs, configuration)
    with progress(output is Format.TEXT) as report:
        analysis = analyse(specs, report, memory=memory_of(os.environ))
    require_accepted(settings, analysis)
    bill = bill_of(analysis, settings)
    arenas = arenas_for(analysis.plan, settings.values)
    planned = {arena.device: arena.bytes for arena in arenas}
    if output is Format.JSON:
        write_json(document(settings, bill, planned))
    else:
        page = Page(result_console())
        show(settings, bill, planned, page)
        show_absent(analysis, settings, page)
        write_diagnostics(analysis.warnings, analysis.sources.texts, output)
    return Exit.OK


@dataclass(frozen=True, slots=True)
class SizedCapacity:
    """One capacity in numbers, and the modes that have a batch of that size."""

    target: str
    value: int
    binding: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SizedRunner:
    """One runner in numbers; `binding` are the modes that bind each slot's rows."""

    runner: PlannedRunner
    capacities: tuple[SizedCapacity, ...]
    slots: tuple[tuple[PlannedSlot, PlacedSlot], ...]
    bytes: Bytes

    def binding(self, slot: PlannedSlot) -> tuple[str, ...]:
        targets = {dimension.target for dimension in slot.dimensions}
        modes = (
            mode for each in self.capacities if each.target in targets for mode in each.binding
        )
        return tuple(dict.fromkeys(modes))


def bill_of(analysis: Analysis, settings: Settings) -> tuple[SizedRunner, ...]:
    """The runners that exist in the configuration."""
    return tuple(
        _sized(analysis, settings, runner)
        for runner in analysis.plan.runners
        if settings.holds(runner.guard)
    )


def _sized(analysis: Analysis, settings: Settings, runner: PlannedRunner) -> SizedRunner:
    placed = layout_for(runner, settings.values)
    slots = {slot.name: slot for slot in runner.slots}
    dimensions = (each for slot in placed for each in slots[slot.name].dimensions)
    wanted = settings.resolved.brought_axes.union(each.target for each in dimensions)
    capacities = tuple(
        SizedCapacity(each.target, settings.size(each.formula), tuple(settings.binding(each)))
        for each in analysis.capacities.by_target
        if each.runner == runner.name and each.target in wanted
    )
    pairs = tuple((slots[each.name], each) for each in placed)
    return SizedRunner(runner, capacities, pairs, bytes_by_device(placed))


def show(settings: Settings, bill: tuple[SizedRunner, ...], planned: Bytes, page: Page) -> None:
    """The parameters, a table for each runner, and what all take, alone and as planned."""
    show_parameters(settings, page)
    for runner in bill:
        page.sides([(runner.runner.name, "bold")], runner.runner.place.short)
        for capacity in runner.capacities:
            bound = ", ".join(capacity.binding) or "no mode, since none occurs"
            page.wrapped(f"{capacity.target} {capacity.value:,}, bound by {bound}", indent=2)
        page.line()
        page.table(_table(settings, runner))
        page.line()
        page.line(_in_words(runner.bytes), indent=2)
        page.line()
    page.line("each runner alone: " + _in_words(total_of(bill)))
    page.line(("all runners as planned: " + _in_words(planned), "bold"))


def _table(settings: Settings, runner: SizedRunner) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in ("slot", "shape", "dtype", "device"):
        table.add_column(heading, overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    for heading in ("tail", "bound by"):
        table.add_column(heading, overflow="fold")
    for slot, placed in runner.slots:
        table.add_row(
            Text(slot.name, "cyan"),
            f"[{', '.join(map(str, placed.shape))}]",
            placed.dtype,
            placed.device,
            f"{placed.bytes:,}",
            tail_in_words(slot, settings),
            ", ".join(runner.binding(slot)),
        )
    return table


def tail_in_words(slot: PlannedSlot, settings: Settings) -> str:
    """The fill of padded rows, by modes where they differ; `-` where nothing is filled."""
    if slot.row_axis is None:
        return "-"
    rules = [(_fill(rule, settings), rule.modes) for rule in tail_rules(slot)]
    fills = list(dict.fromkeys(fill for fill, _ in rules))
    if len(fills) == 1:
        return fills[0]
    return "; ".join(f"{fill} in {', '.join(modes)}" for fill, modes in rules)


def _fill(rule: TailRule, settings: Settings) -> str:
    if rule.fill is None:
        return "-"
    value = settings.value(rule.fill)
    return spell(rule.fill) if value is None else shown(value)


def total_of(bill: tuple[SizedRunner, ...]) -> Bytes:
    """The bytes of all runners by device."""
    total: Counter[DeviceRole] = Counter()
    for runner in bill:
        total.update(runner.bytes)
    return total


def _in_words(sizes: Bytes) -> str:
    parts = [f"{size:,} bytes on the {device} device" for device, size in sizes.items()]
    return ", ".join(parts) or "nothing"


def document(settings: Settings, bill: tuple[SizedRunner, ...], planned: Bytes) -> Json:
    """What `--json` writes; `bytes` are those of all runners, if each were alone."""
    return {
        "engine": settings.resolved.spec.engine,
        **parameters_record(settings),
        "runners": [_record(runner, settings) for runner in bill],
        "bytes": _by_name(total_of(bill)),
        "planned_bytes": _by_name(planned),
    }


def _record(runner: SizedRunner, settings: Settings) -> Json:
    capacities: list[Json] = [
        {"target": each.target, "value": each.value, "binding": list(each.binding)}
        for each in runner.capacities
    ]
    slots: list[Json] = [
        {
            "slot": slot.name,
            "shape": list(placed.shape),
            "dtype": placed.dtype,
            "device": placed.device,
            "offset": placed.offset,
            "bytes": placed.bytes,
            "tail": tail_in_words(slot, settings),
            "binding": list(runner.binding(slot)),
        }
        for slot, placed in runner.slots
    ]
    return {
        "runner": runner.runner.name,
        "capacities": capacities,
        "slots": slots,
        "bytes": _by_name(runner.bytes),
    }


def _by_name(sizes: Bytes) -> dict[str, int]:
    return {str(device): size for device, size in sizes.items()}
