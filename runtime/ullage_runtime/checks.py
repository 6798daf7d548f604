"""Checks that a generated `load` makes before it writes anything.

Each has a fast path of a few comparisons; the message is built only when one fails. Where
generated code compares by itself, the error to raise is made here. `mode` is the mode's name and
`place` the spec line that demands what is checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from operator import index
from types import MappingProxyType

import torch
from torch import Tensor

from ullage_runtime.arena_regions import Regions
from ullage_runtime.errors import BatchError, CapacityError
from ullage_runtime.storage import is_in_place


def whole_number(mode: str, variable: str, value: object, *, place: str) -> int:
    """A number of a live batch as a plain int. BatchError (U712) for what is no whole number."""
    if type(value) is int:
        return value
    if not isinstance(value, bool | Tensor):
        with suppress(TypeError):
            return index(value)  # type: ignore[arg-type]  # asked, since nothing says what it is
    problem = f"is {value!r} of type {type(value).__name__}, but must be a whole number"
    raise BatchError("U712", mode, variable, problem, place=place)


def live_extent(
    mode: str, variable: str, *sources: Tensor | None, place: str, dimension: int = 0
) -> int:
    """Size of the first present source along `dimension`; 0 if none is present.

    BatchError: U714 for a source that is no tensor, U716 for one without that dimension.
    """
    for source in sources:
        if source is None:
            continue
        _require_tensor(mode, variable, source, place)
        if source.dim() > dimension:
            return source.shape[dimension]
        problem = f"is the size along dimension {dimension} of a source of shape "
        raise BatchError("U716", mode, variable, f"{problem}{tuple(source.shape)}", place=place)
    return 0


def values_of(mode: str, variable: str, *sources: Tensor | None, place: str) -> list[int]:
    """The elements of the first present source, which lies on the host; none if all are absent.

    BatchError: U714 for a source that is no tensor of whole numbers, U715 for one without data.
    """
    for source in sources:
        if source is not None:
            _require_numbers(mode, variable, source, place)
            return [int(value) for value in source.flatten().tolist()]
    return []


def single_value(mode: str, variable: str, source: Tensor | None, *, place: str) -> int:
    """The only element of a source of a live variable, for debug mode: reads the device.

    BatchError: U713 without a source, U716 for one that has not exactly one element, U714 and
    U715 as `values_of`.
    """
    if source is None:
        raise BatchError("U713", mode, variable, "has no source in the batch", place=place)
    _require_numbers(mode, variable, source, place)
    if source.numel() != 1:
        problem = f"has a source of shape {tuple(source.shape)}, but is one number"
        raise BatchError("U716", mode, variable, problem, place=place)
    return int(source.item())


def _require_numbers(mode: str, variable: str, source: object, place: str) -> None:
    tensor = _require_tensor(mode, variable, source, place)
    if tensor.dtype not in _WHOLE:
        problem = f"has a source of {tensor.dtype}, but is made of whole numbers"
        raise BatchError("U714", mode, variable, problem, place=place)
    if tensor.is_meta:
        raise BatchError("U715", mode, variable, "has a source without data, on meta", place=place)


def _require_tensor(mode: str, subject: str, source: object, place: str) -> Tensor:
    if not isinstance(source, Tensor):
        raise BatchError("U714", mode, subject, _no_tensor(source), place=place)
    if source.layout is not torch.strided or source.is_nested:
        raise BatchError("U714", mode, subject, _not_dense(source), place=place)
    return source


def _not_dense(source: Tensor) -> str:
    kind = "nested" if source.is_nested else str(source.layout)
    return f"has a source that is {kind}, but accepts dense tensors only"


def _no_tensor(source: object) -> str:
    kind = type(source)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"has a source of type {name}, but accepts a torch.Tensor"


_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_extent(
    mode: str, axis: str, live: int, extent: int, capacity: int, *, place: str, binding: str
) -> None:
    """An extent (elements, after padding) holds the live rows, and fits the buffers.

    `axis`: the axis or slot; `binding`: the parameter or formula that sets the capacity.
    CapacityError (U711) if it is too large, BatchError (U712) if it is too small, which is so
    only where ranks agreed on less than one of them has.
    """
    if live <= extent <= capacity:
        return
    if extent > capacity:
        raise CapacityError(mode, axis, extent, capacity, place=place, binding=binding)
    problem = f"after padding is {extent}, but {live} are live"
    raise BatchError("U712", mode, axis, problem, place=place)


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


def unknown_mode(mode: object, runner: str, served: Iterable[Enum], *, place: str) -> BatchError:
    """The error (U717) to raise for a mode that `runner` does not serve, or for what is no mode."""
    names = [str(each.value) for each in served]
    if isinstance(mode, Enum):
        problem = f"serves only {', '.join(names)}"
        return BatchError("U717", str(mode.value), runner, problem, place=place)
    meant = f", such as Mode.{mode.upper()}" if isinstance(mode, str) and mode in names else ""
    problem = f"takes a member of Mode{meant}, and this is of type {type(mode).__name__}"
    return BatchError("U717", str(mode), runner, problem, place=place)


def another_offer(mode: str, *, place: str) -> BatchError:
    """The error (U712) to raise for an offer of rows that was made for another batch."""
    problem = "holds rows that were offered for another batch; select this one"
    return BatchError("U712", mode, "pad", problem, place=place)


def check_source(
    mode: str,
    slot: str,
    source: Tensor | None,
    *,
    shape: tuple[int, ...],
    into: Tensor,
    regions: Regions,
    place: str,
    accepts: tuple[torch.dtype, ...] = (),
    settled: bool = True,
    known: bool = False,
) -> None:
    """A source can be copied into its slot.

    `shape`: the exact live shape; `into`: the slot at its capacity (its dtype, or one in
    `accepts`, and its device are demanded, where a slot on an accelerator may have its source on
    the host). A source inside the runner's arenas must be the head
    of this very slot, or lie in what another runner keeps: anything else there would be
    overwritten before it is read. Where it is not
    `settled` which runner's slot this will be, that is left out; where all the rest is `known`
    already, only that is looked at.
    Raises BatchError: U713 missing, U714 dtype, U715 device, U716 shape, U718 overlap,
    U719 gradients.
    """
    try:
        if (
            isinstance(source, Tensor)
            and (
                known
                or (
                    source.shape == shape
                    and ((dtype := source.dtype) is into.dtype or dtype in accepts)
                    and (source.device == into.device or (source.is_cpu and into.is_cuda))
                    and source.layout is torch.strided
                    and not (source.requires_grad and torch.is_grad_enabled())
                )
            )
            and (not settled or not regions.hold(source) or is_in_place(source, into))
        ):
            return
    except RuntimeError:  # of tensors without a shape or an address, such as nested and fake ones
        pass
    found = _source_problem(source, shape, into, regions, accepts)
    if found is not None:
        code, problem = found
        raise BatchError(code, mode, slot, problem, place=place)


def _source_problem(
    source: object,
    shape: tuple[int, ...],
    into: Tensor,
    regions: Regions,
    accepts: tuple[torch.dtype, ...],
) -> tuple[str, str] | None:
    if source is None:
        return "U713", "has no source in the batch"
    if not isinstance(source, Tensor):
        return "U714", _no_tensor(source)
    if source.dtype is not into.dtype and source.dtype not in accepts:
        accepted = " or ".join(str(dtype) for dtype in dict.fromkeys((into.dtype, *accepts)))
        return "U714", f"has a source of {source.dtype}, but accepts {accepted}"
    if source.layout is not torch.strided or source.is_nested:
        return "U714", _not_dense(source)
    if source.device != into.device and not (source.is_cpu and into.is_cuda):
        return "U715", f"has a source on {source.device}, but lies on {into.device}"
    if source.shape != shape:
        found = tuple(source.shape)
        return "U716", f"has a source of shape {found}, but the batch implies {shape}"
    return _problem_of_memory(source, into, regions)


def _problem_of_memory(source: Tensor, into: Tensor, regions: Regions) -> tuple[str, str] | None:
    try:
        is_lost = regions.lose(source) and not is_in_place(source, into)
    except RuntimeError:
        return "U714", f"has a source of type {type(source).__name__}, which holds no data"
    if is_lost:
        offset = regions.offset_of(source)
        return "U718", (
            f"has a source at byte {offset} of the static storage, which this load overwrites; "
            "pass a copy"
        )
    if not (source.requires_grad and torch.is_grad_enabled()):
        return None  # it lies in what another runner keeps
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
