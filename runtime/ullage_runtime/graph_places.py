"""Where the tensors of a batch lie: what a graph was captured with, and each replay must find."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import is_
from typing import Any, Final, TypeGuard, cast

import torch
from torch import Tensor

from ullage_runtime.load_plan import values_of

KNOWN: Final = 4
"""Sets of views that are remembered: as many as modes that commonly share a graph."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies and how it is read. `strides`: in elements."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, tensor: Tensor) -> Place:
        return cls(tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)

    def differences(self, other: Place) -> Iterator[tuple[str, str, str]]:
        """What differs in `other`: its name, how it is here, and how it is there."""
        if self.dtype is not other.dtype:
            yield "dtype", str(self.dtype), str(other.dtype)
        if self.shape != other.shape:
            yield "shape", str(self.shape), str(other.shape)
        elif self.strides != other.strides:
            yield "strides", str(self.strides), str(other.strides)
        if self.address != other.address:
            yield "address", hex(self.address), hex(other.address)


class Places:
    """The places of a batch's tensors on one device.

    Runners hand out the same batch, or at least the same views of each of their modes, again and
    again, and neither of them moves: what was looked at once is known.
    """

    def __init__(self, batch: object, device: torch.device) -> None:
        """`batch`: a dataclass, whose fields are tensors or something else."""
        self._device = device.type
        values = {each.name: getattr(batch, each.name) for each in fields(cast(Any, batch))}
        # A graph reads neither numbers nor the host; what is absent here has to be absent later.
        kept = {name: each for name, each in values.items() if each is None or self._reads(each)}
        self._read = values_of(tuple(kept))
        self._known = batch
        self._known_views: tuple[tuple[object, ...], ...] = ((True, *kept.values()),)
        self.places = {
            name: None if each is None else Place.of(each) for name, each in kept.items()
        }

    def problem(self, batch: object, *, has_rows: bool) -> str | None:
        """Why what was captured at these places cannot be replayed for a batch of the same class.

        None if it can. What was captured must be in the batch, or an earlier load's rows would be
        read, and lie where it did. What was not is not read: a batch that `has_rows` must lack it.
        """
        if batch is self._known:
            return None
        found = (has_rows, *self._read(batch))
        if not any(all(map(is_, found, views)) for views in self._known_views):
            problem = self._problem(found[1:], has_rows)
            if problem is not None:
                return problem
            self._known_views = (found, *self._known_views[: KNOWN - 1])
        self._known = batch
        return None

    def _problem(self, found: Sequence[object], has_rows: bool) -> str | None:
        others = zip(self.places.items(), found, strict=True)
        problems = (
            _problem(name, each if self._reads(each) else None, place, has_rows)
            for (name, place), each in others
        )
        return next(filter(None, problems), None)

    def _reads(self, value: object) -> TypeGuard[Tensor]:
        return isinstance(value, Tensor) and value.device.type == self._device


def _problem(
    name: str, tensor: Tensor | None, captured: Place | None, has_rows: bool
) -> str | None:
    if captured is None:
        if tensor is None or not has_rows:
            return None
        return f"{name} is in the batch, but was not when its graph was captured"
    if tensor is None:
        return f"{name} is not in the batch, but was when its graph was captured"
    for what, here, there in Place.of(tensor).differences(captured):
        return f"{name} has the {what} {here}, but its graph was captured with {there}"
    return None


def digest_of_storages(tensors: Iterable[Tensor]) -> str:
    """A text that is another one as soon as one of the tensors has other memory."""
    digest = hashlib.sha256()
    for tensor in tensors:
        storage = tensor.untyped_storage()
        digest.update(f"{tensor.device} {storage.data_ptr()} {storage.nbytes()}\n".encode())
    return digest.hexdigest()
