"""Serve the demo's modes, check them, and show what was loaded."""

from __future__ import annotations

import torch

from ullage_demo.options import Options
from ullage_demo.place import FLASHINFER_HEAD, AttentionLibrary, Place
from ullage_demo.report import make_console, show
from ullage_demo.scenarios import SCENARIOS, refuse_oversized
from ullage_demo.setting import build_demo

THREADS = 1
"""Tensors this small gain nothing from more, and lose much."""


def serve(options: Options) -> bool:
    """Whether every check passed."""
    console = make_console()
    torch.set_num_threads(THREADS)
    demo = build_demo(options.requests, place=_first(options), student=_student(options))
    outcomes = []
    for name in [options.mode] if options.mode else SCENARIOS:
        with console.status(f"serving {name}"):
            outcomes.append(SCENARIOS[name](demo))
    refused, error = refuse_oversized()
    return show(console, outcomes, refused, error)


def _first(options: Options) -> Place:
    """Where tokens are chosen: on the CPU if half-precision kernels follow it."""
    if options.attention == AttentionLibrary.FLASHINFER.value:
        return Place(head_dim=FLASHINFER_HEAD, debug=options.debug)
    return Place(device=options.device, debug=options.debug)


def _student(options: Options) -> Place | None:
    if options.attention != AttentionLibrary.FLASHINFER.value:
        return None
    return Place(
        device=options.device,
        library=AttentionLibrary.FLASHINFER,
        head_dim=FLASHINFER_HEAD,
        debug=options.debug,
    )
