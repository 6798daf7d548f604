"""Storage that several runners or slots share: what one leaves there, another must never read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from support.hazards import (
    EAGER,
    ENGINE,
    LEAST,
    Hazard,
    analysed,
    check,
    golden_name,
    imported,
    spec,
)
from ullage.configuration.values import complete
from ullage.plan.arenas import PlacedArena, arenas_for
from ullage.plan.model import ALIGNMENT
from ullage.plan.validate import flaws_of

# Any: the package exists only once the test has generated it.
Drawn = Any

_LENGTHS = """\
slots:
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens}
readers:
  kernel: {reads: {seq_lens: {rows: padded, fill: 1}}}
"""
_TWO_READERS = _LENGTHS + "  planner: {reads: {seq_lens: {rows: padded, fill: 0}}}\n"
_BOTH_READ = LEAST[EAGER].replace("[kernel]", "[kernel, planner]")
_WIDER = "slots:\n  seq_lens: {shape: [requests], dtype: int64, source: batch.seq_lens}\n"
_OTHER_NAME = "slots:\n  wide_lens: {shape: [requests], dtype: int64"
_LONGER = "slots:\n  seq_lens: {shape: [requests, 2], dtype: int32, source: batch.seq_lens}\n"
_TAKES_EARLY = """\
runner: eager
workers: [target]
modes: all
slots: all
values: {output: logits}
steps:
  - {do: load}
  - {step: sample, takes: [output]}
  - {step: forward, gives: output, readers: [kernel]}
"""

HAZARDS = {
    "two readers of a step want different lengths in one tail": Hazard(
        "U601",
        "seq_lens",
        ("seq_lens",),
        spec(_TWO_READERS, {EAGER: _BOTH_READ}),
        {"fill: 0": "fill: 1"},
    ),
    "a tail is filled once and trusted later": Hazard(
        "U201",
        "fill_once",
        (),
        spec(_LENGTHS.replace("source", "fill_once: 1500, source")),
        {"fill_once: 1500, ": ""},
    ),
    "one name has two dtypes": Hazard(
        "U205",
        "seq_lens",
        ("seq_lens",),
        spec(_LENGTHS, {"graph.yaml": _WIDER}),
        {"slots:\n  seq_lens: {shape: [requests], dtype: int64": _OTHER_NAME},
    ),
    "one name has two trailing shapes": Hazard(
        "U205",
        "seq_lens",
        ("seq_lens",),
        spec(_LENGTHS, {"graph.yaml": _LONGER}),
        {"  seq_lens: {shape: [requests, 2]": "  pairs: {shape: [requests, 2]"},
    ),
    "an output is read before a step gives it": Hazard(
        "U213",
        "sample",
        (),
        spec(_LENGTHS, {EAGER: _TAKES_EARLY}),
        {"{step: sample, takes: [output]}": "{step: sample}"},
    ),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], hazard: str) -> None:
    golden(golden_name(hazard), check(HAZARDS[hazard], tmp_path))


# Two runners whose readers want different lengths share the storage of one slot.

_TURNS = """\
slots:
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens}
  encoder_lens: {shape: [requests], dtype: int32, source: batch.encoder_lens}
readers:
  kernel: {reads: {seq_lens: {rows: padded, fill: 0}, encoder_lens: {rows: padded, fill: 0}}}
  captured: {reads: {seq_lens: {rows: padded, fill: 1}, encoder_lens: {rows: padded, fill: 1500}}}
"""
_GRAPH = """\
runner: graph
workers: [target]
modes: all
slots: all
accepts: [requests <= 16]
fallback: eager
steps:
  - {do: load}
  - {step: replay, readers: [captured]}
