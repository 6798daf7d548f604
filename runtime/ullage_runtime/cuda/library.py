"""A built kernel in this process: what Python calls of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Protocol, cast


class LaunchError(Exception):
    """The device refused a launch. What is wrong lies outside of the load that says so."""


class Load(Protocol):
    """Writes the slots of one prepared load."""

    release_gil: bool

    def __call__(self, *tensors: object) -> bool:
        """Write from the sources, in their order; False, with nothing written, if one differs.

        A load without sources on the device takes one more tensor there, which tells the stream.
        RuntimeError for a tensor without an address, LaunchError if the device refuses.
        """
        ...


class Prepare(Protocol):
    """Prepares the load of one padded shape."""

    def __call__(self, *arguments: object) -> Load:
        """For each slot its view, live extents, whether it is filled, the bits of the fill,
        whether there is a source, and the source. ValueError for what is no slot of the runner.
        """
        ...


class Open(Protocol):
    """Makes the kernel ready on one device."""

    def __call__(self, device: int, *addresses: int) -> Prepare:
        """`addresses`: of each arena the first one, and the first behind it."""
        ...


@cache
def opened(library: Path) -> Open:
    """The function `open` of a library. RuntimeError if it cannot be loaded."""
    import tvm_ffi

    tvm_ffi.register_error("LaunchError", LaunchError)
    return cast(Open, tvm_ffi.load_module(str(library))["open"])
