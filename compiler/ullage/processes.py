"""One function over many items, on all processors that this process may use.

The items' processes are copies of this one, so nothing but results is passed between them; where a
copy is not safe (other threads, other systems than Linux) the items are done here, one by one.
Results come in the order of the items, and whatever a function raises is raised here. No copy
outlives this process, however it ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

Item = TypeVar("Item")
Result = TypeVar("Result")
Extra = TypeVar("Extra")

_TICKET = struct.Struct("<I")
_TICKETS = 4096
"""Tickets at a time, which a pipe holds on every system."""

_PR_SET_PDEATHSIG: Final = 1
"""As Linux's <sys/prctl.h> has it: which signal a process gets when its parent ends."""


class LostProcessError(OSError):
    """A process ended without its results, for want of memory as a rule."""


class Mapper(Protocol):
    """One function over many items, in any order or at once; results in the items' order.

    `first` is done by this process, and what it raises is raised whatever becomes of the items.
    """

    def __call__(
        self,
        function: Callable[[Item], Result],
        items: Sequence[Item],
        /,
        first: Callable[[], None] | None = None,
    ) -> list[Result]: ...


def in_turn(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    /,
    first: Callable[[], None] | None = None,
) -> list[Result]:
    """`[function(each) for each in items]`."""
    if first is not None:
        first()
    return [function(each) for each in items]


def at_once(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    /,
    first: Callable[[], None] | None = None,
) -> list[Result]:
    """The same on all processors, which begin while this one does what is `first`.

    Results must be picklable.
    """
    processes = min(_processors(), len(items) + (first is not None))
    if processes <= 1 or not _can_fork():
        return in_turn(function, items, first)
    results = _shared(function, items[:_TICKETS], processes, first)
    for start in range(_TICKETS, len(items), _TICKETS):
        results += _shared(function, items[start : start + _TICKETS], processes)
    return results


def with_one_more(
    mapped: Mapper, job: Callable[[], Extra], take: Callable[[Extra], None]
) -> Mapper:
    """The same, and whoever has nothing else to do does one more job, the result of which is taken.

    Nothing is taken where something is raised.
    """

    def both(
        function: Callable[[Item], Result],
        items: Sequence[Item],
        /,
        first: Callable[[], None] | None = None,
    ) -> list[Result]:
        jobs: list[Callable[[], Result | Extra]] = [partial(function, each) for each in items]
        *results, extra = mapped(_done, [*jobs, job], first)
        take(cast(Extra, extra))
        return cast(list[Result], results)

    return both


def _done(job: Callable[[], Result]) -> Result:
    return job()


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _can_fork() -> bool:
    """Whether a copy of this process would run: a lock that another thread holds stays locked.

    `threading` does not know of the threads that were started beneath it, as test runners do.
    """
    threads = len(sys._current_frames())
    return threads == 1 and not multiprocessing.current_process().daemon


@dataclass(frozen=True, slots=True)
class _Done(Generic[Result]):
    """The results of one process by position, and what ended it early."""

    results: dict[int, Result]
    error: Exception | None


def _shared(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    first: Callable[[], None] | None = None,
) -> list[Result]:
    """Every process, this one too, takes the next position as long as there is one."""
    tickets, source = os.pipe()
    os.write(source, b"".join(map(_TICKET.pack, range(len(items)))))
    os.close(source)
    others: list[_Other[Result]] = []
    try:
        for _ in range(processes - 1):
            others.append(_started(function, items, tickets))
        if first is not None:
            first()
        done = [_work(function, items, tickets), *(each.done() for each in others)]
    finally:
        os.close(tickets)
        for each in others:
            each.end()
    for part in done:
        if part.error is not None:
            raise part.error
    found = {position: result for part in done for position, result in part.results.items()}
    return [found[position] for position in range(len(items))]


def _work(function: Callable[[Item], Result], items: Sequence[Item], tickets: int) -> _Done[Result]:
    results: dict[int, Result] = {}
    for position in _taken(tickets):
        try:
            results[position] = function(items[position])
        except Exception as error:  # raised again by the process that asked
            return _Done(results, error)
    return _Done(results, None)


def _taken(tickets: int) -> Iterator[int]:
    while ticket := os.read(tickets, _TICKET.size):
        yield _TICKET.unpack(ticket)[0]


@dataclass(frozen=True, slots=True)
class _Other(Generic[Result]):
    """Another process, and where its results come from."""

    process: ForkProcess
    answers: Connection

    def done(self) -> _Done[Result]:
        try:
            done: _Done[Result] = self.answers.recv()
        except EOFError:
            raise LostProcessError(
                "a process of the compiler ended early; is there enough memory?"
            ) from None
        return done

    def end(self) -> None:
        self.answers.close()
        self.process.terminate()
        self.process.join()


def _started(
    function: Callable[[Item], Result], items: Sequence[Item], tickets: int
) -> _Other[Result]:
    answers, results = multiprocessing.Pipe(duplex=False)
    parent = os.getpid()

    def run() -> None:
        _end_with(parent)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process tells the user
        answers.close()
        done = _work(function, items, tickets)
        try:
            results.send(done)
        except BrokenPipeError:
            return  # nobody waits any more

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    results.close()
    return _Other(process, answers)


def _end_with(parent: int) -> None:
    """Have this process killed when its parent ends: no signal that ends that one is passed on."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os.kill(os.getpid(), signal.SIGKILL)