"""
_RUNNERS = {"graph.yaml": _GRAPH}
_GROUP = "concurrent:\n  - {runners: [eager, graph], doc: on two streams}\n"


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("turns")
    return imported(folder, "hazard_turns", spec(_TURNS, _RUNNERS))


def lengths(package: Drawn, rows: int) -> Drawn:
    return package.LiveBatch(
        mode=package.Mode.DECODE,
        size=rows,
        seq_lens=torch.arange(rows, dtype=torch.int32) + 30,
        encoder_lens=torch.arange(rows, dtype=torch.int32) + 60,
    )


@pytest.mark.parametrize("order", [*product(("eager", "graph"), repeat=3)])
def test_a_runner_never_reads_the_lengths_that_another_left(
    turns: Drawn, order: tuple[str, ...]
) -> None:
    config = turns.Config.of(rows=16)
    arenas = turns.Arenas.allocate(config, device="cpu")
    given = {"device": "cpu", "arenas": arenas}
    runners = {
        "eager": (turns.EagerTargetRunner(config, **given), [0, 0]),
        "graph": (turns.GraphTargetRunner(config, **given), [1, 1500]),
    }
    starts = {runner.registry.seq_lens.data_ptr() for runner, _ in runners.values()}
    assert len(starts) == 1
    for position, name in enumerate(order):
        runner, fills = runners[name]
        rows = (13, 3, 6)[position]
        batch = runner.load(lengths(turns, rows))
        for field, first, fill in (("seq_lens", 30, fills[0]), ("encoder_lens", 60, fills[1])):
            tail = [fill] * (-rows % 4)
            assert getattr(batch, field).tolist() == [*range(first, first + rows), *tail]


# What is alive together lies apart, whatever the configuration.


def arenas(folder: Path, rows: int, others: dict[str, str]) -> Iterator[tuple[PlacedArena, Drawn]]:
    analysis = analysed(folder, spec(_TURNS, {**_RUNNERS, **others}))
    values = complete(analysis.resolved, {"rows": rows})
    for arena in arenas_for(analysis.plan, values):
        yield (
            arena,
            lambda found: [
                str(flaw) for flaw in flaws_of([found], analysis.resolved, values, ALIGNMENT)
            ],
        )


@pytest.mark.parametrize("rows", [1, 8, 64])
@pytest.mark.parametrize("beside", [True, False])
def test_slots_that_are_alive_together_share_no_byte(
    tmp_path: Path, rows: int, beside: bool
) -> None:
    for arena, flaws in arenas(tmp_path, rows, {"group.yaml": _GROUP} if beside else {}):
        assert flaws(arena) == []
        starts = {runner.name: runner.start for runner in arena.runners}
        assert (starts["graph_target"] == starts["eager_target"]) is not beside


def test_storage_that_a_faulty_planner_shares_between_live_runners_is_told(tmp_path: Path) -> None:
    [(arena, flaws)] = arenas(tmp_path, 8, {"group.yaml": _GROUP})
    first = arena.runners[0]
    moved = tuple(
        replace(slot, offset=slot.offset - runner.start)
        for runner in arena.runners[1:]
        for slot in runner.slots
    )
    second = replace(arena.runners[1], start=first.start, slots=moved)
    told = flaws(replace(arena, runners=(first, second)))
    assert len(told) == 2
    assert "eager_target.seq_lens in bytes 0 to 32" in told[0]
    assert all("are alive together and share 32 bytes" in flaw for flaw in told)


# A trailing shape or dtype that differs between workers is another view of the same bytes.

_TWO_WORKERS = (
    LEAST[ENGINE]
    .replace("workers:", "workers:\n  draft: {doc: the model that proposes}")
    .replace(
        "definitions:",
        "  wide: {type: int, range: [1, 9], per: worker, default: 2}\ndefinitions:",
    )
)
_HIDDEN = """\
slots:
  hidden: {shape: [tokens, wide], dtype: float32, source: batch.hidden}
readers:
  kernel: {reads: {hidden: {rows: padded, fill: 4}}}
"""


def test_workers_of_different_widths_each_have_their_own_shape_of_a_slot(tmp_path: Path) -> None:
    both = LEAST[EAGER].replace("[target]", "[target, draft]")
    files = spec(_HIDDEN, {ENGINE: _TWO_WORKERS, EAGER: both})
    package: Drawn = imported(tmp_path, "hazard_widths", files)
    config = package.Config.of(rows=7, wide_target=3, wide_draft=5)
    given = {"device": "cpu", "arenas": package.Arenas.allocate(config, device="cpu")}
    runners = {
        3: package.EagerTargetRunner(config, **given),
        5: package.EagerDraftRunner(config, **given),
    }
    for wide, rows in ((3, 7), (5, 2), (3, 1), (5, 6)):
        own = torch.arange(rows * wide, dtype=torch.float32).view(rows, wide) + 10
        live = package.LiveBatch(mode=package.Mode.DECODE, size=rows, hidden=own)
        found = runners[wide].load(live).hidden
        assert found[:rows].tolist() == own.tolist()
        assert found[rows:].tolist() == [[4.0] * wide] * (-rows % 4)
