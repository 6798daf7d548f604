"""`ullage plan`: where the buffers of one configuration lie, and what shares storage with what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

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
)
from ullage.commands.terminal import Page, result_console
from ullage.diagnostics.diagnostic import Collector
from ullage.memory import memory_of
from ullage.place import Place
from ullage.plan.arenas import Pairs, PlacedArena, alive_together, arenas_for
from ullage.plan.bytes import PlacedSlot
from ullage.plan.greedy import greedy_bytes
from ullage.plan.model import Group
from ullage.plan.validate import Placed, flaws_of

GRAPH_DEVICE: Final = "compute"
"""Where graphs compute, as slots name it."""


def run(specs: Path, configuration: Path, output: Format, graph_bytes: int | None = None) -> Exit:
    """Show the arenas of a configuration. DiagnosticError (U608) if they fail validation.

    `graph_bytes`: what the graphs of such an engine were measured to hold beside them.
    """
    settings = read_settings(specs, configuration)
    with progress(output is Format.TEXT) as report:
        analysis = analyse(specs, report, memory=memory_of(os.environ))
    require_accepted(settings, analysis)
    shown = layout_of(analysis, settings)
    if output is Format.JSON:
        write_json(document(settings, shown, graph_bytes))
    else:
        page = Page(result_console())
        show(settings, shown, page)
        if graph_bytes is not None:
            _show_graphs(shown, graph_bytes, page)
        show_absent(analysis, settings, page)
        write_diagnostics(analysis.warnings, analysis.sources.texts, output)
    return Exit.OK


@dataclass(frozen=True, slots=True)
class ShownLayout:
    """The arenas of one configuration, and the groups and pairs of runners alive together."""

    arenas: tuple[PlacedArena, ...]
    groups: tuple[Group, ...]
    alive: Pairs

    def beside(self, runner: str, arena: PlacedArena) -> list[str]:
        """The runners in an arena that may be alive together with one of them."""
        names = (each.name for each in arena.runners)
        return [name for name in names if frozenset((name, runner)) in self.alive]

    def bytes_on(self, device: str) -> int:
        """Of the arena there, if there is one."""
        return sum(arena.bytes for arena in self.arenas if arena.device == device)

    def greedy(self, arena: PlacedArena) -> int:
        """What greedy placement by size needs."""
        return greedy_bytes({each.name: each.bytes for each in arena.runners}, self.alive)


def layout_of(analysis: Analysis, settings: Settings) -> ShownLayout:
    """The validated arenas of a configuration."""
    plan = analysis.plan
    arenas = arenas_for(plan, settings.values)
    collector = Collector(analysis.sources.texts)
    for flaw in flaws_of(arenas, settings.resolved, settings.values, plan.alignment):
        first, *others = ((_place_of(slot, analysis), f"{slot}") for slot in flaw.slots)
        collector.error("U608", flaw.text, first[0], related=tuple(others))
    collector.raise_if_errors()
    holding = (each for each in plan.groups if settings.holds(each.condition))
    groups = tuple(_present(holding, {each.name for one in arenas for each in one.runners}))
    return ShownLayout(arenas, groups, alive_together(plan, settings.values))


def _present(groups: Iterable[Group], runners: Set[str]) -> Iterator[Group]:
    """The groups without the runners that the configuration does not have."""
    for group in groups:
        there = (tuple(name for name in part if name in runners) for part in group.parts)
        parts = tuple(part for part in there if part)
        if len(parts) > 1:
            yield replace(group, parts=parts)


def _place_of(placed: Placed, analysis: Analysis) -> Place:
    """Where the runner of a slot is declared that lies wrong."""
    return next(each.place for each in analysis.plan.runners if each.name == placed.runner)


def show(settings: Settings, shown: ShownLayout, page: Page) -> None:
    """The parameters, who is alive together, then each arena."""
    show_parameters(settings, page)
    for group in shown.groups:
        parts = " | ".join(", ".join(part) for part in group.parts)
        page.sides([("alive together: ", "bold"), parts], group.place.short)
        if group.doc:
            page.wrapped(group.doc, indent=2)
        page.line()
    for arena in shown.arenas:
        _show_arena(shown, arena, page)
    if not shown.arenas:
        page.line("no runner has buffers in this configuration")


def _show_graphs(shown: ShownLayout, graph_bytes: int, page: Page) -> None:
    """Beside the arena of the device on which graphs compute."""
    page.line((f"graphs, as measured: {graph_bytes:,} bytes", "bold"))
    together = shown.bytes_on(GRAPH_DEVICE) + graph_bytes
    page.line(f"with the {GRAPH_DEVICE} arena: {together:,} bytes", indent=2)
    page.line()


def _show_arena(shown: ShownLayout, arena: PlacedArena, page: Page) -> None:
    page.line((f"{arena.device} arena: {arena.bytes:,} bytes", "bold"))
    page.line(f"each runner in an arena of its own: {arena.alone:,} bytes", indent=2)
    page.line(f"largest set of runners alive at once: {arena.lower_bound:,} bytes", indent=2)
    gap = f"gap: {arena.gap:,} bytes"
    if arena.gap:
        gap += f"; greedy placement by size: {shown.greedy(arena):,} bytes"
    page.line(gap, indent=2)
    page.line()
    page.table(_runners(shown, arena))
    page.line()
    page.table(_slots(arena))
    page.line()


def _runners(shown: ShownLayout, arena: PlacedArena) -> Table:
    table = _table("runner", "offset", "bytes", "alive together with")
    for runner in arena.runners:
        beside = ", ".join(shown.beside(runner.name, arena)) or "-"
        name = Text(runner.name, "cyan")
        table.add_row(name, f"{runner.start:,}", f"{runner.bytes:,}", beside)
    return table


def _slots(arena: PlacedArena) -> Table:
    table = _table("slot", "offset", "bytes", "shares storage with")
    for runner in arena.runners:
        for slot in runner.slots:
            sharing = ", ".join(_sharing(arena, slot)) or "-"
            name = Text(f"{runner.name}.{slot.name}", "cyan")
            table.add_row(name, f"{slot.offset:,}", f"{slot.bytes:,}", sharing)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    *numbers, last = others
    table.add_column(first, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(last, overflow="fold")
    return table


def _sharing(arena: PlacedArena, slot: PlacedSlot) -> list[str]:
    return [f"{runner}.{other.name}" for runner, other in arena.sharing(slot)]


def document(settings: Settings, shown: ShownLayout, graph_bytes: int | None) -> Json:
    """What `--json` writes."""
    groups: list[Json] = [
        {"parts": [list(part) for part in group.parts], "doc": group.doc} for group in shown.groups
    ]
    return {
        "engine": settings.resolved.spec.engine,
        **parameters_record(settings),
        "concurrent": groups,
        "arenas": [_record(shown, arena) for arena in shown.arenas],
        **({} if graph_bytes is None else {"graph_bytes": graph_bytes}),
    }


def _record(shown: ShownLayout, arena: PlacedArena) -> Mapping[str, Json]:
    runners: list[Json] = [
        {
            "runner": runner.name,
            "offset": runner.start,
            "bytes": runner.bytes,
            "alive_with": list(shown.beside(runner.name, arena)),
        }
        for runner in arena.runners
    ]
    slots: list[Json] = [
        {
            "runner": runner.name,
            "slot": slot.name,
            "offset": slot.offset,
            "bytes": slot.bytes,
            "shares_with": list(_sharing(arena, slot)),
        }
        for runner in arena.runners
        for slot in runner.slots
    ]
    return {
        "device": arena.device,
        "bytes": arena.bytes,
        "alone": arena.alone,
        "lower_bound": arena.lower_bound,
        "gap": arena.gap,
        "greedy": shown.greedy(arena),
        "runners": runners,
        "slots": slots,
    }
