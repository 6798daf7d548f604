"""Outputs, which a step of the engine writes: read too early, or written by nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from support.hazards import (
    DECODE,
    EAGER,
    ENGINE,
    LEAST,
    Hazard,
    check,
    golden_name,
    imported,
    refusal,
    spec,
)

_SCORES = """\
slots:
  ids: {shape: [tokens], dtype: int64, source: batch.ids}
  scores: {shape: [requests], dtype: float32, written_by: forward}
readers:
  kernel: {reads: {ids: {rows: padded, fill: 3}}}
  sampler: {reads: {scores: {rows: live}}}
"""
_SAMPLE = "  - {step: sample, readers: [sampler]}\n"
_AFTER = LEAST[EAGER] + _SAMPLE
_BEFORE = LEAST[EAGER].replace("  - {step: forward", f"{_SAMPLE}  - {{step: forward")
_RARELY = _AFTER.replace("{step: forward,", "{step: forward, when: fresh,").replace(
    "steps:", "facts: {fresh: the scores are not there yet}\nsteps:"
)
_UNLOADED = _AFTER.replace("  - {do: load}\n", "").replace(_SAMPLE, f"  - {{do: load}}\n{_SAMPLE}")
_PADDED = _SCORES.replace("written_by: forward", "written_by: {step: forward, rows: live}").replace(
    "scores: {rows: live}", "scores: {rows: padded, fill: 7}"
)

# The draft runner reads what the target runner said; both take turns in one arena.

_LEFT = """\
slots:
  ids: {shape: [tokens], dtype: int64, source: batch.ids}
  scores: {shape: [requests], dtype: float32, written_by: forward, lifetime: runner}
readers:
  kernel: {reads: {ids: {rows: padded, fill: 3}}}
  chooser: {reads: {scores: {rows: live, from: eager}}}
"""
_DRAFT = """\
runner: draft
workers: [target]
modes: [propose]
slots: [ids]
steps:
  - {do: load}
  - {step: propose, readers: [kernel, chooser]}
