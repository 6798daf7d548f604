"""Loads of a generated engine that shares nothing with SGLang, against rules written by hand."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.generated import barrel
from support.generated import package as generated_package
from ullage_runtime.debug import poison
from ullage_runtime.errors import BatchError, CapacityError, ConfigurationError
from ullage_runtime.ranks import SingleRank

# Any: the package exists only once the test has generated it.
Drawn = Any


class Ranks(SingleRank):
    """One of some ranks, whose peers bring `peers` rows each."""

    def __init__(self, peers: list[int]) -> None:
        self.peers = peers
        self.count = 1 + len(peers)

    def max_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        assert collective == "agree"
        return tuple(max(value, *self.peers) for value in values)


@st.composite
def runners(draw: st.DrawFn, *, debug: bool = True) -> Drawn:
    config = draw(barrel("strategies").configs())
    rows = st.integers(0, config.input_)
    ranks = Ranks(draw(st.lists(rows, min_size=config.ranks - 1, max_size=config.ranks - 1)))
    return barrel().PlainMainRunner(config, ranks, device="cpu", debug=debug)


def batches(runner: Drawn) -> st.SearchStrategy[Drawn]:
    drawn = barrel("strategies").plain_main_batches
    return st.sampled_from(runner.modes).flatmap(lambda mode: drawn(runner.config, mode))


def rows_of(runner: Drawn, live: Drawn) -> tuple[int, int]:
    """Live and padded rows."""
    config, mode = runner.config, live.mode.name
    count = live.mode_.shape[0] if mode == "SERVE" else live.size
    if mode == "FILL":
        depth = config.depth if live.depth is None else live.depth
        rows = count * (depth if config.deep else 1) + live.more
        return rows, rows
    live_rows = {"SERVE": count, "TWIN": 2 * count, "REST": 0}[mode]
    padded = live_rows
    if mode in ("SERVE", "REST") and config.ranks > 1:
        padded = max(live_rows, *runner.ranks.peers)
    return live_rows, min(bucket for bucket in config.buckets if bucket >= padded)


def assert_rows(found: torch.Tensor, source: torch.Tensor | None, fill: float | None) -> None:
    rows = 0 if source is None else source.shape[0]
    if source is not None:
        assert torch.equal(found[:rows], source.to(found.dtype))
    if fill is not None:
        assert found[rows:].tolist() == torch.full_like(found[rows:], fill).tolist()


def assert_loaded(runner: Drawn, live: Drawn, batch: Drawn) -> None:
    rows, padded = rows_of(runner, live)
    assert (batch.live_rows, batch.rows) == (rows, padded)
    assert batch.has_padding is (rows != padded)
    serving = live.mode.name in ("SERVE", "TWIN")
    assert_rows(batch.mode_, live.mode_, 7)
    depth = runner.config.depth if live.depth is None else live.depth
    assert batch.count.tolist() == [rows * (depth if runner.config.deep else 1)]
    assert batch.is_full.tolist() == [rows == padded] * 2
    assert batch.extra is live.extra
    assert (batch.flags is not None) is runner.config.deep
    if batch.flags is not None:
        assert_rows(batch.flags, live.flags, True)
    assert (batch.weights is not None, batch.cells is not None) == (serving, serving)
    assert (batch.table is not None) is (live.mode.name == "FILL")
    if serving:
        assert_rows(batch.weights, live.info_weights, 1)
        assert torch.equal(batch.cells, live.cells)
        assert torch.equal(batch.constant, live.constant)
        assert (batch.square is None) is (live.square is None)
        if batch.square is not None:
            assert torch.equal(batch.square[:rows, :rows], live.square.to(torch.int64))
            outside = torch.ones(padded, padded, dtype=torch.bool)
            outside[:rows, :rows] = False
            assert set(batch.square[outside].tolist()) <= {-3}


@given(st.data())
@pytest.mark.slow
def test_every_legal_batch_loads_as_its_spec_says(data: st.DataObject) -> None:
    runner = data.draw(runners())
    for _ in range(2):
        live = data.draw(batches(runner))
        assert_loaded(runner, live, runner.load(live))


@given(st.data())
@pytest.mark.slow
def test_nothing_of_earlier_batches_is_left(data: st.DataObject) -> None:
    runner = data.draw(runners(debug=False))
    for slot in runner.registry.slots:
        poison(slot)
    for _ in range(3):
        live = data.draw(batches(runner))
        assert_loaded(runner, live, runner.load(live))


def serve_batch(package: ModuleType, rows: int, **changes: Drawn) -> Drawn:
    fields = {
        "mode_": torch.arange(1, rows + 1),
        "lengths": torch.tensor([2] * rows),
        "cells": torch.arange(1, 2 * rows + 1, dtype=torch.int32),
        "info_weights": torch.linspace(1, 2, 2 * rows).reshape(rows, 2),
        "constant": torch.tensor([3, 4, 5], dtype=torch.int8),
    }
    return package.LiveBatch(mode=package.Mode.SERVE, **{**fields, **changes})


def plain_runner(**arguments: object) -> Drawn:
    package = barrel()
    config = package.Config.from_arguments({"page": 4, **arguments})
    return package.PlainMainRunner(config, Ranks([]), device="cpu", debug=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"lengths": torch.tensor([2, 2])},
            "number of length is 2, outside \\[3, 3\\]; the lower end is rows = 3",
        ),
        ({"lengths": torch.tensor([2, 9, 2])}, "length is 9, outside \\[1, 8\\]"),
        ({"cells": torch.ones(5, dtype=torch.int32)}, "cells has a source of shape \\(5,\\)"),
        ({"constant": None}, "constant has no source"),
        ({"mode_": torch.ones(0, dtype=torch.int64)}, "rows is 0, outside \\[1, 12\\] "),
    ],
)
@pytest.mark.slow
def test_what_is_wrong_with_a_batch_is_said(changes: dict[str, object], message: str) -> None:
    with pytest.raises(BatchError, match=message):
        plain_runner().load(serve_batch(barrel(), 3, **changes))


@pytest.mark.slow
def test_a_relation_between_requests_is_checked() -> None:
    runner = plain_runner(input=2, window=1)
    live = serve_batch(barrel(), 2, lengths=torch.tensor([8, 1]))
    with pytest.raises(BatchError) as caught:
        runner.load(live)
    statement = "sum_requests(length) <= 4 * input"
    values = "sum_requests(length) = 9, input = 2"
    assert f"{statement} does not hold with {values} (specs/barrel/" in str(caught.value)


def test_an_extent_that_only_the_source_shows_is_checked_against_its_capacity() -> None:
    package, runner = barrel(), plain_runner()
    table = torch.ones(runner.capacities.table_0 + 1, dtype=torch.int32)
    live = package.LiveBatch(mode=package.Mode.FILL, size=1, mode_=torch.tensor([2]), table=table)
    with pytest.raises(CapacityError, match=r"needs \d+ table\.0, but the static buffers hold"):
        runner.load(live)


def test_a_varying_parameter_takes_one_of_its_values() -> None:
    package, runner = barrel(), plain_runner(deep=True, depths=[2, 6])
    live = package.LiveBatch(
        mode=package.Mode.FILL,
        size=1,
        depth=6,
        mode_=torch.arange(1, 7),
        flags=torch.ones(6, dtype=torch.bool),
        table=torch.tensor([4], dtype=torch.int32),
    )
    batch = runner.load(live)
    assert (batch.rows, batch.count.tolist()) == (6, [36])
    with pytest.raises(BatchError, match=r"depth is 3, which is not in depths = \[2, 6\]"):
        runner.load(package.LiveBatch(mode=package.Mode.FILL, size=1, depth=3))


def test_the_number_of_ranks_is_the_configured_one() -> None:
    package = barrel()
    config = package.Config.from_arguments({"page": 4, "ranks": 2})
    with pytest.raises(Exception, match="the number of ranks is broken with 2"):
        package.PlainMainRunner(config, SingleRank(), device="cpu")


def test_defaults_that_illegal_arguments_leave_undefined_hide_no_problem() -> None:
    with pytest.raises(Exception, match="half is 0, but must be an integer in") as caught:
        barrel().Config.from_arguments({"page": 4, "half": 0})
    assert "window" in str(caught.value)
    assert barrel().Config.from_arguments({"page": 4, "half": 4}).window == 1


def test_what_has_no_default_must_be_given() -> None:
    with pytest.raises(Exception, match="page is None, but it has no default"):
        barrel().Config.from_arguments({})


def test_a_definition_can_be_a_worker() -> None:
    assert plain_runner().config.role_main == barrel("config").Worker.MAIN


class Steps:
    """Notes the steps of the small engine."""

    def __init__(self, *facts: str) -> None:
        self.facts = facts
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Drawn:
        def called(batch: object) -> Drawn:
            self.calls.append(name)
            return self if name == "quiet" else name in self.facts

        return called

    def __enter__(self) -> None:
        self.calls.append("in")

    def __exit__(self, *_: object) -> None:
        self.calls.append("out")


def test_steps_before_the_load_know_whether_there_is_padding() -> None:
    package = barrel()
    engine = Steps("ready", "loud")
    assert plain_runner().execute(serve_batch(package, 3), engine) is None
    expected = ["loud", "announce", "warn", "ready", "look", "quiet", "in", "finish", "out"]
    assert engine.calls == expected
    engine = Steps("loud")
    plain_runner().execute(serve_batch(package, 4), engine)
    assert engine.calls == ["loud", "announce", "ready", "look_away", *expected[5:]]


def test_a_condition_on_the_configuration_and_a_fact_asks_the_fact_once() -> None:
    package = barrel()
    engine = Steps("ready")
    live = package.LiveBatch(mode=package.Mode.REST)
    plain_runner(deep=True).execute(live, engine)
    assert engine.calls.count("ready") == 1
    assert engine.calls[-7:] == ["quiet", "in", "quiet", "in", "finish", "out", "out"]


def test_names_that_python_and_generated_code_use_themselves_are_no_obstacle() -> None:
    names = generated_package("names")
    config = names.Config.from_arguments({"of": 2, "self_": 6})
    assert (config.defaults_, config.torch_) == (3, names.Torch.MODE)
    runner = names.RunnerBatchRunner(config, SingleRank(), device="cpu", debug=True)
    live = names.LiveBatch(
        mode=names.Mode.LOAD,
        config=2,
        views=torch.tensor([4, 5]),
        problem=torch.tensor([6, 7]),
        mode_=torch.tensor([8, 9]),
    )
    batch = runner.load(live)
    assert (batch.count_, batch.padded_) == (2, 2)
    assert batch.config_slot.tolist() == [4, 5]
    assert batch.views.tolist() == [6, 7]
    assert batch.extents.tolist() == [8, 9]
    assert batch.slots_.tolist() == [2]


def test_a_parameter_that_varies_is_configured_as_one_of_its_list() -> None:
    assert barrel().Config.of(page=1, deep=True, depths=(2, 6), depth=6).depth == 6
    with pytest.raises(ConfigurationError) as caught:
        barrel().Config.of(page=1, deep=True, depths=(2, 6), depth=3)
    (problem,) = caught.value.problems
    assert str(problem).startswith("U701: depth is 3, but must be in depths: 2, 6 (")


def test_the_list_of_a_varying_parameter_is_not_looked_at_where_it_is_wrong_itself() -> None:
    with pytest.raises(ConfigurationError) as caught:
        barrel().Config.of(page=1, deep=True, depths=(2, 60), depth=3)
    assert [each.parameter for each in caught.value.problems] == ["depths"]
