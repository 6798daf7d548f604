"""Items are shared out to processes, and it shows in nothing but the time."""

from __future__ import annotations

import _thread
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import processes
from ullage.processes import LostProcessError, Mapper, at_once, in_turn, with_one_more


@contextmanager
def two_processes() -> Iterator[None]:
    """Two processes, on a machine with one processor and beside a test runner's threads too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "_processors", lambda: 2)
        patch.setattr(processes, "_can_fork", lambda: True)
        yield


@pytest.fixture
def two() -> Iterator[None]:
    with two_processes():
        yield


def slowly(item: int) -> tuple[int, int]:
    """The item and who has done it; slow enough that the other process takes some as well."""
    time.sleep(0.02)
    return item, os.getpid()


@pytest.mark.usefixtures("two")
def test_results_come_in_the_order_of_the_items_whoever_has_done_them() -> None:
    done = at_once(slowly, range(12))
    assert [item for item, _ in done] == list(range(12))
    assert len({process for _, process in done}) == 2


@pytest.mark.usefixtures("two")
def test_more_items_than_a_pipe_holds_tickets_for_are_all_done() -> None:
    items = range(3 * processes._TICKETS + 5)
    assert at_once(lambda item: item + 1, items) == [item + 1 for item in items]


@given(st.lists(st.integers(), max_size=5))
@pytest.mark.slow
def test_in_turn_and_at_once_give_the_same(items: list[int]) -> None:
    def function(item: int) -> int:
        return item * item + 1

    with two_processes():
        assert at_once(function, items) == in_turn(function, items)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("fatal", [0, 11])
def test_what_a_function_raises_is_raised_whichever_process_met_it(fatal: int) -> None:
    def function(item: int) -> int:
        slowly(item)
        if item == fatal:
            raise LookupError(f"item {item}")
        return item

    with pytest.raises(LookupError, match=f"item {fatal}"):
        at_once(function, range(12))
    assert not multiprocessing.active_children()


@pytest.mark.usefixtures("two")
def test_a_process_that_is_killed_is_said_to_be_lost() -> None:
    first = os.getpid()

    def function(item: int) -> int:
        if os.getpid() != first:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
        return item

    with pytest.raises(LostProcessError, match="ended early"):
        at_once(function, range(4))
    assert not multiprocessing.active_children()


@pytest.mark.usefixtures("two")
def test_an_interrupt_leaves_no_process_behind() -> None:
    first = os.getpid()

    def function(item: int) -> int:
        if os.getpid() == first:
            raise KeyboardInterrupt
        time.sleep(60)
        return item

    with pytest.raises(KeyboardInterrupt):
        at_once(function, range(4))
    assert not multiprocessing.active_children()


SLEEPING = """
import time
from ullage import processes

def sleep(item):
    print(item, flush=True)
    time.sleep(60)

processes._processors = lambda: 2
processes.at_once(sleep, range(2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is one process")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_first(sent: signal.Signals) -> None:
    """The output ends when nobody is left who could write there."""
    with subprocess.Popen([sys.executable, "-c", SLEEPING], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert sorted((first.stdout.readline(), first.stdout.readline())) == [b"0\n", b"1\n"]
        first.send_signal(sent)
        assert first.communicate(timeout=20) == (b"", None)
        assert first.returncode == -sent


@pytest.mark.usefixtures("two")
def test_what_is_first_is_done_here_while_another_process_begins() -> None:
    begun, beginning = multiprocessing.Pipe(duplex=False)

    def function(item: int) -> tuple[int, int]:
        beginning.send(item)
        return slowly(item)

    def first() -> None:
        assert begun.recv() == 0  # nobody else could have sent it

    done = at_once(function, range(12), first)
    assert [item for item, _ in done] == list(range(12))
    assert done[0][1] != os.getpid()


@pytest.mark.parametrize("mapper", [at_once, in_turn])
@pytest.mark.usefixtures("two")
def test_what_the_first_raises_is_raised_whatever_becomes_of_the_items(mapper: Mapper) -> None:
    def function(item: int) -> int:
        raise LookupError(f"item {item}")

    def first() -> None:
        raise ValueError("ill-formed")

    with pytest.raises(ValueError, match="ill-formed"):
        mapper(function, range(4), first)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("mapper", [at_once, in_turn])
@pytest.mark.parametrize("count", [0, 1, 12])
@pytest.mark.usefixtures("two")
def test_one_more_job_is_done_whatever_the_items_are(mapper: Mapper, count: int) -> None:
    taken: list[str] = []
    both = with_one_more(mapper, lambda: "swept", taken.append)
    assert both(lambda item: item * item, range(count)) == [item * item for item in range(count)]
    assert taken == ["swept"]


@pytest.mark.parametrize("mapper", [at_once, in_turn])
@pytest.mark.usefixtures("two")
def test_of_one_more_job_nothing_is_taken_where_something_is_raised(mapper: Mapper) -> None:
    taken: list[str] = []
    both = with_one_more(mapper, lambda: "swept", taken.append)

    def first() -> None:
        raise ValueError("ill-formed")

    with pytest.raises(ValueError, match="ill-formed"):
        both(lambda item: item, range(4), first)
    assert taken == []


def test_beside_other_threads_this_process_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside a thread that `threading` does not know of."""
    monkeypatch.setattr(processes, "_processors", lambda: 4)
    begun, ending = _thread.allocate_lock(), _thread.allocate_lock()
    begun.acquire()
    ending.acquire()

    def other() -> None:
        begun.release()
        ending.acquire()

    _thread.start_new_thread(other, ())
    begun.acquire()
    try:
        assert {process for _, process in at_once(slowly, range(4))} == {os.getpid()}
    finally:
        ending.release()
