"""`python -m ullage_demo`: serve every scenario, check it, and show what was loaded."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch

from ullage_demo.report import make_console, show
from ullage_demo.scenarios import SCENARIOS, build_demo, refuse_oversized
from ullage_demo.workload import FEWEST_REQUESTS, request_count

THREADS = 1
"""Tensors this small gain nothing from more, and lose much."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every check passed."""
    options = parse(arguments)
    console = make_console()
    torch.set_num_threads(THREADS)
    demo = build_demo(options.requests, debug=options.debug)
    outcomes = []
    for name in [options.mode] if options.mode else SCENARIOS:
        with console.status(f"serving {name}"):
            outcomes.append(SCENARIOS[name](demo))
    refused, error = refuse_oversized()
    return 0 if show(console, outcomes, refused, error) else 1


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ullage_demo",
        description="Serve a small Llama on CPU and compare every token with transformers.",
    )
    parser.add_argument("--mode", choices=tuple(SCENARIOS), help="serve only this scenario")
    parser.add_argument(
        "--requests",
        type=request_count,
        default=24,
        help=f"requests of the plain scenario, at least {FEWEST_REQUESTS} (default 24)",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="poison buffers before each load, and compare each step with an unpadded one",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
