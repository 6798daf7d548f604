"""`python -m ullage_demo`: serve every scenario, check it, and show what was loaded."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from ullage_demo.report import show
from ullage_demo.scenarios import SCENARIOS, build_demo, refuse_oversized, use_few_threads

FEWEST_REQUESTS = 8
"""With fewer, some mode of the plain scenario may not come up."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every check passed."""
    options = parse(arguments)
    console = Console()
    use_few_threads()
    demo = build_demo(options.requests)
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
    return parser.parse_args(arguments)


def request_count(text: str) -> int:
    """A count that lets every mode come up. ArgumentTypeError otherwise."""
    count = int(text) if text.isdecimal() else 0
    if count < FEWEST_REQUESTS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number of at least {FEWEST_REQUESTS}"
        )
    return count


if __name__ == "__main__":
    raise SystemExit(main())
