"""Where a configuration has no slot for a source, the loaded batch has the source itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.generated import generated, package
from ullage_runtime.errors import BatchError

flume: Any = package("flume")
strategies: Any = package("flume", "strategies")


def runner_of(*, together: bool) -> Any:
    return flume.PlainMainRunner(flume.Config.of(together=together), device="cpu", debug=True)


def pour(rows: int, **changes: object) -> Any:
    sources: dict[str, Any] = {
        "ids": torch.arange(rows) + 7,
        "lengths": torch.arange(rows, dtype=torch.int16) + 40,
        "marks": torch.arange(rows, dtype=torch.int32) + 2,
    }
    return flume.LiveBatch(mode=flume.Mode.POUR, size=rows, **(sources | changes))


def test_where_there_is_a_slot_it_is_loaded_cast_and_padded() -> None:
    runner = runner_of(together=True)
    batch = runner.load(pour(3))
    assert batch.lengths.tolist() == [40, 41, 42, 1]
    assert batch.lengths.dtype is torch.int32
    assert batch.lengths.data_ptr() == runner.registry.lengths.data_ptr()
    assert batch.marks[:3].tolist() == [2, 3, 4]


def test_elsewhere_each_batch_has_its_own_source() -> None:
    runner = runner_of(together=False)
    assert (runner.registry.lengths, runner.registry.marks) == (None, None)
    for rows in (3, 3, 5, 2, 5):  # shapes that were seen, and others
        live = pour(rows)
        batch = runner.load(live)
        assert (batch.lengths, batch.marks) == (live.lengths, live.marks)
        assert batch.lengths is live.lengths
        assert batch.ids.tolist() == live.ids.tolist()
        assert batch.ids is not live.ids


def test_a_batch_that_is_not_copied_has_them_as_well() -> None:
    live = pour(3)
    batch = runner_of(together=False).load(live, copy=False)
    assert batch.lengths is live.lengths
    assert batch.ids is live.ids


def test_a_mode_that_does_not_load_a_slot_does_not_carry_its_source() -> None:
    live = replace(pour(3), mode=flume.Mode.DROP)
    batch = runner_of(together=False).load(live)
    assert batch.lengths is live.lengths
    assert batch.marks is None


def test_what_one_batch_brought_is_not_in_the_next() -> None:
    runner = runner_of(together=False)
    assert runner.load(pour(3)).marks is not None
    assert runner.load(pour(3, marks=None)).marks is None
    assert runner.load(pour(3)).marks is not None


def test_a_source_that_a_slot_needs_is_asked_for_only_where_there_is_one() -> None:
    with pytest.raises(BatchError):
        runner_of(together=True).load(pour(3, lengths=None))
    assert runner_of(together=False).load(pour(3, lengths=None)).lengths is None


@pytest.mark.parametrize("together", [False, True])
def test_warm_up_brings_what_a_batch_brings(together: bool) -> None:
    seen = []

    class Engine:
        def run(self, batch: Any, /) -> None:
            """Only warmed up here."""

        def settle(self, batch: Any, /) -> None:
            seen.append(batch)

    runner_of(together=together).warm_up(Engine())
    (batch,) = seen
    assert batch.lengths.dtype is torch.int32
    assert batch.lengths.shape[0] == batch.rows == (8 if together else 6)
    assert batch.marks.dtype is torch.int32


@given(st.data(), st.booleans())
def test_batches_that_are_drawn_bring_the_source_in_every_configuration(
    data: st.DataObject, together: bool
) -> None:
    config = flume.Config.of(together=together)
    live = data.draw(strategies.plain_main_batches(config, flume.Mode.POUR))
    assert live.lengths is not None
    assert live.lengths.shape == (live.size,)


def test_the_documentation_of_the_batch_says_so() -> None:
    text = generated("flume")[1]["batch.py"]
    assert "only where together; elsewhere as it was in the live batch" in " ".join(text.split())
