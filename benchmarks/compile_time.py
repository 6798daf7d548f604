"""How long `ullage compile` takes as a whole process, as a ratio to what it cannot avoid.

The unavoidable part is a Python that imports sympy and z3. Beside it, in the same run and taking
turns with it: a cold compile (empty cache, no output yet) and a warm one (same cache, same
output, nothing changed). Ratios are taken within each round, so that a machine that slows down for
a while slows both sides.

Targets are for the eager runners of the engine, the part that every engine begins with; the whole
engine is timed with `--runners all`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from measuring import ROOT, ULLAGE, CommandError, record, seconds_of
from parts import part_of

IMPORTS = [sys.executable, "-c", "import sympy, z3"]

# Largest acceptable ratio to the imports.
TARGETS: Mapping[str, float] = {"cold": 8.0, "warm": 0.5}


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


def measure(specs: Path, runners: tuple[str, ...], repetitions: int) -> list[Round]:
    """The first round only fills the byte code and file caches and is dropped.

    `runners`: none for all of them.
    """
    with tempfile.TemporaryDirectory() as scratch:
        part = part_of(specs, runners, Path(scratch) / "part") if runners else specs
        turns = [measure_round(str(part), Path(scratch)) for _ in range(repetitions + 1)]
    return turns[1:]


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


def report(rounds: list[Round], what: str, targets: Mapping[str, float]) -> Table:
    table = Table(title=f"ullage compile {what}: {len(rounds)} rounds, whole processes")
    table.add_column()
    for heading in ("seconds", "least to most", "ratio", "least to most", "target"):
        table.add_column(heading, justify="right")
    against = ratios(rounds)
    for name, seconds in times(rounds).items():
        row = [name, *shown(seconds)]
        if name in against:
            row += shown(against[name])
        if name in targets:
            met = "met" if against[name].median <= targets[name] else "MISSED"
            row.append(f"<= {targets[name]:g} {met}")
        table.add_row(*row)
    return table


def keep(rounds: list[Round], what: str, targets: Mapping[str, float]) -> None:
    measured = {
        "targets": targets,
        "ratios_to_imports": {name: asdict(values) for name, values in ratios(rounds).items()},
        "seconds": {name: asdict(values) for name, values in times(rounds).items()},
        "rounds": [asdict(turn) for turn in rounds],
    }
    name = "compile_time" if targets else "compile_time_all"
    record(name, f"whole-process seconds of ullage compile {what}", measured)


def misses(rounds: list[Round], targets: Mapping[str, float]) -> list[str]:
    found = ratios(rounds)
    return [name for name, most in targets.items() if found[name].median > most]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--specs", default="specs/sglang", help="folder to compile")
    parser.add_argument("--runners", default="eager", help="runners to compile, or 'all'")
    parser.add_argument("--repetitions", type=int, default=5, help="rounds that count")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    if asked.repetitions < 1:
        print("compile_time: --repetitions must be at least 1", file=sys.stderr)
        return 2
    runners = () if asked.runners == "all" else tuple(asked.runners.split(","))
    what, targets = f"{asked.specs}, runners: {asked.runners}", TARGETS if runners else {}
    try:
        rounds = measure(ROOT / asked.specs, runners, asked.repetitions)
    except CommandError as failure:
        print(f"compile_time: nothing measured, a command failed: {failure}", file=sys.stderr)
        return 2
    Console().print(report(rounds, what, targets))
    if asked.record:
        keep(rounds, what, targets)
    return 1 if asked.check and misses(rounds, targets) else 0


if __name__ == "__main__":
    sys.exit(main())
