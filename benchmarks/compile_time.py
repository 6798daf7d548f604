"""How long `ullage compile` takes as a whole process, as a ratio to what it cannot avoid.

The unavoidable part is a Python that imports sympy and z3. Beside it, in the same run and taking
turns with it: a cold compile (empty cache, no output yet) and a warm one (same cache, same
output, nothing changed). Ratios are taken within each round, so that a machine that slows down for
a while slows both sides.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from measuring import ULLAGE, CommandError, record, seconds_of
from rich.console import Console
from rich.table import Table

IMPORTS = [sys.executable, "-c", "import sympy, z3"]

# Largest acceptable ratio to the imports.
TARGETS = {"cold": 8.0, "warm": 0.5}


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds of one turn of each."""

    imports: float
    cold: float
    warm: float


@dataclass(frozen=True, slots=True)
class Spread:
    median: float
    least: float
    most: float


def measure_round(specs: str, scratch: Path) -> Round:
    """One turn of each in a fresh cache and output folder, both removed afterwards."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    cache = folder / "cache"
    cache.mkdir()
    compile_specs = [*ULLAGE, "compile", specs, "--out", str(folder / "ullage_generated")]
    turn = Round(
        imports=seconds_of(IMPORTS),
        cold=seconds_of(compile_specs, cache),
        warm=seconds_of(compile_specs, cache),
    )
    shutil.rmtree(folder)
    return turn


def measure(specs: str, repetitions: int) -> list[Round]:
    """The first round only fills the byte code and file caches and is dropped."""
    with tempfile.TemporaryDirectory() as scratch:
        return [measure_round(specs, Path(scratch)) for _ in range(repetitions + 1)][1:]


def spread(values: list[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


def ratios(rounds: list[Round]) -> dict[str, Spread]:
    return {
        "cold": spread([turn.cold / turn.imports for turn in rounds]),
        "warm": spread([turn.warm / turn.imports for turn in rounds]),
    }


def times(rounds: list[Round]) -> dict[str, Spread]:
    return {name: spread([asdict(turn)[name] for turn in rounds]) for name in Round.__slots__}


def shown(values: Spread) -> list[str]:
    return [f"{values.median:.2f}", f"{values.least:.2f} to {values.most:.2f}"]


def report(rounds: list[Round], specs: str) -> Table:
    table = Table(title=f"ullage compile {specs}: {len(rounds)} rounds, whole processes")
    table.add_column()
    for heading in ("seconds", "least to most", "ratio", "least to most", "target"):
        table.add_column(heading, justify="right")
    against = ratios(rounds)
    for name, seconds in times(rounds).items():
        row = [name, *shown(seconds)]
        if name in against:
            met = "met" if against[name].median <= TARGETS[name] else "MISSED"
            row += [*shown(against[name]), f"<= {TARGETS[name]:g} {met}"]
        table.add_row(*row)
    return table


def keep(rounds: list[Round], specs: str) -> None:
    measured = {
        "targets": TARGETS,
        "ratios_to_imports": {name: asdict(values) for name, values in ratios(rounds).items()},
        "seconds": {name: asdict(values) for name, values in times(rounds).items()},
        "rounds": [asdict(turn) for turn in rounds],
    }
    record("compile_time", f"whole-process seconds of ullage compile {specs}", measured)


def misses(rounds: list[Round]) -> list[str]:
    return [name for name, values in ratios(rounds).items() if values.median > TARGETS[name]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--specs", default="specs/sglang", help="folder to compile")
    parser.add_argument("--repetitions", type=int, default=5, help="rounds that count")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    if asked.repetitions < 1:
        print("compile_time: --repetitions must be at least 1", file=sys.stderr)
        return 2
    try:
        rounds = measure(asked.specs, asked.repetitions)
    except CommandError as failure:
        print(f"compile_time: nothing measured, a command failed: {failure}", file=sys.stderr)
        return 2
    Console().print(report(rounds, asked.specs))
    if asked.record:
        keep(rounds, asked.specs)
    return 1 if asked.check and misses(rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
