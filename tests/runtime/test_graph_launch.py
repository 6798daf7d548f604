"""What goes on while a graph is recorded."""

from __future__ import annotations

import gc

import pytest

from ullage_runtime.graph_launch import uncollected


def test_no_garbage_is_collected_while_a_graph_is_recorded() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collecting_goes_on_after_a_forward_that_failed() -> None:
    with pytest.raises(ValueError, match="forward"), uncollected():
        raise ValueError("forward")
    assert gc.isenabled()


def test_an_engine_that_collects_by_itself_is_left_to_it() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
