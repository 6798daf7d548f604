"""The measurement as a table, and as a record under benchmarks/results."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from measuring import record
from sglang_peer.cases import Case
from sglang_peer.cuda import Device
from sglang_peer.timing import Host
from sglang_peer.wheel import VERSION
from ullage_runtime import __version__


@dataclass(frozen=True, slots=True)
class Row:
    """One implementation in one case.

    `operations`: those of torch that a load dispatches; `differences`: fields in which its view
    is not as SGLang's; `static`: fields that SGLang carries and it keeps static.
    """

    implementation: str
    host: Host
    operations: Mapping[str, int]
    device: Device | None = None
    differences: tuple[str, ...] = ()
    static: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """All implementations in one case."""

    case: Case
    rows: tuple[Row, ...]

    @property
    def speedup(self) -> float:
        """How many times less time the generated runner takes than SGLang at its better setting."""
        return self.sglang_over("ullage")

    def sglang_over(self, name: str) -> float:
        """Time of SGLang at its better setting over time of `name`."""
        settings = (row.implementation for row in self.rows if "sglang" in row.implementation)
        return min(self.ratio(setting, name) for setting in settings)

    @property
    def over_floor(self) -> float:
        """How much more time it takes than the same work without a check."""
        return self.ratio("ullage", "floor")

    def ratio(self, above: str, below: str) -> float:
        """Time of one over time of another: the median over rounds, in which a machine is alike."""
        pairs = zip(self._rounds(above), self._rounds(below), strict=True)
        return statistics.median(one / other for one, other in pairs)

    def _rounds(self, name: str) -> tuple[float, ...]:
        return next(row.host.rounds for row in self.rows if row.implementation == name)


FirstLoads = Mapping[str, Mapping[str, float]]
"""Microseconds of loads of unseen shapes, by what they are and who loads."""

OVER_FLOOR: Final = 1.3
FIRST: Final = 2.0
"""How many times less a first load takes than SGLang's."""


def target_of(case: Case) -> float:
    """How many times less a load takes than SGLang's, where copying is not most of it."""
    return 8.0 if case.padded_tokens <= 2048 else 6.0


def targets_missed(measured: Sequence[Measured], first: FirstLoads) -> list[str]:
    """What takes longer than it should, in host time on a CPU."""
    missed: list[str] = []
    for each in measured:
        label, target = each.case.label, target_of(each.case)
        if each.speedup < target:
            missed.append(f"{label}: SGLang over ullage {each.speedup:.2f}, target {target:g}")
        if each.over_floor > OVER_FLOOR:
            missed.append(f"{label}: ullage over floor {each.over_floor:.2f}, target {OVER_FLOOR}")
    for kind, times in first.items():
        for name, time in times.items():
            if name != "sglang" and times["sglang"] < FIRST * time:
                found = f"SGLang over {name} {times['sglang'] / time:.2f}, target {FIRST:g}"
                missed.append(f"first loads, {kind}: {found}")
    return missed


def table(measured: Sequence[Measured]) -> Table:
    """Microseconds a call."""
    made = Table(title="host microseconds a call, medians", box=SIMPLE_HEAD, pad_edge=False)
    made.add_column("case", no_wrap=True)
    made.add_column("", no_wrap=True)
    on_device = any(row.device is not None for each in measured for row in each.rows)
    headings = ["fill", "view", "both", "p10", "p90", "operations", "SGLang's / it"]
    headings += ["synchronized", "throughput", "device", "graph", "kernels", "launches"] * on_device
    for heading in headings:
        made.add_column(heading, justify="right")
    for each in measured:
        for position, row in enumerate(each.rows):
            made.add_row("" if position else each.case.label, *_cells(each, row))
    return made


def _cells(measured: Measured, row: Row) -> Sequence[str]:
    host = row.host
    times = (host.fill, host.view, host.both, host.p10, host.p90)
    cells = [row.implementation, *(f"{time:.1f}" for time in times)]
    speedup = measured.sglang_over(row.implementation)
    cells += [str(sum(row.operations.values())), f"{speedup:.2f}"]
    if row.device is not None:
        graph = "-" if row.device.graph is None else f"{row.device.graph:.2f}"
        cells += [f"{row.device.synchronized:.1f}", f"{row.device.throughput:.1f}"]
        cells += [f"{row.device.device:.2f}", graph]
        cells += [f"{row.device.kernels:g}", f"{row.device.launches:g}"]
    return cells


def show(measured: Sequence[Measured], first: FirstLoads, settings: Mapping[str, object]) -> None:
    """Print everything, what is not equal first of all."""
    console = Console(width=200)
    for each in measured:
        for row in each.rows:
            if row.differences:
                console.print(
                    f"DIFFERENT {each.case.label} {row.implementation}: {row.differences}"
                )
    console.print(", ".join(f"{name} {value}" for name, value in settings.items()))
    if measured:
        console.print(table(measured))
        kept = sorted({name for each in measured for row in each.rows for name in row.static})
        console.print(f"static here and carried by SGLang: {', '.join(kept) or 'nothing'}")
    for kind, times in first.items():
        for name, time in times.items():
            share = f"{time / times['sglang']:.2f} of SGLang's"
            console.print(f"a shape not seen before, {kind}, {name}: {time:.1f}, {share}")


def keep(
    name: str,
    measured: Sequence[Measured],
    first: FirstLoads,
    settings: Mapping[str, object],
) -> None:
    """Write benchmarks/results/NAME.json."""
    found = {
        "settings": {"sglang": VERSION, "ullage": __version__, **settings},
        "first_loads": first,
        "cases": [
            {
                "case": asdict(each.case),
                "sglang_over_ullage": each.speedup,
                "ullage_over_floor": each.over_floor,
                "rows": [_recorded(row) for row in each.rows],
            }
            for each in measured
        ],
    }
    record(name, f"loading beside SGLang {VERSION}: microseconds a call", found, ("torch",))


def _recorded(row: Row) -> Mapping[str, object]:
    """A row with its rounds on one line."""
    rounds = " ".join(f"{time:g}" for time in row.host.rounds)
    return {**asdict(row), "host": {**asdict(row.host), "rounds": rounds}}
