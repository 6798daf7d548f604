"""Walking the tensors of a model's output, and cutting them back to live rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TypeVar, cast

from torch import Tensor

from ullage_runtime.errors import OutputError

T = TypeVar("T")


def live_rows(output: T, rows: int, padded: int) -> T:
    """The output without its padded rows.

    Every tensor whose first dimension is `padded` becomes a view of its first `rows` rows, also
    inside tuples, lists, dicts and dataclasses; everything else is kept as it is. An output that
    mixes axes (logits by request, hidden states by token) is cut field by field.
    """
    if rows == padded:
        return output
    return map_tensors(output, lambda tensor: _cut(tensor, rows, padded))


def cut_to_live(output: T, *axes: tuple[int, int], mode: str, place: str) -> T:
    """The output without its padded rows along any axis; `axes`: live and padded rows of each.

    A tensor belongs to the axis whose padded rows are its first dimension. Where that is true of
    several, it keeps the live rows of the longest, so that none is lost. OutputError (U736) for
    an output of tensors none of which has the rows of an axis, padded or live.
    """
    _require_rows(output, axes, mode, place)
    if all(rows == padded for rows, padded in axes):
        return output
    kept: dict[int, int] = {}
    for rows, padded in axes:
        kept[padded] = max(rows, kept.get(padded, 0))
    return map_tensors(output, lambda tensor: _cut_to(tensor, kept))


def _require_rows(output: object, axes: tuple[tuple[int, int], ...], mode: str, place: str) -> None:
    known = {count for axis in axes for count in axis}
    found = [tuple(each.shape) for _, each in named_tensors(output) if each.dim() > 0]
    if found and not any(shape[0] in known for shape in found):
        raise OutputError(mode, found, sorted(known), place=place)


def _cut_to(tensor: Tensor, kept: dict[int, int]) -> Tensor:
    return tensor[: kept.get(tensor.shape[0], tensor.shape[0])] if tensor.dim() > 0 else tensor


def _cut(tensor: Tensor, rows: int, padded: int) -> Tensor:
    return tensor[:rows] if tensor.dim() > 0 and tensor.shape[0] == padded else tensor


def map_tensors(output: T, change: Callable[[Tensor], Tensor]) -> T:
    """The same structure with each tensor replaced. The originals are not modified."""
    return cast(T, _map(output, change))


def _map(output: object, change: Callable[[Tensor], Tensor]) -> object:
    if isinstance(output, Tensor):
        return change(output)
    if isinstance(output, tuple):
        members = tuple(_map(member, change) for member in output)
        # A named tuple takes its members one by one, unlike a tuple.
        make = getattr(type(output), "_make", tuple)
        return make(members)
    if isinstance(output, list):
        return [_map(member, change) for member in output]
    if isinstance(output, dict):
        return {key: _map(member, change) for key, member in output.items()}
    if is_dataclass(output) and not isinstance(output, type):
        changed = copy.copy(output)
        for field in fields(output):
            # Frozen classes refuse plain assignment, and this copy is not shared yet.
            object.__setattr__(changed, field.name, _map(getattr(output, field.name), change))
        return changed
    return output


def named_tensors(output: object, path: str = "output") -> Iterator[tuple[str, Tensor]]:
    """Every tensor of an output with its path, such as `output.logits` or `output[1]`."""
    if isinstance(output, Tensor):
        yield path, output
    elif isinstance(output, tuple | list):
        for index, member in enumerate(output):
            yield from named_tensors(member, f"{path}[{index}]")
    elif isinstance(output, Mapping):
        for key, member in output.items():
            yield from named_tensors(member, f"{path}[{key!r}]")
    elif is_dataclass(output) and not isinstance(output, type):
        for field in fields(output):
            yield from named_tensors(getattr(output, field.name), f"{path}.{field.name}")
