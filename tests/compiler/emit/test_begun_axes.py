"""Axes that no batch brings: children of a split, and what pipeline ranks hand on."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from support.hazards import imported
from ullage_runtime.errors import BatchError, CapacityError

# Any: the packages exist only once the test has generated them.
Drawn = Any

ENGINE = """\
ullage: 1
engine: halving
axes:
  requests: {unit: requests}
  tokens: {unit: tokens}
  split: {unit: tokens, begins_as: 0}
  second: {unit: tokens, begins_as: 0, doc: what the second child computes}
  proxies: {unit: tokens, begins_as: "cdiv(tokens, ranks_of_attention)"}
workers: {target: {}}
parameters:
  most: {type: int, range: [1, 64], unit: requests, default: 6}
  ranks_of_attention: {type: int, range: [1, 8], default: 2}
definitions:
  one: {value: 1, unit: tokens/requests}
transforms:
  pad: {requests: "align_up(requests, 4)", tokens: "align_up(requests, 4) * one"}
  halve:
    after: [pad]
    arguments: [width]
    let: {half: requests // 2 * width}
    split: half
    second: align_up(tokens - half, ranks_of_attention)
  scatter: {after: [pad], proxies: "cdiv(tokens, ranks_of_attention)"}
slots:
  ids: {shape: [tokens], dtype: int64, source: batch.ids}
  hidden: {shape: [proxies, 2], dtype: float32, source: batch.hidden, optional: true}
  second_plan: {shape: [second], dtype: int64, written_by: forward}
  second_live: {shape: [1], dtype: int32, value: "max(live_tokens - padded_split, 0)"}
readers:
  kernel: {reads: {ids: {rows: padded, fill: 3}}}
  stage: {reads: {hidden: {rows: padded, fill: 0}}}
"""
DECODE = """\
mode: decode
live: {requests: {range: [1, most], seen_in: batch.size}}
axes: {requests: requests, tokens: requests * one}
pipeline: []
"""
RUNNER = """\
runner: eager
workers: [target]
modes: all
slots: all
pipeline:
  - pad
  - {transform: halve(width=one), modes: [decode]}
  - scatter
values: {output: what the next stage takes}
steps:
  - {do: load}
  - {step: forward, gives: output, readers: [kernel, stage]}
  - {do: slice, takes: [output], gives: output}
"""
FILES = {
    "engine.yaml": ENGINE,
    "decode.yaml": DECODE,
    "whole.yaml": DECODE.replace("mode: decode", "mode: whole"),
    "eager.yaml": RUNNER,
}


@pytest.fixture(scope="module")
def halving(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return imported(tmp_path_factory.mktemp("halving"), "halving", FILES)


def runner_of(halving: Drawn, **settings: int) -> Drawn:
    return halving.EagerTargetRunner(halving.Config.of(**settings), device="cpu")


def live(halving: Drawn, mode: str, rows: int, *, hidden: int | None = None) -> Drawn:
    ids = torch.arange(rows) + 30
    stage = None if hidden is None else torch.arange(2.0 * hidden).reshape(hidden, 2) + 1
    return halving.LiveBatch(mode=halving.Mode(mode), size=rows, ids=ids, hidden=stage)


def test_children_are_computed_for_the_modes_that_are_split(halving: Drawn) -> None:
    runner = runner_of(halving)
    split = runner.load(live(halving, "decode", 5))
    assert (split.tokens, split.split, split.second) == (8, 4, 4)
    assert (len(split.second_plan), split.second_live.tolist()) == (4, [1])
    whole = runner.load(live(halving, "whole", 5))
    assert (whole.tokens, whole.split, whole.second, len(whole.second_plan)) == (8, 0, 0, 0)


def test_a_child_is_as_large_as_its_own_expression(halving: Drawn) -> None:
    assert runner_of(halving, most=6).capacities.second == 4
    assert runner_of(halving, most=6, ranks_of_attention=8).capacities.second == 8


def test_a_source_along_such_an_axis_has_the_rows_that_it_begins_as(halving: Drawn) -> None:
    batch = runner_of(halving).load(live(halving, "decode", 5, hidden=3))
    assert (batch.live_proxies, batch.proxies) == (3, 4)
    assert batch.hidden.tolist() == [[1, 2], [3, 4], [5, 6], [0, 0]]
    with pytest.raises(BatchError, match="hidden"):
        runner_of(halving).load(live(halving, "decode", 5, hidden=5))


def test_what_is_handed_on_is_sliced_back_to_its_live_rows(halving: Drawn) -> None:
    class Engine:
        def forward(self, batch: Drawn) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.arange(batch.tokens) + 7, torch.arange(batch.proxies) + 9

    tokens, proxies = runner_of(halving).execute(live(halving, "decode", 5), Engine())
    assert (tokens.tolist(), proxies.tolist()) == ([7, 8, 9, 10, 11], [9, 10, 11])


def test_a_batch_without_padded_rows_has_none_for_its_children_either(halving: Drawn) -> None:
    runner = runner_of(halving)
    full = live(halving, "decode", 4, hidden=2)
    assert not runner.load(full).has_padding
    assert runner.load(full, copy=False).ids is full.ids
    assert runner.load(live(halving, "decode", 5, hidden=3)).has_padding
    unpadded = runner.load(live(halving, "decode", 5, hidden=3), pad=False)
    assert (unpadded.tokens, unpadded.second) == (5, 0)


def test_a_batch_beyond_the_capacity_names_its_axis(halving: Drawn) -> None:
    runner = runner_of(halving)
    with pytest.raises((BatchError, CapacityError), match="requests"):
        runner.load(live(halving, "decode", 7))
