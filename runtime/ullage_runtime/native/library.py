"""A built library in this process: what Python calls of it."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import torch

from ullage_runtime.native.toolchain import BuildError


class LaunchError(Exception):
    """The device refused a launch. What is wrong lies outside of the load that says so."""


class Load(Protocol):
    """Writes the slots of one prepared load."""

    release_gil: bool

    def __call__(self, sources: int) -> bool:
        """Write from a sequence of tensors, given by its `id`.

        False, with nothing written, if one differs from the first batch's. LaunchError if the
        device refuses.
        """
        ...


class Prepare(Protocol):
    """Prepares the loads of one padded shape after another."""

    release_gil: bool

    def __call__(self, sources: int, writes: bool, *numbers: int) -> Load | None:
        """`sources`: a sequence of tensors, given by its `id`, which are written from at once if
        it `writes`; `numbers`: see `TakeRecipe`.

        None if a source has not the dtype, device and shape that it should have. ValueError for
        extents that do not fit a slot, or a source that no slot of the runner is copied from.
        """
        ...


class TakeRecipe(Protocol):
    """Takes down how slots are loaded, whatever the shape of a batch."""

    release_gil: bool

    def __call__(self, slots: int, sources: int, *numbers: int) -> Prepare:
        """`slots`, `sources`: sequences of tensors, given by their `id`: capacities and samples.

        `numbers`: for each slot where its live extents stand among the numbers of a shape, which
        the padded ones follow; its treatment; and the bits of its fill, or where they stand.
        ValueError for something without memory.
        """
        ...


class Library(Protocol):
    """What a library exports."""

    def __call__(
        self, interface: int, tensor_class: int, device: int, *addresses: int
    ) -> TakeRecipe:
        """Make the kernel ready; torch's exchange interface and class are given by addresses."""
        ...


class Open:
    """Makes a kernel ready on one device."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def __call__(self, device: int, *addresses: int) -> TakeRecipe:
        """`addresses`: of each arena the first one, and the first behind it.

        LaunchError if the device refuses the kernel.
        """
        take = self._library(_exchange_interface(), id(torch.Tensor), device, *addresses)
        take.release_gil = False  # it looks at Python objects
        return take


@cache
def opened(library: Path) -> Open:
    """A library, loaded. RuntimeError if it cannot be, BuildError if torch is too old for it."""
    tvm_ffi = import_module("tvm_ffi")  # which type checkers of generated code need not find
    tvm_ffi.register_error("LaunchError", LaunchError)
    _exchange_interface()
    return Open(cast(Library, tvm_ffi.load_module(str(library))["open"]))


@cache
def _exchange_interface() -> int:
    """The address of what torch describes tensors with, without a copy of anything."""
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        raise BuildError(f"torch {torch.__version__} has no exchange interface for tensors")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, b"dlpack_exchange_api"))
