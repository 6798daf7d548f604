"""What the demo takes on a command line. No model is needed to say so, and torch for CUDA only."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MODES: Mapping[str, str] = {
    "plain": "continuous batching, with chunks of prompts and mixed batches",
    "split": "prompts a layer at a time, beside decodes",
    "chain": "speculation with one branch",
    "adaptive": "speculation with one branch, of another length in each round",
    "tree": "speculation with a tree of branches",
    "frozen": "speculation from the keys and values of the target",
    "diffusion": "blocks of masks, revealed step by step",
    "graph": "decodes padded to buckets, replayed over static buffers",
    "graph_verify": "the same for verifies of speculation",
}
"""The ways to serve, each with what it shows."""

DEVICES = ("cpu", "cuda")

LIBRARIES = ("torch", "flashinfer")
"""Whose kernels attend."""

FEWEST_REQUESTS = 8
"""With fewer, some mode may not come up."""


@dataclass(frozen=True, slots=True)
class Options:
    """`mode`: the only one to serve, None for all; `requests`: of the plain one.

    `attention`: whose kernels attend, one of LIBRARIES.
    """

    mode: str | None
    requests: int
    device: str
    attention: str
    debug: bool


def parse(arguments: Sequence[str] | None, program: str) -> Options:
    """The options of `python -m ullage_demo` and `ullage demo`. SystemExit (2) if one is wrong."""
    parser = _parser(program)
    given = parser.parse_args(arguments)
    if given.attention == "flashinfer" and given.device != "cuda":
        parser.error("--attention flashinfer takes --device cuda")
    return Options(given.mode, given.requests, given.device, given.attention, given.debug)


def _parser(program: str) -> argparse.ArgumentParser:
    width = max(map(len, MODES)) + 2
    listed = "\n".join(f"  {name:<{width}}{shows}" for name, shows in MODES.items())
    parser = argparse.ArgumentParser(
        prog=program,
        description="Serve a small Llama and compare every token with transformers.",
        epilog=f"modes:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--mode", metavar="NAME", type=mode_name, help="serve only this mode")
    parser.add_argument(
        "--requests",
        metavar="COUNT",
        type=request_count,
        default=24,
        help=f"requests of the mode plain, at least {FEWEST_REQUESTS} (default 24)",
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        type=device_name,
        default="cpu",
        help="where to serve, cpu or cuda (default cpu); what is expected comes from the CPU",
    )
    parser.add_argument(
        "--attention",
        choices=LIBRARIES,
        default="torch",
        help="whose kernels attend (default torch); flashinfer follows the CPU step by step",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="poison buffers before each load, and compare each step with an unpadded one",
    )
    return parser


def mode_name(text: str) -> str:
    """A mode of the demo. ArgumentTypeError otherwise."""
    if text not in MODES:
        raise argparse.ArgumentTypeError(f"there is no mode {text!r}; there are {', '.join(MODES)}")
    return text


def request_count(text: str) -> int:
    """A count that lets every mode come up. ArgumentTypeError otherwise."""
    count = int(text) if text.isdecimal() else 0
    if count < FEWEST_REQUESTS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number of at least {FEWEST_REQUESTS}"
        )
    return count


def device_name(text: str) -> str:
    """A device to serve on that is there. ArgumentTypeError otherwise."""
    if text not in DEVICES:
        raise argparse.ArgumentTypeError(f"there is no device {text!r}; there are cpu and cuda")
    if text == "cuda" and not _has_cuda():
        raise argparse.ArgumentTypeError("torch finds no CUDA device here")
    return text


def _has_cuda() -> bool:
    import torch  # only where it is asked for: help needs no torch

    return torch.cuda.is_available()
