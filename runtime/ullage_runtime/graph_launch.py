"""A forward that is recorded once and launched again: a CUDA graph, or on a CPU the forward itself.

Either way it reads and writes where it did when it was recorded, whatever it is handed later.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import torch

if TYPE_CHECKING:
    from torch.cuda import _POOL_HANDLE

OutputT = TypeVar("OutputT")
OutputT_co = TypeVar("OutputT_co", covariant=True)


class Launch(Protocol[OutputT_co]):
    """What was recorded."""

    def replay(self) -> OutputT_co:
        """Run it on the current stream; the output lies where that of the recording lay."""
        ...

    def drop(self) -> None:
        """Give its memory back. It cannot be replayed any more."""
        ...


class GraphPool:
    """Device memory that graphs compute in, in common to all that never run at once.

    Graphs that are recorded the largest first fit into what the first one took. Without CUDA
    nothing is recorded, and no memory taken.
    """

    def __init__(self, device: torch.device | str) -> None:
        self.device = torch.device(device)
        self._stream = _stream_of(self.device)
        self._handle: _POOL_HANDLE | None = None
        self._graphs = 0

    @property
    def stream(self) -> torch.cuda.Stream | None:
        """Where all graphs are recorded: what one stream has freed, another does not get."""
        return self._stream

    def handle(self) -> _POOL_HANDLE:
        """Where to record the next graph. The allocator ends a pool with the last of its graphs."""
        if self._handle is None or not self._graphs:
            self._handle = torch.cuda.graph_pool_handle()
        return self._handle

    def hold(self) -> None:
        """One graph more lies in the pool."""
        self._graphs += 1

    def leave(self) -> None:
        """One graph less."""
        self._graphs -= 1

    @property
    def bytes(self) -> int:
        """Bytes of the device that the allocator keeps for the graphs; 0 while there is none."""
        if not self._graphs:
            return 0
        segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]  # torch's
        return sum(
            int(segment["total_size"])
            for segment in segments
            if tuple(segment["segment_pool_id"]) == self._handle
        )


def _stream_of(device: torch.device) -> torch.cuda.Stream | None:
    if device.type != "cuda":
        return None
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch's


class DeviceLaunch(Generic[OutputT]):
    """A CUDA graph, whose output stays where it is until the graph is dropped."""

    def __init__(
        self, forward: Callable[[], OutputT], pool: GraphPool, stream: torch.cuda.Stream
    ) -> None:
        """Record `forward`, which is not run by that, and must not wait for the device.

        RuntimeError if it does: torch's allocator frees nothing that it caches any more then.
        """
        self._pool = pool
        self._graph = torch.cuda.CUDAGraph()
        with uncollected(), torch.cuda.graph(self._graph, pool=pool.handle(), stream=stream):
            self._output = forward()
        pool.hold()

    def replay(self) -> OutputT:
        self._graph.replay()
        return self._output

    def drop(self) -> None:
        del self._output
        self._graph.reset()
        self._pool.leave()


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile: to free what other graphs or pinned memory have left would
    be an operation that invalidates a capture."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class HostLaunch(Generic[OutputT]):
    """The forward itself, on a device that has no graphs."""

    def __init__(self, forward: Callable[[], OutputT]) -> None:
        self._forward = forward

    def replay(self) -> OutputT:
        return self._forward()

    def drop(self) -> None:
        """It has no memory of its own."""


def record(forward: Callable[[], OutputT], pool: GraphPool, *, warm_ups: int) -> Launch[OutputT]:
    """A forward, recorded after `warm_ups` runs of it.

    They come first because kernels are compiled, tuned and given workspaces when they first run,
    none of which a graph can hold, and they run where it is recorded. Raises what the forward does.
    """
    if pool.stream is None:
        _repeat(forward, warm_ups)
        return HostLaunch(forward)
    with torch.cuda.device(pool.device):
        current = torch.cuda.current_stream()
        pool.stream.wait_stream(current)
        with torch.cuda.stream(pool.stream):
            _repeat(forward, warm_ups)
        current.wait_stream(pool.stream)
        return DeviceLaunch(forward, pool, pool.stream)


def _repeat(forward: Callable[[], object], times: int) -> None:
    for _ in range(times):
        forward()