"""
_PROPOSE = LEAST[DECODE].replace("mode: decode", "mode: propose")
_TWO_RUNNERS = {
    "propose.yaml": _PROPOSE,
    "draft.yaml": _DRAFT,
    EAGER: LEAST[EAGER].replace("modes: all", "modes: [decode]"),
}

# As many rows of what was left are read as the batch of the reader has.

_TWICE_THE_ROWS = {
    **_TWO_RUNNERS,
    "propose.yaml": _PROPOSE.replace("[1, rows]", '[1, "2 * rows"]'),
}
_WIDER = {
    **_TWO_RUNNERS,
    ENGINE: LEAST[ENGINE].replace(
        "definitions:",
        "  few: {type: int, range: [1, 64], unit: requests, default: 8}\ndefinitions:",
    ),
    "propose.yaml": _PROPOSE.replace("[1, rows]", "[1, few]"),
}
_OWN_KEPT = (
    _LEFT.replace("lifetime: runner", "lifetime: runner, modes: [decode]")
    .replace(", from: eager", "")
    .replace("  kernel: {reads", "  kernel: {modes: all, reads")
)
_OWN = {
    EAGER: LEAST[EAGER]
    .replace("[kernel]", "[kernel, chooser]")
    .replace(
        "{step: forward", "{step: forward, modes: [decode], readers: [kernel]}\n  - {step: choose"
    ),
    "propose.yaml": _TWICE_THE_ROWS["propose.yaml"],
}
_MARKED = _LEFT.replace("scores: {shape: [requests]", "scores: {modes: [decode], shape: [marks]")
_MARKS = {
    **_TWO_RUNNERS,
    DECODE: LEAST[DECODE].replace(
        "live: {requests", "live: {marks: {range: [1, 9], seen_in: batch.marks}, requests"
    ),
}

# What was left is there wherever it is read: the other runner has had a batch with the slot.

_FIXED = _LEFT.replace("[requests]", "[4]")
_SWITCHED = {
    **_TWO_RUNNERS,
    ENGINE: LEAST[ENGINE].replace("definitions:", "  drafts: {type: bool}\ndefinitions:"),
    DECODE: LEAST[DECODE].replace("live:", "when: drafts\nlive:"),
}

_TWICE = _SCORES.replace("written_by: forward", "written_by: [forward, rescore]")
_RESCORE = "  - {step: rescore, readers: [kernel]}\n"
_RESCORED = LEAST[EAGER] + _RESCORE + _SAMPLE
_FACT = "facts: {fresh: the scores are not there yet}\nsteps:"
_SOMETIMES = _RESCORED.replace("steps:", _FACT).replace(
    "  - {step: rescore", "  - {step: sample, when: fresh, readers: [sampler]}\n  - {step: rescore"
)
_MANY = [f"fact_{number}" for number in range(14)]
_ASKED = (
    _RESCORED.replace(
        "steps:", f"facts: {{{', '.join(f'{each}: asked' for each in _MANY)}}}\nsteps:"
    )
    .replace("{step: forward,", f"{{step: forward, when: {' and '.join(_MANY)},")
    .replace("{step: rescore,", f"{{step: rescore, when: {_MANY[-1]},")
    .replace(_SAMPLE, "")
)
_FORWARD = LEAST[EAGER].splitlines(keepends=True)[-1]
_AGAIN = LEAST[EAGER] + _FORWARD.replace("]}", "], padded: false}") + _SAMPLE

HAZARDS = {
    "an output is read before the step that writes it": Hazard(
        "U613",
        "sample",
        ("forward", "scores"),
        spec(_SCORES, {EAGER: _BEFORE}),
        {_BEFORE: _AFTER},
    ),
    "an output of an earlier batch is read where the step does not run": Hazard(
        "U613",
        "sample",
        ("forward", "scores"),
        spec(_SCORES, {EAGER: _RARELY}),
        {"{step: sample,": "{step: sample, when: fresh,"},
    ),
    "an output is in a runner that never writes it": Hazard(
        "U612",
        "forward",
        ("eager",),
        spec(_SCORES, {EAGER: LEAST[EAGER].replace("step: forward", "step: replay")}),
        {"step: replay": "step: forward"},
    ),
    "the load of another runner overwrites an output before its reader": Hazard(
        "U614",
        "scores",
        ("scores", "propose"),
        spec(_LEFT.replace(", lifetime: runner", ""), _TWO_RUNNERS),
        {"written_by: forward": "written_by: forward, lifetime: runner"},
    ),
    "more rows of an output are read than the runner that left it has room for": Hazard(
        "U631",
        "scores",
        ("scores", "propose", "propose"),
        spec(_LEFT, _TWICE_THE_ROWS),
        {'"2 * rows"': "rows"},
    ),
    "the runner that left an output has room by another parameter": Hazard(
        "U631",
        "scores",
        ("scores", "propose", "propose"),
        spec(_LEFT, _WIDER),
        {"\ntransforms:": "\nconstraints:\n  - {that: few <= rows, else: few}\ntransforms:"},
    ),
    "a mode reads more rows than another one of the runner left": Hazard(
        "U631",
        "scores",
        ("scores", "choose", "propose"),
        spec(_OWN_KEPT, _OWN),
        {'"2 * rows"': "rows"},
    ),
    "nothing tells how many rows of an output are read": Hazard(
        "U631",
        "scores",
        ("scores", "propose", "propose"),
        spec(_MARKED, _MARKS),
        {"shape: [marks]": "shape: [requests]"},
    ),
    "nobody has left an output in some configurations in which it is read": Hazard(
        "U631",
        "scores",
        ("scores", "propose", "propose"),
        spec(_FIXED, _SWITCHED),
        {"chooser: {reads": "chooser: {when: drafts, reads"},
    ),
    "load overwrites an output that is written before it": Hazard(
        "U612",
        "forward",
        ("eager",),
        spec(
            _SCORES.replace("  sampler: {reads: {scores: {rows: live}}}\n", ""),
            {EAGER: _UNLOADED.replace(", readers: [kernel]", "").replace("sampler", "kernel")},
        ),
        {"  - {step: forward": "  - {do: load}\n  - {step: forward"},
    ),
    "a second step overwrites an output before its reader": Hazard(
        "U630",
        "rescore",
        ("forward", "scores"),
        spec(_TWICE, {EAGER: _RESCORED}),
        {_RESCORE: f"{_SAMPLE}{_RESCORE}"},
    ),
    "a second step overwrites an output under one of many conditions": Hazard(
        "U630",
        "rescore",
        ("forward", "scores"),
        spec(_TWICE, {EAGER: _ASKED}),
        {"{step: rescore, when: ": "{step: rescore, when: not "},
    ),
    "a step overwrites its own output before its reader": Hazard(
        "U630",
        "forward",
        ("forward", "scores"),
        spec(_SCORES, {EAGER: _AGAIN}),
        {_FORWARD: _FORWARD.replace("]}", "], padded: true}")},
    ),
    "an output is read only sometimes before a second step overwrites it": Hazard(
        "U630",
        "rescore",
        ("forward", "scores"),
        spec(_TWICE, {EAGER: _SOMETIMES}),
        {"{step: rescore,": "{step: rescore, when: fresh,"},
    ),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], hazard: str) -> None:
    golden(golden_name(hazard), check(HAZARDS[hazard], tmp_path))


@pytest.mark.parametrize(
    ("read", "pipeline"),
    [
        ("when: rows > 64, reads", "[pad]"),
        ("reads", "[pad, double]"),
    ],
    ids=["in no configuration", "live rows, however they are padded"],
)
def test_what_is_left_needs_room_for_live_rows_that_are_read(
    tmp_path: Path, read: str, pipeline: str
) -> None:
    twice = '"2 * rows"' if "when" in read else "rows"
    double = "  double: {requests: 2 * requests, tokens: 2 * tokens}\n"
    others = {
        **_TWO_RUNNERS,
        ENGINE: LEAST[ENGINE] + double,
        "propose.yaml": _PROPOSE.replace("rows]", f"{twice}]").replace("[pad]", pipeline),
    }
    slots = _LEFT.replace("chooser: {reads", f"chooser: {{{read}")
    assert refusal(tmp_path, spec(slots, others)).text == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("when: fresh", "when: not fresh"),
        ("when: fresh and rows > 9", "when: rows < 9"),
        ("when: rows > 9", "when: rows <= 9"),
        ("padded: true", "padded: false"),
    ],
)
def test_steps_that_no_batch_has_both_of_may_write_one_slot(
    tmp_path: Path, first: str, second: str
) -> None:
    steps = _RESCORED.replace("steps:", _FACT).replace(_SAMPLE, "")
    steps = steps.replace("{step: forward,", f"{{step: forward, {first},")
    steps = steps.replace("{step: rescore,", f"{{step: rescore, {second},")
    assert refusal(tmp_path, spec(_TWICE, {EAGER: steps})).text == ""


def test_who_reads_while_the_first_step_runs_has_what_it_wrote(tmp_path: Path) -> None:
    steps = _RESCORED.replace("forward, readers: [kernel]", "forward, readers: [kernel, sampler]")
    assert refusal(tmp_path, spec(_TWICE, {EAGER: steps})).text == ""


def test_what_is_written_in_one_mode_is_not_overwritten_in_another(tmp_path: Path) -> None:
    steps = _RESCORED.replace("{step: forward,", "{step: forward, modes: [decode],")
    others = {EAGER: steps, "propose.yaml": _PROPOSE}
    apart = steps.replace("{step: rescore,", "{step: rescore, modes: [propose],")
    assert refusal(tmp_path, spec(_TWICE, {**others, EAGER: apart})).text == ""
    assert "of mode 'decode'" in refusal(tmp_path, spec(_TWICE, others)).text


def test_padded_rows_of_an_output_are_filled_at_each_load(tmp_path: Path) -> None:
    package = imported(tmp_path, "hazard_outputs", spec(_PADDED, {EAGER: _AFTER}))
    runner = package.EagerTargetRunner(package.Config.of(rows=6), device="cpu")
    for rows in (6, 5, 2, 5):
        live = package.LiveBatch(mode=package.Mode.DECODE, size=rows, ids=torch.arange(rows) + 40)
        scores = runner.load(live).scores
        assert scores[rows:].tolist() == [7.0] * (-rows % 4)
        scores.fill_(-5.0)


def test_a_kept_output_survives_the_loads_of_the_runner_that_reads_it(tmp_path: Path) -> None:
    package = imported(tmp_path, "hazard_kept", spec(_LEFT, _TWO_RUNNERS))
    config = package.Config.of(rows=6)
    arenas = package.Arenas.allocate(config, device="cpu", debug=True)
    given = {"device": "cpu", "debug": True, "arenas": arenas}
    target = package.EagerTargetRunner(config, **given)
    draft = package.DraftTargetRunner(config, **given)
    ids = torch.arange(6) + 40
    said = target.load(package.LiveBatch(mode=package.Mode.DECODE, size=6, ids=ids)).scores
    said.copy_(torch.arange(8) / 4 + 2)
    for rows in (1, 6):
        draft.load(package.LiveBatch(mode=package.Mode.PROPOSE, size=rows, ids=ids[:rows]))
        assert said.tolist() == (torch.arange(8) / 4 + 2).tolist()
