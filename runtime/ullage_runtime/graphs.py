"""The graphs of one runner: captured the largest first into one pool, checked at every replay.

An engine makes one set for each graph runner. The runner's `execute` loads a batch and calls the
engine's steps; its capturing step hands the batch to `GraphSet.capture`, its replaying step to
`GraphSet.replay`. On a device without graphs all is the same but for the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from ullage_runtime.arena import Arena
from ullage_runtime.debug import DebugOptions, require_same_outputs
from ullage_runtime.errors import GraphError
from ullage_runtime.graph_launch import GraphPool, Launch, record
from ullage_runtime.graph_places import Places, digest_of_storages
from ullage_runtime.load_plan import values_of
from ullage_runtime.outputs import cut_to_live, map_tensors

Shape = tuple[int, ...]
"""Padded rows along each axis that graphs are chosen by."""


class Batch(Protocol):
    """A loaded batch of generated code: a dataclass of views, with its rows along each axis."""

    @property
    def mode(self) -> Enum: ...
    @property
    def live(self) -> Sequence[int]: ...
    @property
    def padded(self) -> object: ...


class Registry(Protocol):
    """The static buffers of a runner."""

    @property
    def arenas(self) -> Sequence[Arena]: ...


class Extents(Protocol):
    """The rows of a batch before it is loaded."""

    @property
    def padded(self) -> object: ...


LiveT_contra = TypeVar("LiveT_contra", contravariant=True)
EngineT_contra = TypeVar("EngineT_contra", contravariant=True)


class CapturingRunner(Protocol[LiveT_contra, EngineT_contra]):
    """What a set asks of a generated graph runner."""

    @property
    def registry(self) -> Registry: ...
    def extents(self, live: LiveT_contra, /) -> Extents: ...
    def execute(self, live: LiveT_contra, engine: EngineT_contra, /) -> object: ...


LiveT = TypeVar("LiveT")
EngineT = TypeVar("EngineT")
BatchT = TypeVar("BatchT", bound=Batch)
OutputT = TypeVar("OutputT")


@dataclass(frozen=True, slots=True)
class Graph(Generic[BatchT, OutputT]):
    """What was captured with one batch, whose views it keeps alive."""

    batch: BatchT
    forward: Callable[[BatchT], OutputT]
    places: Places
    launch: Launch[OutputT]

    def run_eagerly(self) -> OutputT:
        """The forward itself, over the views of its capture."""
        return self.forward(self.batch)


class GraphSet(Generic[BatchT, OutputT]):
    """Graphs of one runner by their shape, in the order of their capture.

    `pool`: of the device of the compute slots, in common with sets that are never replayed at
    once; `axes`: those whose padded rows a graph is chosen by, and that outputs have rows of;
    `warm_ups`: runs of a forward before it is captured; `debug`: compare the live rows of every
    replay with those that the forward itself gives.
    """

    def __init__(
        self,
        pool: GraphPool,
        *,
        axes: tuple[str, ...] = ("requests", "tokens"),
        warm_ups: int = 2,
        debug: bool | DebugOptions = False,
    ) -> None:
        self.pool = pool
        self.axes = axes
        self._rows = values_of(axes)
        self._warm_ups = warm_ups
        self._debug = DebugOptions.of(debug)
        self._graphs: dict[Shape, Graph[BatchT, OutputT]] = {}
        self._digest: str | None = None

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of the graphs, in the order of their capture."""
        return tuple(self._graphs)

    def shape_of(self, batch: BatchT) -> Shape:
        """By which the graph of a loaded batch is chosen."""
        return self._rows(batch.padded)

    def capture_all(
        self,
        runner: CapturingRunner[LiveT, EngineT],
        lives: Iterable[LiveT],
        engine: EngineT,
        *,
        reads: Iterable[Tensor] = (),
    ) -> bool:
        """Have a graph for each of `lives`, the largest captured first; whether any was captured.

        None is while the same shapes are there and nothing has moved: neither the runner's arenas
        nor `reads`, whatever else the engine's forward reads or writes at fixed addresses, such as
        weights and the KV pool. `lives`: batches of a mode that the runner captures in, the same
        on all ranks that pad together; `engine`: its capturing step calls `capture`. GraphError
        (U737) if it does not.
        """
        by_shape = {self._rows(runner.extents(live).padded): live for live in lives}
        shapes = tuple(sorted(by_shape, key=_size, reverse=True))
        arenas = (arena.storage for arena in runner.registry.arenas)
        digest = digest_of_storages((*arenas, *reads))
        if (digest, shapes) == (self._digest, self.shapes):
            return False
        self.drop()
        for shape in shapes:
            runner.execute(by_shape[shape], engine)
            if shape not in self._graphs:
                raise self._no_graph("capture", shape)
        self._digest = digest
        return True

    def capture(self, batch: BatchT, forward: Callable[[BatchT], OutputT]) -> None:
        """Capture a graph of `forward` over a loaded batch, in place of an earlier one.

        `forward` runs for each warm-up and, recorded on a CUDA device, once more. It reads
        nothing but the batch and tensors that stay where they are, and gives one tensor or more
        with the padded rows of some axis; each graph keeps those that `forward` has allocated.
        """
        shape = self.shape_of(batch)
        self._digest = None  # until `capture_all` has seen to all of them
        self._forget(shape)
        places = Places(batch, self.pool.device)
        launch = record(lambda: forward(batch), self.pool, warm_ups=self._warm_ups)
        self._graphs[shape] = Graph(batch, forward, places, launch)

    def graph_of(self, batch: BatchT) -> Graph[BatchT, OutputT]:
        """The graph of a batch, which lies where it reads. GraphError as `replay`."""
        shape = self.shape_of(batch)
        graph = self._graphs.get(shape)
        if graph is None:
            raise self._no_graph(_name(batch), shape)
        problem = graph.places.problem(batch, has_rows=any(batch.live))
        if problem is not None:
            raise GraphError("U738", _name(batch), f"{problem}, of {self._described(shape)}")
        return graph

    def replay(self, batch: BatchT) -> OutputT:
        """The output with all padded rows, valid until the next replay or load.

        For a step of `execute`, which cuts the output to live rows. GraphError before anything is
        launched: U737 without a graph of the shape, U738 for a batch that lies elsewhere than its
        graph reads. DebugError (U731) if, in debug mode, the forward gives another output.
        """
        graph = self.graph_of(batch)
        if self._debug.compare:
            return self._replay_compared(graph, batch)
        return graph.launch.replay()

    def replay_live(self, batch: BatchT) -> OutputT:
        """`replay`, cut to live rows: for engines that do not go through `execute`."""
        return self._cut(self.replay(batch), batch)

    def drop(self) -> None:
        """Give up all graphs and what they took of the pool."""
        self._digest = None
        for shape in self.shapes:
            self._forget(shape)

    def _forget(self, shape: Shape) -> None:
        graph = self._graphs.pop(shape, None)
        if graph is not None:
            graph.launch.drop()

    def _replay_compared(self, graph: Graph[BatchT, OutputT], batch: BatchT) -> OutputT:
        """Both may write to the same buffer, so that the replay's output is kept apart.

        Of padded rows, several write to one place of the KV pool, in any order, and may read it.
        """
        output = map_tensors(graph.launch.replay(), torch.clone)
        found, expected = self._cut(output, batch), self._cut(graph.run_eagerly(), batch)
        place = self._place(batch)
        require_same_outputs(_name(batch), found, expected, self._debug, place=place)
        return output

    def _cut(self, output: OutputT, batch: BatchT) -> OutputT:
        rows = zip(self._rows(batch.live), self._rows(batch.padded), strict=True)
        return cut_to_live(output, *rows, mode=_name(batch), place=self._place(batch))

    def _place(self, batch: BatchT) -> str:
        return f"a graph of {self._described(self.shape_of(batch))}"

    def _no_graph(self, mode: str, shape: Shape) -> GraphError:
        others = "; ".join(map(self._described, self.shapes))
        captured = f"there are graphs of {others}" if others else "there are none"
        problem = f"no graph was captured of {self._described(shape)}; {captured}"
        return GraphError("U737", mode, problem)

    def _described(self, shape: Shape) -> str:
        return ", ".join(_counted(self.axes, shape))


def _counted(axes: Iterable[str], shape: Shape) -> Iterator[str]:
    for axis, rows in zip(axes, shape, strict=True):
        yield f"{rows} {axis}"


def _size(shape: Shape) -> tuple[int, Shape]:
    """By their longest axis: one that has no more rows anywhere comes later."""
    return max(shape), shape


def _name(batch: Batch) -> str:
    return str(batch.mode.value)
