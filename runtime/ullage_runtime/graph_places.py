"""Where the tensors of a batch lie: what a graph was captured with, and each replay must find."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, cast

import torch
from torch import Tensor

from ullage_runtime.load_plan import values_of


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

    A batch is looked at field by field; views that a runner hands out again are known at once.
    """

    def __init__(self, batch: object, device: torch.device) -> None:
        """`batch`: a dataclass, whose fields are tensors or something else."""
        self._device = device.type
        self._names = tuple(field.name for field in fields(cast(Any, batch)))
        self._read = values_of(self._names)
        self._tensors = tuple(map(self._on_device, self._read(batch)))
        self.places = {
            name: Place.of(tensor)
            for name, tensor in zip(self._names, self._tensors, strict=True)
            if tensor is not None
        }

    def problem(self, batch: object) -> str | None:
        """Why what was captured at these places cannot be replayed for a batch of the same class.

        None if it can. A tensor that the batch has must have been captured, and lie where it did;
        one that it lacks is not looked at, being read as an earlier load has left it.
        """
        found = self._read(batch)
        for name, value, known in zip(self._names, found, self._tensors, strict=True):
            if value is known or value is None:
                continue
            tensor = self._on_device(value)
            if tensor is not None and (problem := self._problem_of(name, tensor)):
                return problem
        return None

    def _problem_of(self, name: str, tensor: Tensor) -> str | None:
        captured = self.places.get(name)
        if captured is None:
            return f"{name} is in the batch, but was not when its graph was captured"
        each = next(Place.of(tensor).differences(captured), None)
        if each is None:
            return None
        what, here, there = each
        return f"{name} has the {what} {here}, but its graph was captured with {there}"

    def _on_device(self, value: object) -> Tensor | None:
        """The value, if a graph can read it: what lies on the host it cannot."""
        is_read = isinstance(value, Tensor) and value.device.type == self._device
        return cast(Tensor, value) if is_read else None


def digest_of_storages(tensors: Iterable[Tensor]) -> str:
    """A text that is another one as soon as one of the tensors has other memory."""
    digest = hashlib.sha256()
    for tensor in tensors:
        storage = tensor.untyped_storage()
        digest.update(f"{tensor.device} {storage.data_ptr()} {storage.nbytes()}\n".encode())
    return digest.hexdigest()
