"""Debug mode: poison what nobody may read, and compare padded steps with unpadded ones.

Everything here reads the device and allocates; none of it runs unless debug mode is on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ullage_runtime.errors import DebugError
from ullage_runtime.outputs import named_tensors
from ullage_runtime.storage import is_in_place

POISON_BYTE = 0x5A


@dataclass(frozen=True, slots=True)
class DebugOptions:
    """What debug mode does. The same on all ranks.

    `poison`: slots before each load; `canaries`: guards between slots; `values`: ranges of
    values on the device; `compare`: each padded step with the eager one, within `rtol` and
    `atol`; `order`: names of collectives over all ranks.
    """

    poison: bool = False
    canaries: bool = False
    values: bool = False
    compare: bool = False
    order: bool = False
    rtol: float = 1e-3
    atol: float = 1e-3

    @property
    def claims(self) -> bool:
        """Whether loads keep track of who wrote to shared storage last."""
        return self.poison or self.canaries

    @property
    def loads(self) -> bool:
        """Whether every single load is looked at."""
        return self.claims or self.values

    @staticmethod
    def of(debug: bool | DebugOptions) -> DebugOptions:
        """False: nothing; True: everything; options: themselves."""
        if isinstance(debug, DebugOptions):
            return debug
        return DebugOptions(debug, debug, debug, debug, debug)


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which two outputs differ; `path` says where."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


def poison_value(dtype: torch.dtype) -> int | float | bool:
    """NaN for floating point; for integers the byte 0x5A repeated, far outside of any index."""
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    if dtype == torch.bool:
        return True
    return int.from_bytes(bytes([POISON_BYTE]) * dtype.itemsize, "little")


def poison(tensor: Tensor) -> None:
    """Overwrite every element with the poison of its dtype."""
    tensor.fill_(poison_value(tensor.dtype))


def poison_around(slot: Tensor | None, source: Tensor | None) -> None:
    """Poison a whole slot, if there is one, but for a source that lies in it already."""
    if slot is None:
        return
    if source is None or not is_in_place(source, slot):
        poison(slot)
        return
    kept = source.clone()
    poison(slot)
    source.copy_(kept)


def require_unpoisoned(mode: str, slot: str, view: Tensor, *, place: str) -> None:
    """No poison is left in rows that a reader reads. DebugError (U732) with the first element.

    Dtypes of one byte are skipped: each of their values can be meant.
    """
    if view.dtype.itemsize == 1:
        return
    left = (view.isnan() if _is_float(view) else view == poison_value(view.dtype)).flatten()
    if bool(left.any()):
        position = int(left.to(torch.uint8).argmax())
        raise DebugError(
            "U732",
            f"Mode {mode!r}: slot {slot} is read at element {position} of shape "
            f"{tuple(view.shape)}, which nobody wrote ({place}).",
        )


def unchanged(tensor: Tensor, before: Tensor) -> bool:
    """Whether a tensor still has the bits of its earlier clone `before`; NaNs count as equal."""
    return _difference(tensor, before, 0.0, 0.0) is None


def differences(
    found: object,
    expected: object,
    *,
    rows: int | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> tuple[Difference, ...]:
    """Where two outputs of the same structure differ, each tensor once.

    `rows`: compare only so many leading rows. NaN equals NaN. Integers must be equal.
    """
    return tuple(_differences(found, expected, rows, rtol, atol))


def require_same_outputs(
    mode: str,
    found: object,
    expected: object,
    options: DebugOptions,
    *,
    rows: int | None = None,
    place: str,
) -> None:
    """A padded step's output equals the eager one's. DebugError (U731) with every difference."""
    every = differences(found, expected, rows=rows, rtol=options.rtol, atol=options.atol)
    if every:
        listed = "; ".join(str(each) for each in every)
        raise DebugError(
            "U731", f"Mode {mode!r}: padded and eager steps differ: {listed} ({place})."
        )


def _differences(
    found: object, expected: object, rows: int | None, rtol: float, atol: float
) -> Iterator[Difference]:
    ours, theirs = dict(named_tensors(found)), dict(named_tensors(expected))
    for path in ours:
        if path not in theirs:
            yield Difference(path, "is not in the expected output")
    for path, wanted in theirs.items():
        tensor = ours.get(path)
        if tensor is None:
            yield Difference(path, "is missing")
        elif problem := _difference(_head(tensor, rows), _head(wanted, rows), rtol, atol):
            yield Difference(path, problem)


def _head(tensor: Tensor, rows: int | None) -> Tensor:
    return tensor if rows is None or tensor.dim() == 0 else tensor[:rows]


def _difference(found: Tensor, expected: Tensor, rtol: float, atol: float) -> str | None:
    if found.shape != expected.shape or found.dtype is not expected.dtype:
        ours, theirs = f"{found.dtype} {[*found.shape]}", f"{expected.dtype} {[*expected.shape]}"
        return f"is {ours} instead of {theirs}"
    expected = expected.to(found.device)
    if not _is_float(found):
        wrong = found != expected
    else:
        wide = torch.complex128 if found.is_complex() else torch.float64
        found, expected = found.to(wide), expected.to(wide)
        wrong = ~torch.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    if not bool(wrong.any()):
        return None
    position = int(wrong.flatten().to(torch.uint8).argmax())
    value, wanted = found.flatten()[position].item(), expected.flatten()[position].item()
    return (
        f"differs in {int(wrong.sum())} of {wrong.numel()} elements, first at element {position}: "
        f"{value} instead of {wanted}"
    )


def _is_float(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()
