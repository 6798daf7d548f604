"""What a run leaves behind, and the tables that show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ullage_demo.checks import Check
from ullage_demo.runners import GraphRunner, Runner
from ullage_generated.sglang import Mode


@dataclass(frozen=True, slots=True)
class Row:
    """The loads of one mode of one model. `load_time`: the median, in seconds."""

    scenario: str
    model: str
    mode: str
    steps: int
    requests: int
    tokens: int
    max_requests: int
    max_tokens: int
    load_time: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows and the checks of one scenario."""

    rows: tuple[Row, ...]
    checks: tuple[Check, ...]

    @property
    def scenario(self) -> str:
        return self.rows[0].scenario


def rows_of(scenario: str, model: str, runner: Runner | GraphRunner) -> tuple[Row, ...]:
    """A row for each mode that went through `runner`, in the modes' order."""
    return tuple(
        Row(
            scenario=scenario,
            model=model,
            mode=mode.value,
            steps=statistics.steps,
            requests=statistics.largest_requests,
            tokens=statistics.largest_tokens,
            max_requests=runner.capacities.requests,
            max_tokens=runner.capacities.tokens,
            load_time=statistics.median_time,
        )
        for mode in Mode
        if (statistics := runner.statistics.get(mode)) is not None
    )


LOG_WIDTH = 110
"""Columns of the tables where no terminal says how many there are."""


def make_console() -> Console:
    """A console whose tables stay whole in a log."""
    console = Console()
    return console if console.is_terminal else Console(width=LOG_WIDTH)


def show(
    console: Console, outcomes: Sequence[Outcome], last: Check | None = None, error: str = ""
) -> bool:
    """Print the checks, then the table of loads, then a refused batch; whether all passed."""
    checks = [(outcome.scenario, check) for outcome in outcomes for check in outcome.checks]
    if last is not None:
        checks.append(("any", last))
    console.print(check_table(checks))
    console.print(load_table(row for outcome in outcomes for row in outcome.rows))
    if error:
        console.print(Panel(Text(error), title="one batch too many", title_align="left"))
    failed = sum(not check.passed for _, check in checks)
    console.print(f"{failed} of {len(checks)} checks failed" if failed else "all checks passed")
    return failed == 0


def check_table(checks: Iterable[tuple[str, Check]]) -> Table:
    """One line for each check, under its scenario's name."""
    table = Table(title="Checks", title_justify="left")
    for heading in ("scenario", "check", "", "detail"):
        table.add_column(heading)
    for scenario, check in checks:
        verdict = Text("passed", "green") if check.passed else Text("FAILED", "bold red")
        table.add_row(scenario, check.claim, verdict, Text(check.detail))
    return table


def load_table(rows: Iterable[Row]) -> Table:
    """One line for each mode of each model: what was loaded, and what would have fitted."""
    table = Table(title="Loads (requests x tokens, padded)", title_justify="left")
    table.add_column("scenario")
    table.add_column("model")
    table.add_column("mode")
    for heading in ("steps", "largest batch", "capacity", "headroom", "load time"):
        table.add_column(heading, justify="right")
    previous = ""
    for row in rows:
        if previous not in ("", row.scenario):
            table.add_section()
        table.add_row(*cells(row, repeats=row.scenario == previous))
        previous = row.scenario
    return table


def cells(row: Row, *, repeats: bool) -> tuple[str, ...]:
    """The row's line; a scenario's name is shown once."""
    return (
        "" if repeats else row.scenario,
        row.model,
        row.mode,
        str(row.steps),
        f"{row.requests} x {row.tokens}",
        f"{row.max_requests} x {row.max_tokens}",
        f"{_left(row.requests, row.max_requests)} x {_left(row.tokens, row.max_tokens)}",
        f"{row.load_time * 1e6:.0f} µs",
    )


def _left(used: int, capacity: int) -> str:
    return f"{1 - used / capacity:.0%}"
