"""Checks that a generated `load` makes before it writes anything.

Each has a fast path of a few comparisons; the message is built only when one fails. `mode` is
the mode's name and `place` the spec line that demands what is checked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor

from ullage_runtime.errors import BatchError, CapacityError
from ullage_runtime.storage import is_in_place, overlaps_storage


def live_extent(*sources: Tensor | None, dimension: int = 0) -> int:
    """Size of the first present source along `dimension`; 0 if none is present."""
    for source in sources:
        if source is not None:
            return source.shape[dimension] if source.dim() > 0 else 0
    return 0


def values_of(*sources: Tensor | None) -> list[int]:
    """The elements of the first present source, which lies on the host; none if all are absent."""
    for source in sources:
        if source is not None:
            return [int(value) for value in source.flatten().tolist()]
    return []


def check_extent(
    mode: str, axis: str, extent: int, capacity: int, *, place: str, binding: str
) -> None:
    """An extent (elements, after padding) fits the buffers. CapacityError (U711) if not.

    `axis`: the axis or slot; `binding`: the parameter or formula that sets the capacity.
    """
    if extent <= capacity:
        return
    raise CapacityError(mode, axis, extent, capacity, place=place, binding=binding)


def check_range(mode: str, variable: str, value: int, low: int, high: int, *, place: str) -> None:
    """A live value is in the range its capacities were derived from. BatchError (U712) if not."""
    if low <= value <= high:
        return
    raise BatchError("U712", mode, variable, f"is {value}, outside [{low}, {high}]", place=place)


def check_member(
    mode: str, variable: str, value: int, members: Collection[int], *, place: str
) -> None:
    """A varying parameter takes one of its declared values. BatchError (U712) if not."""
    if value in members:
        return
    listed = ", ".join(str(member) for member in members)
    raise BatchError(
        "U712", mode, variable, f"is {value}, but must be one of {listed}", place=place
    )


def check_relation(
    mode: str, holds: bool, statement: str, values: Mapping[str, int], *, place: str
) -> None:
    """A relation between live values holds. BatchError (U712) with the values if not."""
    if holds:
        return
    given = ", ".join(f"{name} = {value}" for name, value in values.items())
    problem = f"does not hold with {given}" if given else "does not hold"
    raise BatchError("U712", mode, statement, problem, place=place)


def unknown_mode(mode: str, runner: str, served: Collection[str], *, place: str) -> BatchError:
    """The error (U717) to raise for a mode that `runner` does not serve."""
    listed = ", ".join(served)
    return BatchError("U717", mode, runner, f"serves only {listed}", place=place)


def check_source(
    mode: str,
    slot: str,
    source: Tensor | None,
    *,
    shape: tuple[int, ...],
    into: Tensor,
    place: str,
    accepts: tuple[torch.dtype, ...] = (),
) -> Tensor:
    """A source can be copied into its slot; returns it.

    `shape`: the exact live shape; `into`: the slot (its dtype, or one in `accepts`, and its
    device are demanded). A source inside the slot's allocation must be the head of this very
    slot: anything else there would be overwritten before it is read.
    Raises BatchError: U713 missing, U714 dtype, U715 device, U716 shape, U718 overlap,
    U719 gradients.
    """
    if source is None:
        raise BatchError("U713", mode, slot, "has no source in the batch", place=place)
    dtype = source.dtype
    if (
        source.shape == shape
        and (dtype is into.dtype or dtype in accepts)
        and source.device == into.device
        and not (source.requires_grad and torch.is_grad_enabled())
        and (not overlaps_storage(source, into) or is_in_place(source, into))
    ):
        return source
    code, problem = _source_problem(source, shape, into, accepts)
    raise BatchError(code, mode, slot, problem, place=place)


def _source_problem(
    source: Tensor, shape: tuple[int, ...], into: Tensor, accepts: tuple[torch.dtype, ...]
) -> tuple[str, str]:
    if source.dtype is not into.dtype and source.dtype not in accepts:
        accepted = " or ".join(str(dtype) for dtype in dict.fromkeys((into.dtype, *accepts)))
        return "U714", f"has a source of {source.dtype}, but accepts {accepted}"
    if source.device != into.device:
        return "U715", f"has a source on {source.device}, but lies on {into.device}"
    if source.shape != shape:
        found = tuple(source.shape)
        return "U716", f"has a source of shape {found}, but the batch implies {shape}"
    if overlaps_storage(source, into) and not is_in_place(source, into):
        offset = source.data_ptr() - into.untyped_storage().data_ptr()
        return "U718", (
            f"has a source at byte {offset} of the static storage, which this load overwrites; "
            "pass a copy"
        )
    return "U719", (
        "has a source that requires gradients, which would be recorded into a static buffer; "
        "detach it, or load under torch.inference_mode()"
    )


def check_values(mode: str, slot: str, values: Tensor, low: int, high: int, *, place: str) -> None:
    """Every element is in [low, high]. BatchError (U712) with the first that is not.

    Reads the device and allocates: for debug mode, and for values that load only assumes.
    """
    outside = ((values < low) | (values > high)).flatten()
    if not bool(outside.any()):
        return
    position = int(outside.to(torch.uint8).argmax())
    value = values.flatten()[position].item()
    problem = f"holds {value} at element {position}, outside [{low}, {high}]"
    raise BatchError("U712", mode, slot, problem, place=place)
