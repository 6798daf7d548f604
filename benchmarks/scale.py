"""How `ullage compile` grows: whole processes, cold, on spec folders of 10 to 1,000 modes.

Slots and runners grow in proportion. Growth is the exponent of the power of the number of modes
that fits the measurements best (least squares on logarithms); peaks are those of the largest
process, the compiler itself or one of those that it shares its work with.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from measuring import CommandError, record, seconds_of
from synthetic import MODES_OF_A_RUNNER, SLOTS_OF_A_RUNNER, write_specs

SIZES = (10, 30, 100, 300, 1000)

# Largest acceptable exponents of growth, and what the largest folder may take.
TARGETS = {"exponent_of_seconds": 1.15, "exponent_of_megabytes": 1.15}
LIMITS = {"seconds": 60.0, "megabytes": 1024.0}
LIMITED = 1000

# The compiler, and then what it used: a parent cannot tell its peak from that of its children.
MEASURED = """\
import json, resource, sys
from pathlib import Path
from ullage.cli import main
report = Path(sys.argv.pop(1))
code = main()
own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
report.write_text(json.dumps({
    "cpu_seconds": sum(each.ru_utime + each.ru_stime for each in (own, others)),
    "megabytes": own.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
    "megabytes_of_others": others.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
}))
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One compilation; `lines` are those that it generated, `cpu_seconds` those of all processes.

    `megabytes` is the peak of the compiler's own process, `megabytes_of_others` that of the
    largest of the processes that it started.
    """

    modes: int
    slots: int
    runners: int
    seconds: float
    cpu_seconds: float
    megabytes: float
    megabytes_of_others: float
    lines: int

    @property
    def peak(self) -> float:
        return max(self.megabytes, self.megabytes_of_others)


def measure(modes: int) -> Run:
    """One cold compile of a folder of so many modes, with nothing left behind."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        specs, out, used = folder / "specs", folder / "ullage_generated", folder / "used.json"
        write_specs(specs, modes)
        (folder / "cache").mkdir()
        compiling = ["compile", str(specs), "--out", str(out)]
        seconds = seconds_of(
            [sys.executable, "-c", MEASURED, str(used), *compiling], folder / "cache"
        )
        runners = -(-modes // MODES_OF_A_RUNNER)
        lines = sum(path.read_text().count("\n") for path in out.rglob("*.py"))
        usage: dict[str, float] = json.loads(used.read_text())
        return Run(modes, runners * SLOTS_OF_A_RUNNER, runners, seconds, lines=lines, **usage)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The power of the size that fits the values best."""
    x, y = [math.log(each) for each in sizes], [math.log(each) for each in values]
    middle, height = sum(x) / len(x), sum(y) / len(y)
    along = sum((one - middle) ** 2 for one in x)
    return sum((one - middle) * (other - height) for one, other in zip(x, y, strict=True)) / along


def growth(runs: Sequence[Run]) -> dict[str, float]:
    """The exponents that have targets, and that of all processors' time."""
    modes = [run.modes for run in runs]
    return {
        "exponent_of_seconds": exponent(modes, [run.seconds for run in runs]),
        "exponent_of_megabytes": exponent(modes, [run.peak for run in runs]),
        "exponent_of_cpu_seconds": exponent(modes, [run.cpu_seconds for run in runs]),
    }


def misses(runs: Sequence[Run]) -> list[str]:
    """What is beyond its target; limits are those of folders of a certain size."""
    found = [name for name, value in growth(runs).items() if value > TARGETS.get(name, math.inf)]
    for run in runs:
        if run.modes <= LIMITED:
            used = {"seconds": run.seconds, "megabytes": run.peak}
            found += [
                f"{name} at {run.modes}" for name, value in used.items() if value > LIMITS[name]
            ]
    return found


def report(runs: Sequence[Run]) -> Table:
    """A row for each folder; growth is the exponent of CPU time since the row before."""
    table = Table(title="ullage compile, whole processes, cold")
    headings = (
        "modes",
        "slots",
        "runners",
        "seconds",
        "CPU",
        "growth",
        "MB",
        "others",
    )
    for heading in (*headings, "lines"):
        table.add_column(heading, justify="right")
    for before, run in zip((None, *runs), runs, strict=False):
        steep = "" if before is None else f"{_between(before, run):.2f}"
        table.add_row(
            *(f"{each:,}" for each in (run.modes, run.slots, run.runners)),
            *(f"{each:.1f}" for each in (run.seconds, run.cpu_seconds)),
            steep,
            *(f"{each:.0f}" for each in (run.megabytes, run.megabytes_of_others)),
            f"{run.lines:,}",
        )
    return table


def _between(before: Run, run: Run) -> float:
    return exponent([before.modes, run.modes], [before.cpu_seconds, run.cpu_seconds])


def fitted(found: Mapping[str, float]) -> Table:
    """The exponents beside their targets."""
    table = Table(title="growth with the number of modes")
    for heading in ("", "exponent", "target"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, value in found.items():
        target = TARGETS.get(name)
        verdict = "met" if target is None or value <= target else "MISSED"
        shown = "" if target is None else f"<= {target:g} {verdict}"
        table.add_row(name.removeprefix("exponent_of_").replace("_", " "), f"{value:.2f}", shown)
    return table


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modes", type=int, nargs="+", default=list(SIZES), help="folder sizes")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    sizes = sorted(set(asked.modes))
    if len(sizes) < 2 or sizes[0] < 1:
        print("scale: --modes takes two sizes or more, from 1 on", file=sys.stderr)
        return 2
    try:
        runs = [measure(modes) for modes in sizes]
    except CommandError as failure:
        print(f"scale: nothing measured, a command failed: {failure}", file=sys.stderr)
        return 2
    console = Console()
    console.print(report(runs))
    console.print(fitted(growth(runs)))
    missed = misses(runs)
    console.print(f"MISSED: {', '.join(missed)}" if missed else "every target met")
    if asked.record:
        measured = {
            "targets": TARGETS | {f"{name}_at_{LIMITED}": value for name, value in LIMITS.items()},
            "growth": growth(runs),
            "runs": [asdict(run) for run in runs],
        }
        record("scale", "whole processes of ullage compile on synthetic spec folders", measured)
    return 1 if asked.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
