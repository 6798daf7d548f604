"""Serve the demo's modes, check them, and show what was loaded."""

from __future__ import annotations

import torch

from ullage_demo.options import Options
from ullage_demo.report import make_console, show
from ullage_demo.scenarios import SCENARIOS, refuse_oversized
from ullage_demo.setting import build_demo

THREADS = 1
"""Tensors this small gain nothing from more, and lose much."""


def serve(options: Options) -> bool:
    """Whether every check passed."""
    console = make_console()
    torch.set_num_threads(THREADS)
    demo = build_demo(options.requests, device=options.device, debug=options.debug)
    outcomes = []
    for name in [options.mode] if options.mode else SCENARIOS:
        with console.status(f"serving {name}"):
            outcomes.append(SCENARIOS[name](demo))
    refused, error = refuse_oversized()
    return show(console, outcomes, refused, error)
