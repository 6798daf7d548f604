"""What the plan of SGLang's runners takes, beside what SGLang allocates for the same ones.

Nothing is allocated: the plan is laid out in each configuration whose sizes SGLang's rules were
followed for by hand, with all runners and the tables of the attention backend. The second mean
leaves out what no plan makes smaller, on both sides: logits outputs and vendors' workspaces.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from measuring import ROOT, record
from support.sglang_memory import Compared, compared, geometric_mean
from ullage.analyse import analyse

# Largest acceptable geometric means of planned over SGLang's bytes.
TARGETS = {"all": 0.65, "avoidable": 0.4}
MEBIBYTE = 2**20


def means(rows: Sequence[Compared]) -> dict[str, float]:
    return {
        "all": geometric_mean([row.ratio for row in rows]),
        "avoidable": geometric_mean([row.avoidable_ratio for row in rows]),
    }


def misses(rows: Sequence[Compared]) -> list[str]:
    """What is beyond its target, and every configuration that takes more than SGLang's."""
    missed = [name for name, mean in means(rows).items() if mean > TARGETS[name]]
    return missed + [row.name for row in rows if row.ratio > 1]


def runners_of(row: Compared) -> Mapping[str, int]:
    """The bytes of each runner alone, on all devices."""
    found: dict[str, int] = {}
    for arena in row.arenas:
        for runner in arena.runners:
            found[runner.name] = found.get(runner.name, 0) + runner.bytes
    return found


def report(rows: Sequence[Compared]) -> Table:
    table = _table("input buffers, MiB")
    for heading in ("planned", "alone", "SGLang", "ratio", "without", "SGLang", "ratio"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row.name,
            *(mebibytes(each) for each in (row.planned, row.alone, row.sglang.all)),
            f"{row.ratio:.3f}",
            *(mebibytes(each) for each in (row.avoidable, row.sglang.avoidable)),
            f"{row.avoidable_ratio:.3f}",
        )
    return table


def runners(rows: Sequence[Compared]) -> Table:
    table = _table("each runner alone, MiB")
    table.add_column("runner", no_wrap=True)
    table.add_column("planned", justify="right")
    for row in rows:
        for position, (name, taken) in enumerate(runners_of(row).items()):
            table.add_row("" if position else row.name, name, mebibytes(taken, digits=2))
    return table


def _table(title: str) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("configuration", no_wrap=True)
    return table


def mebibytes(count: int, digits: int = 1) -> str:
    return f"{count / MEBIBYTE:.{digits}f}"


def measured(rows: Sequence[Compared]) -> Mapping[str, object]:
    return {
        "targets": TARGETS,
        "geometric_means": means(rows),
        "configurations": [
            {
                "name": row.name,
                "planned": row.planned,
                "alone": row.alone,
                "sglang": row.sglang.all,
                "planned_avoidable": row.avoidable,
                "sglang_avoidable": row.sglang.avoidable,
                "runners": runners_of(row),
            }
            for row in rows
        ],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write benchmarks/results")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    rows = list(compared(analyse(ROOT / "specs" / "sglang")))
    console = Console()
    console.print(runners(rows))
    console.print(report(rows))
    console.print("alone: each runner in an arena of its own")
    console.print("without: no logits outputs and no vendor workspaces, on both sides")
    for name, mean in means(rows).items():
        console.print(f"geometric mean, {name}: {mean:.3f}, target <= {TARGETS[name]:g}")
    missed = misses(rows)
    console.print(f"MISSED: {', '.join(missed)}" if missed else "every target met")
    if asked.record:
        record("memory", "bytes of the buffers of SGLang 0.5.23's runners", measured(rows))
    return 1 if asked.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
