"""Measures on a CUDA device: `python -m gpu`, with `benchmarks` on the path."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from gpu import graphs, load, staging, start_up, step
from gpu.machine import about

RESULT = Path(__file__).parents[1] / "results" / "gpu.json"

PARTS: Mapping[str, Callable[[], dict[str, object]]] = {
    "load": load.record,
    "staging": staging.record,
    "graphs": graphs.record,
    "step": step.record,
    "start_up": start_up.record,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure loads, graphs and start-up on a GPU.")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--record", action="store_true", help=f"write {RESULT.name} in results/")
    given = parser.parse_args(arguments)
    if given.only and given.record:
        parser.error("--record is of all parts, from one run")
    if not torch.cuda.is_available():
        print("there is no CUDA device here", file=sys.stderr)
        return 2
    found = about() | {name: PARTS[name]() for name in ([given.only] if given.only else PARTS)}
    text = json.dumps(found, indent=2) + "\n"
    print(text, end="")
    if given.record:
        RESULT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
