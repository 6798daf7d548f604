"""Checks that a generated `load` makes before it writes anything.

Each has a fast path of a few comparisons; the message is built only when one fails. Where
generated code compares by itself, the error to raise is made here. `mode` is the mode's name and
`place` the spec line that demands what is checked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

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


def single_value(mode: str, variable: str, source: Tensor | None, *, place: str) -> int:
    """The only element of a source of a live variable, for debug mode: reads the device.

    BatchError: U713 without a source, U716 for one that has not exactly one element.
    """
    if source is None:
        raise BatchError("U713", mode, variable, "has no source in the batch", place=place)
    if source.numel() != 1:
        problem = f"has a source of shape {tuple(source.shape)}, but is one number"
        raise BatchError("U716", mode, variable, problem, place=place)
    return int(source.item())


def check_extent(
    mode: str, axis: str, extent: int, capacity: int, *, place: str, binding: str
) -> None:
    """An extent (elements, after padding) fits the buffers. CapacityError (U711) if not.

    `axis`: the axis or slot; `binding`: the parameter or formula that sets the capacity.
    """
    if extent <= capacity:
        return
    raise CapacityError(mode, axis, extent, capacity, place=place, binding=binding)


def out_of_range(
    mode: str,
    variable: str,
    value: int,
    low: int,
    high: int,
    *,
    place: str,
    lower: str = "",
    upper: str = "",
    values: Mapping[str, object] = MappingProxyType({}),
) -> BatchError:
    """The error (U712) to raise for a live value outside of the range behind the capacities.

    `lower`, `upper`: the ends as the spec writes them, where it does not write a number;
    `values`: what else they depend on; None is the value of what means nothing at present.
    """
    side, text, end = ("lower", lower, low) if value < low else ("upper", upper, high)
    behind = f"; the {side} end is {text} = {end}{_listed(values)}" if text else ""
    problem = f"is {value}, outside [{low}, {high}]{behind}"
    return BatchError("U712", mode, variable, problem, place=place)


def broken_relation(
    mode: str, statement: str, values: Mapping[str, object], *, place: str
) -> BatchError:
    """The error (U712) to raise where a relation between live values does not hold.

    `values`: of all that it depends on, as `out_of_range` has them.
    """
    return BatchError("U712", mode, statement, f"does not hold{_listed(values)}", place=place)


def check_member(
    mode: str, variable: str, value: int, members: Collection[int], *, place: str, listed: str
) -> None:
    """A varying parameter is in the list parameter `listed`. BatchError (U712) if not."""
    if value in members:
        return
    problem = f"is {value}, which is not in {listed} = {_spelled(members)}"
    raise BatchError("U712", mode, variable, problem, place=place)


def _listed(values: Mapping[str, object]) -> str:
    shown = [f"{name} = {_spelled(each)}" for name, each in values.items() if each is not None]
    return f" with {', '.join(shown)}" if shown else ""


def _spelled(value: object) -> str:
    """A value as specs write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


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
    settled: bool = True,
) -> Tensor:
    """A source can be copied into its slot; returns it.

    `shape`: the exact live shape; `into`: the slot at its capacity (its dtype, or one in
    `accepts`, and its device are demanded). A source inside the slot's allocation must be the
    head of this very slot: anything else there would be overwritten before it is read. Where it
    is not `settled` which runner's slot this will be, that is left out.
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
        and (not settled or not overlaps_storage(source, into) or is_in_place(source, into))
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
