"""The table of what was measured on a GPU, out of the two records of `make bench-gpu`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from measuring import RESULTS

TABLE: Final = RESULTS / "gpu.md"

Record = Mapping[str, Any]  # as json reads it


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, least to most over all cases, and what it has to be at least or at most.

    `target`: None where a figure is only reported.
    """

    what: str
    beside: str
    least: float
    most: float
    target: float | None = None
    at_most: bool = False

    @property
    def is_met(self) -> bool | None:
        if self.target is None:
            return None
        return self.most <= self.target if self.at_most else self.least >= self.target

    @classmethod
    def of(
        cls,
        what: str,
        beside: str,
        found: Sequence[float],
        target: float | None = None,
        **how: bool,
    ) -> Figure:
        return cls(what, beside, min(found), max(found), target, **how)


def figures(gpu: Record, peer: Record) -> Iterator[Figure]:
    """Those of both records, the ones beside SGLang first."""
    yield from _beside_sglang([_Case(each) for each in peer["cases"]])
    for name, times in peer["first_loads"].items():
        what = f"a shape not seen before, {name}: SGLang's over ours"
        yield Figure.of(what, "its real load_batch", [times["sglang"] / times["ullage"]], 4)
    yield from _alone(gpu)


class _Case:
    """One case of the record beside SGLang, which is taken at the setting that is faster there."""

    def __init__(self, case: Record) -> None:
        rows = {row["implementation"]: row for row in case["rows"]}
        theirs = [row for name, row in rows.items() if name.startswith("sglang")]
        given = case["case"]
        eager = "eager extends" if given["extends"] else "eager decodes"
        self.title = eager if given["kind"] == "eager" else f"{given['kind']} graphs"
        self.is_padded_decode = not given["extends"] and given["padded_tokens"] > given["tokens"]
        self.speedup: float = case["sglang_over_ullage"]
        self.ours = rows["ullage"]
        self.theirs = min(theirs, key=lambda row: float(row["host"]["both"]))

    @property
    def fill(self) -> float:
        return float(self.theirs["host"]["fill"] / self.ours["host"]["fill"])

    @property
    def device(self) -> float:
        return float(self.ours["device"]["device"] / self.theirs["device"]["device"])


def _beside_sglang(cases: Sequence[_Case]) -> Iterator[Figure]:
    for title in dict.fromkeys(case.title for case in cases):
        found = [case.speedup for case in cases if case.title == title]
        yield Figure.of(
            f"fill and view, {title}: SGLang's over ours", "its faster setting", found, 9
        )
    padded = [case for case in cases if case.is_padded_decode]
    what, beside = "padded decodes: SGLang's fill over ours", "ours makes the view too"
    yield Figure.of(what, beside, [case.fill for case in padded], 12)
    host = [case.ours["host"] for case in cases]
    beside = "medians; hosts change speed while a run lasts"
    yield Figure.of("fill and view, us", beside, [each["both"] for each in host], 10, at_most=True)
    yield Figure.of("the same, us", "the fastest tenth of calls", [each["p10"] for each in host])
    launches = [case.ours["device"]["launches"] for case in cases]
    theirs = [case.theirs["device"]["launches"] for case in cases]
    beside = f"SGLang {min(theirs):g} to {max(theirs):g}"
    yield Figure.of("launches a load", beside, launches, 1, at_most=True)
    for title in dict.fromkeys(case.title for case in cases):
        device = [case.device for case in cases if case.title == title]
        what = f"time on the device, {title}: ours over SGLang's"
        yield Figure.of(what, "its faster setting", device, 1, at_most=True)


def _alone(gpu: Record) -> Iterator[Figure]:
    host = [shape["host_us"] for shape in gpu["load"]["shapes"].values()]
    for name, target in (("empty launch", 2), ("graph replay of the load", None)):
        over = [each["prepared load"] / each[name] for each in host]
        what = f"a prepared load over {name}"
        yield Figure.of(what, "the same path", over, target, at_most=True)
    staged = [
        each for part in ("decode", "padded decode") for each in gpu["staging"][part].values()
    ]
    pairs = "a pinned pair for each field"
    over = [each[pairs] / each["load"] for each in staged]
    yield Figure.of("a batch on the host, by pairs over ours", "five fields", over, 5)
    steps = gpu["step"]["requests"].values()
    over = [each["step, slot by slot"] / each["step"] for each in steps]
    yield Figure.of(
        "a whole decode step, slot by slot over ours", gpu["step"]["attention"], over, 3
    )
    shares = [each["plan"] / each["step"] for each in steps]
    yield Figure.of("the share of the attention's own plan in it", "equal on both sides", shares)
    planned, allocated = (gpu["start_up"]["static_bytes"][key] for key in ("planned", "allocated"))
    what, over = "static bytes allocated over planned", [allocated / planned]
    yield Figure.of(what, f"{planned:,}", over, 1, at_most=True)
    for name, seconds in gpu["start_up"]["start_up"].items():
        if name.endswith("_s"):
            what = f"start-up, {name.removesuffix('_s').replace('_', ' ')}, s"
            yield Figure.of(what, gpu["start_up"]["what"], [seconds])


def rendered(gpu: Record, peer: Record) -> str:
    """The table as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in gpu["versions"].items())
    lines = [
        f"# Loads on one {gpu['machine']['device']}",
        "",
        f"Written by `make bench-gpu` on {gpu['date']}, with {versions}.",
        f"Beside SGLang {peer['settings']['sglang']}: on {peer['date']}.",
        "The raw figures are in `gpu.json` and `sglang_cuda.json` beside this file.",
        "",
        "| what | beside | least | most | target | |",
        "|---|---|---|---|---|---|",
    ]
    words = {None: "", True: "met", False: "**missed**"}
    for each in figures(gpu, peer):
        sign = "≤" if each.at_most else "≥"
        target = "" if each.target is None else f"{sign} {each.target:g}"
        cells = (each.what, each.beside, f"{each.least:.4g}", f"{each.most:.4g}", target)
        lines.append(f"| {' | '.join(cells)} | {words[each.is_met]} |")
    return "\n".join(lines) + "\n"


def of_records(folder: Path) -> str:
    """The table of the records in a folder."""
    gpu, peer = (
        json.loads((folder / name).read_text()) for name in ("gpu.json", "sglang_cuda.json")
    )
    return rendered(gpu, peer)


def main() -> int:
    table = of_records(RESULTS)
    TABLE.write_text(table)
    print(table, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
