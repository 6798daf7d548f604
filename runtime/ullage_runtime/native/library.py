"""A built library in this process: what Python calls of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol, cast, overload

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


class TakeShape(Protocol):
    """Takes one padded shape after another."""

    release_gil: bool

    @overload
    def __call__(self, sources: int, keeps: Literal[True], *numbers: int) -> Load | None: ...
    @overload
    def __call__(
        self, sources: int, keeps: Literal[False], *numbers: int
    ) -> Literal[True] | None: ...
    def __call__(self, sources: int, keeps: bool, *numbers: int) -> Load | bool | None:
        """What loads batches of the shape where that is kept; else true, with the slots written.

        `sources`: a sequence of tensors, given by its `id`; `numbers`: see `TakeRecipe`.
        None, with nothing written, if a source has not the dtype, device and shape that it should
        have, or a load would answer False. ValueError for extents that do not fit a slot, or a
        source that no slot of the runner is copied from.
        """
        ...


class TakeRecipe(Protocol):
    """Takes down how slots are loaded, whatever the shape of a batch."""

    release_gil: bool

    def __call__(self, slots: int, sources: int, *numbers: int) -> TakeShape:
        """`slots`, `sources`: sequences of tensors, given by their `id`: capacities and samples.

        `numbers`: for each slot where its live extents stand among the numbers of a shape, which
        the padded ones follow; its treatment; and the bits of its fill, or where they stand.
        ValueError for something without memory.
        """
        ...


class Library(Protocol):
    """What a library exports."""

    def __call__(
        self,
        interface: int,
        tensor_class: int,
        device: int,
        is_lasting: Callable[[int], bool],
        *addresses: int,
    ) -> TakeRecipe:
        """Make the kernel ready; torch's exchange interface and class are given by addresses.

        `is_lasting`: whether a stream, by its handle, lives as long as the process; it is asked
        while that stream is torch's current one.
        """
        ...


class Open:
    """Makes a kernel ready on one device."""

    def __init__(self, library: Library, is_lasting: Callable[[int, int], bool]) -> None:
        """`is_lasting`: of a device and a stream, see `Library`."""
        self._library = library
        self._is_lasting = is_lasting

    def __call__(self, device: int, *addresses: int) -> TakeRecipe:
        """`addresses`: of each arena the first one, and the first behind it.

        LaunchError if the device refuses the kernel.
        """
        is_lasting = partial(self._is_lasting, device)
        interface = _exchange_interface()
        take = self._library(interface, id(torch.Tensor), device, is_lasting, *addresses)
        take.release_gil = False  # it looks at Python objects
        return take


def is_lasting_stream(device: int, stream: int) -> bool:
    """Whether torch's current stream of a device is torch's own, which is never destroyed.

    `stream`: its handle. Streams that others made may be destroyed at any time after a load.
    """
    if stream == 0:
        return True  # the default one
    number = torch.cuda.current_stream(device).stream_id
    return number % 2 == 1  # others' are numbered by their handles, which are even


@cache
def opened(library: Path, is_lasting: Callable[[int, int], bool] = is_lasting_stream) -> Open:
    """A library, loaded. RuntimeError if it cannot be, BuildError if torch is too old for it."""
    tvm_ffi = import_module("tvm_ffi")  # which type checkers of generated code need not find
    tvm_ffi.register_error("LaunchError", LaunchError)
    _exchange_interface()
    return Open(cast(Library, tvm_ffi.load_module(str(library))["open"]), is_lasting)


@cache
def _exchange_interface() -> int:
    """The address of what torch describes tensors with, without a copy of anything."""
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        raise BuildError(f"torch {torch.__version__} has no exchange interface for tensors")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, b"dlpack_exchange_api"))
