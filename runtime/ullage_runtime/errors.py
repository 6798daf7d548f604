"""Every error that generated code and this runtime raise, each with a stable code.

=====  ==========================================================================
U701   a parameter has a value outside its range, or of the wrong type
U702   parameters together break a constraint
U703   there is no parameter, or no worker, of this name
U704   a parameter without a default is not given
U711   an extent exceeds the capacity of the static buffers
U712   a live value is outside the range that the capacities were derived from
U713   a source that the mode needs is missing
U714   a source is no dense tensor, or has a dtype that its slot does not accept
U715   a source is on another device than its slot
U716   a source has another shape than the batch implies
U717   the runner does not serve the mode
U718   a source overlaps static storage that this load overwrites
U719   a source would record gradients into a static buffer
U720   another rank refused its batch, so that this one does not load either
U721   the generated code was made for another runtime
U731   an output of a padded step differs from the unpadded one
U732   poison was left where a reader looks
U733   a guard band between slots was overwritten
U734   ranks entered different collectives
U735   another runner overwrote a loaded batch that was still read
U736   an output has the rows of no axis of its batch
U737   no graph was captured for the rows of a batch
U738   a batch lies elsewhere than its graph reads
U739   a slot that is written once was overwritten
U741   a wrapper does not exist in this configuration
U742   a wrapper has no object of this index
U743   a batch lacks a slot that a wrapper needs
U744   a slot cannot be seen in one axis without a copy
U745   the library of a wrapper, or its class, is missing
=====  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self


class UllageRuntimeError(Exception):
    """Base of all runtime errors. `code` is stable across releases; the message may change."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code

    # Any: pickle's protocol has no narrower type. Engines send errors between processes, and the
    # default would call subclasses with the message instead of their own arguments.
    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), str(self), dict(self.__dict__))

    @classmethod
    def _restored(cls, message: str, state: dict[str, object]) -> Self:
        error = cls.__new__(cls)
        error.args = (message,)
        error.__dict__.update(state)
        return error


def _restore(
    kind: type[UllageRuntimeError], message: str, state: dict[str, object]
) -> UllageRuntimeError:
    return kind._restored(message, state)


@dataclass(frozen=True, slots=True)
class ConfigurationProblem:
    """One reason why a configuration is refused. `place` is the spec line that demands it.

    For a broken constraint (U702), `parameter` is its statement and `value` lists what it relates.
    `absent`: the parameter is given although it has no meaning in this configuration.
    """

    code: str
    parameter: str
    value: object
    expected: str
    place: str
    absent: bool = False

    def __str__(self) -> str:
        if self.code == "U702":
            given = f" with {self.value}" if self.value else ""
            return (
                f"{self.code}: {self.parameter} is broken{given}: {self.expected} ({self.place})."
            )
        return (
            f"{self.code}: {self.parameter} is {self.value!r}, but {self.expected} ({self.place})."
        )


class ConfigurationError(UllageRuntimeError):
    """A configuration is outside the legal domain. Carries all problems, not only the first."""

    def __init__(self, problems: Iterable[ConfigurationProblem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        noun = "problem" if count == 1 else "problems"
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        code = self.problems[0].code if self.problems else "U701"
        super().__init__(code, f"The configuration has {count} {noun}.{lines}")


class CapacityError(UllageRuntimeError):
    """A batch does not fit the static buffers. Raised before anything is written.

    `axis`: the axis or slot; `extent`, `capacity`: elements along it; `binding`: the parameter
    or formula that sets the capacity; `place`: the spec line of the axis or slot.
    """

    def __init__(
        self, mode: str, axis: str, extent: int, capacity: int, *, place: str, binding: str
    ) -> None:
        self.mode, self.axis, self.extent, self.capacity = mode, axis, extent, capacity
        self.place, self.binding = place, binding
        super().__init__(
            "U711",
            f"Mode {mode!r} needs {extent} {axis}, but the static buffers hold {capacity}, "
            f"a capacity set by {binding} ({place}). Nothing was written.",
        )


class BatchError(UllageRuntimeError):
    """A live batch is not what the spec says. Raised before anything is written.

    `subject`: the slot, live variable or mode at fault; `place`: the spec line that it breaks.
    """

    def __init__(self, code: str, mode: str, subject: str, problem: str, *, place: str) -> None:
        self.mode, self.subject, self.place = mode, subject, place
        super().__init__(
            code, f"Mode {mode!r}: {subject} {problem} ({place}). Nothing was written."
        )


class PeerError(UllageRuntimeError):
    """Other ranks refused their batches in an exchange. Raised before anything is written.

    `refused`: the code of each such rank's own error, by rank; `collective`: the exchange.
    """

    def __init__(self, refused: Mapping[int, str], collective: str) -> None:
        self.refused, self.collective = dict(refused), collective
        listed = " and ".join(f"rank {rank} ({code})" for rank, code in refused.items())
        exchange = f" in {collective}" if collective else ""
        super().__init__(
            "U720",
            f"The batch of {listed} was refused{exchange}, so that no rank of the group loads. "
            "Nothing was written.",
        )


class OutputError(UllageRuntimeError):
    """What an engine's step gave cannot be that of its batch.

    `shapes`: of the tensors given; `rows`: the counts of which one should be a first dimension.
    """

    def __init__(
        self, mode: str, shapes: Sequence[tuple[int, ...]], rows: Sequence[int], *, place: str
    ) -> None:
        self.mode, self.shapes, self.rows, self.place = mode, tuple(shapes), tuple(rows), place
        given = ", ".join(map(str, shapes))
        expected = " or ".join(map(str, rows))
        super().__init__(
            "U736",
            f"Mode {mode!r}: the output has the shape {given}, but a tensor of the batch has "
            f"{expected} rows ({place}).",
        )


class GraphError(UllageRuntimeError):
    """A batch that no graph can be replayed for. Raised before anything is launched."""

    def __init__(self, code: str, mode: str, problem: str) -> None:
        self.mode, self.problem = mode, problem
        super().__init__(code, f"Mode {mode!r}: {problem}. Nothing was launched.")


class WrapperError(UllageRuntimeError):
    """An object of a library cannot be made or planned. Raised before the library is called.

    `place`: the spec line of the wrapper.
    """

    def __init__(self, code: str, wrapper: str, problem: str, *, place: str) -> None:
        self.wrapper, self.problem, self.place = wrapper, problem, place
        super().__init__(code, f"Wrapper {wrapper} {problem} ({place}).")


class StaleCodeError(UllageRuntimeError):
    """Generated code and runtime do not belong together."""

    def __init__(self, module: str, found: int, supported: int) -> None:
        self.module, self.found, self.supported = module, found, supported
        remedy = (
            "Run `ullage compile` again"
            if found < supported
            else "Upgrade the ullage runtime, or run `ullage compile` with the installed version"
        )
        super().__init__(
            "U721",
            f"{module} was generated for code version {found}, but this runtime serves "
            f"version {supported}. {remedy}.",
        )


class DebugError(UllageRuntimeError):
    """A check of debug mode failed: the step ran, and its results cannot be trusted."""
