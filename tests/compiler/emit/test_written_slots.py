"""Slots that a step of the engine writes: load fills their tails and leaves the rest to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from support.generated import generated, package
from ullage_runtime.debug import DebugOptions

# Any: the package exists only once the test has generated it.
Drawn = Any


def runner(debug: bool | DebugOptions = False, **given: object) -> Drawn:
    ladle = package("ladle")
    return ladle.PlainMainRunner(ladle.Config.of(**given), device="cpu", debug=debug)


def batch(mode: str = "POUR", size: int = 5, picked: Tensor | None = None) -> Drawn:
    ladle = package("ladle")
    ids = torch.arange(11, 11 + size)
    return ladle.LiveBatch(mode=ladle.Mode[mode], size=size, ids=ids, picked=picked)


class Engine:
    """Steps that write what the spec says they write."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []

    def plan(self, batch: Drawn) -> None:
        rows = batch.live_rows
        if batch.table is not None:
            batch.table[:, :rows] = torch.arange(1, 2 * rows + 1).reshape(2, rows) % 9
        if batch.mask is not None:
            batch.mask[:rows] = 3

    def run(self, batch: Drawn) -> Tensor:
        batch.scores.copy_(torch.rand(batch.scores.shape))
        self.seen += [batch.table, batch.mask, batch.ids]
        return torch.Tensor(batch.scores)

    def sample(self, batch: Drawn, output: Tensor) -> None:
        assert output.data_ptr() == batch.scores.data_ptr()


def test_load_fills_the_tails_of_rows_that_a_step_writes_and_nothing_else() -> None:
    served = runner()
    for slot in served.registry.slots:
        slot.fill_(2)
    loaded = served.load(batch())
    assert loaded.table.tolist() == [[2, 2, 2, 2, 2, 7, 7, 7]] * 2
    assert loaded.mask.tolist() == [2, 2, 2, 2, 2, 1, 1, 1]
    assert loaded.scores.tolist() == [[2, 2, 2]] * 8


def test_a_step_writes_where_readers_look() -> None:
    served, engine = runner(debug=True), Engine()
    served.execute(batch(), engine)
    table, mask, ids = engine.seen
    assert table.tolist() == [[1, 2, 3, 4, 5, 7, 7, 7], [6, 7, 8, 0, 1, 7, 7, 7]]
    assert mask.tolist() == [3, 3, 3, 3, 3, 1, 1, 1]
    assert ids.tolist() == [11, 12, 13, 14, 15, 5, 5, 5]


def test_debug_mode_poisons_rows_until_the_step_writes_them() -> None:
    served = runner(debug=DebugOptions(poison=True))
    served.registry.scores.fill_(2)
    assert not bool((served.load(batch()).scores == 2).any())


def test_a_batch_that_is_handed_out_as_it_is_has_the_slots_that_steps_write() -> None:
    loaded = runner().load(batch(size=4), copy=False)
    assert loaded.scores.shape == (4, 3)
    assert loaded.table.shape == (2, 4)


def test_modes_without_the_slot_may_have_more_rows_than_it_holds() -> None:
    served = runner()
    assert served.registry.table.shape == (2, 8)
    loaded = served.load(batch("DROP", size=12))
    assert (loaded.rows, loaded.table) == (12, None)


def test_a_slot_that_the_configuration_lacks_is_absent() -> None:
    assert runner(masked=False).load(batch()).mask is None


def test_no_source_is_asked_for() -> None:
    assert set(package("ladle").LiveBatch.__dataclass_fields__) == {"mode", "size", "ids", "picked"}


@pytest.mark.parametrize("module", ["batch.py", "registry.py"])
def test_the_generated_code_names_the_line_of_the_slot(module: str) -> None:
    assert "slots.yaml:3" in generated("ladle")[1][module]
