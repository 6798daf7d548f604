"""Measures loading beside SGLang: `python -m sglang_peer`, with `benchmarks` on the path."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import torch

from sglang_peer.batches import Contents, ForwardBatch
from sglang_peer.cases import Case, Kind, cases
from sglang_peer.comparing import broken_promises, differences, only_static_in
from sglang_peer.cuda import device_costs
from sglang_peer.implementations import (
    Floor,
    Generated,
    Implementation,
    Sglang,
    loads_by_library,
)
from sglang_peer.profiles import print_profiles
from sglang_peer.registries import build, eager_load, poison, small_copy_problem
from sglang_peer.report import Measured, Row, keep, show, targets_missed
from sglang_peer.stubs import fast_path
from sglang_peer.timing import host_times, operations, times_of_first_loads

SEEDS = range(4)
"""Batches that each case goes through in turn."""


def measured(case: Case, device: torch.device, contents: Contents, calls: int) -> Measured:
    """All implementations in one case, compared before they are timed."""
    batches = [case.batch(device, seed, contents) for seed in SEEDS]
    implementations = implementations_of(case, device, contents)
    found = {each.name: compared(case, batches, each, device, contents) for each in implementations}
    on_gpu = device.type == "cuda"
    synchronize: Callable[[], None] = torch.cuda.synchronize if on_gpu else _nothing
    times = host_times(implementations, batches, calls=calls, synchronize=synchronize)
    return Measured(
        case,
        tuple(
            Row(
                each.name,
                times[each.name],
                operations(each, batches[0]),
                device_costs(each, batches) if on_gpu else None,
                *found[each.name],
            )
            for each in implementations
        ),
    )


def _nothing() -> None:
    """A CPU is never behind."""


def implementations_of(
    case: Case, device: torch.device, contents: Contents
) -> Sequence[Implementation]:
    """SGLang in the settings that work there, the floor, and the generated runner.

    That is loaded by torch too where it has a library.
    """
    registry = build(case.kind, device, contents)
    settings = (True,) if small_copy_problem(device) else (False, True)
    return (
        *(Sglang(registry, case, fast=fast) for fast in settings),
        Floor(registry, case),
        Generated(case, device, contents),
        *([Generated(case, device, contents, by_torch=True)] if loads_by_library(device) else []),
    )


def compared(
    case: Case,
    batches: Sequence[ForwardBatch],
    implementation: Implementation,
    device: torch.device,
    contents: Contents,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields that differ from SGLang's, and those that only this one keeps static.

    SGLang's own view is looked at first: RuntimeError if it is not what its registry promises.
    """
    wrong: dict[str, None] = {}
    static: dict[str, None] = {}
    registry = build(case.kind, device, contents, gathered=implementation.computes)
    reference = Sglang(registry, case, fast=small_copy_problem(device) is not None)
    for batch in batches:
        poison(registry)
        with reference.setting():
            reference.fill(batch)
            expected = reference.view(batch)
        broken = broken_promises(case, batch, registry, expected)
        if broken:
            raise RuntimeError(f"{case.label}: SGLang's registry breaks its promise of {broken}.")
        with implementation.setting():
            implementation.fill(batch)
            view = implementation.view(batch)
        wrong |= dict.fromkeys(differences(case, batch, registry, expected, view))
        static |= dict.fromkeys(only_static_in(view, batch, registry))
    return tuple(wrong), tuple(static)


def first_loads(device: torch.device, contents: Contents) -> Mapping[str, Mapping[str, float]]:
    """Eager batches each of another size, by kind; SGLang's by its real `load_batch`."""
    shuffled = torch.randperm(512, generator=torch.Generator().manual_seed(0)).tolist()
    decodes = [Case("eager", False, n, n, n, n) for n in (each + 1 for each in shuffled)]
    extends = [Case("eager", True, 8, 8, n, n) for n in (3 * each + 256 for each in shuffled)]
    return {
        "eager decode": _first_loads(decodes, device, contents),
        "eager extend": _first_loads(extends, device, contents),
    }


def _first_loads(
    sized: Sequence[Case], device: torch.device, contents: Contents
) -> Mapping[str, float]:
    batches = [case.batch(device, number, contents) for number, case in enumerate(sized)]
    load = eager_load(build("eager", device, contents))
    ours = [Generated(sized[0], device, contents)]
    if loads_by_library(device):
        ours.append(Generated(sized[0], device, contents, by_torch=True))
    loads = {"sglang": load, **{each.name: each.fill for each in ours}}
    with fast_path(True):  # the better setting where nothing is padded
        for _ in range(100):  # the code is warm, if not for these shapes
            for each in loads.values():
                each(batches[0])
        return times_of_first_loads(loads, batches[1:])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), help="only there; all there are")
    parser.add_argument("--calls", type=int, default=4000, help="of each implementation and case")
    parser.add_argument("--only", default="", help="cases whose label holds this")
    parser.add_argument("--kind", choices=get_args(Kind), help="cases of one kind of registry")
    parser.add_argument("--mrope", action="store_true", help="batches bring mrope_positions")
    parser.add_argument("--mamba", action="store_true", help="batches bring mamba_track_*")
    parser.add_argument("--encoder", action="store_true", help="batches bring encoder_lens")
    parser.add_argument("--int32", nargs="*", default=[], help="fields given as int32")
    parser.add_argument("--light", action="store_true", help="a ForwardBatch of 23 fields")
    parser.add_argument("--first", action="store_true", help="only shapes that are not seen before")
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results")
    parser.add_argument("--check", action="store_true", help="exit 1 when a target is missed")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    torch.set_num_threads(1)  # which is all that a load is worth
    contents = Contents(asked.mrope, asked.mamba, asked.encoder, tuple(asked.int32), asked.light)
    chosen = [
        case
        for case in cases()
        if not asked.first
        and asked.only in case.label
        and asked.kind in (None, case.kind)
        and takes(case, contents)
    ]
    there = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    failed = False
    for device in there if asked.device is None else (asked.device,):
        # With an index, as tensors have one.
        failed |= run(torch.empty(0, device=device).device, chosen, contents, asked)
    return 1 if failed else 0


def run(
    device: torch.device, chosen: Sequence[Case], contents: Contents, asked: argparse.Namespace
) -> bool:
    """Measure and print everything on one device; whether something is wrong."""
    if asked.profile:
        for case in chosen:
            batches = [case.batch(device, seed, contents) for seed in SEEDS]
            print_profiles(case.label, implementations_of(case, device, contents), batches)
        return False
    found = [measured(case, device, contents, asked.calls) for case in chosen]
    first = first_loads(device, contents)
    on = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    small_copy = small_copy_problem(device) or "works"
    loads_by = "library" if loads_by_library(device) else "torch"
    settings = {**vars(asked), "device": on, "small copy": small_copy, "ullage loads by": loads_by}
    show(found, first, settings)
    if asked.record:
        keep(f"sglang_{device.type}", found, first, settings)
    # The targets are those of a CPU, where all of a load is host time.
    missed = targets_missed(found, first) if device.type == "cpu" else []
    print("\n".join(missed) if missed else "every target met")
    different = any(row.differences for each in found for row in each.rows)
    return different or (asked.check and bool(missed))


def takes(case: Case, contents: Contents) -> bool:
    """Whether there is such a case: verifications track no state, prefill graphs no encoder."""
    return not (contents.mamba and case.width > 1) and not (
        contents.encoder and case.kind == "prefill"
    )


if __name__ == "__main__":
    sys.exit(main())
