"""A read of rows that nobody writes: the reader would see what an earlier step left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.hazards import EAGER, LEAST, Hazard, check, golden_name, refusal, spec

_LENGTHS = """\
slots:
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens}
  starts: {shape: [requests], dtype: int32, source: batch.starts, modes: all}
readers:
  kernel: {reads: {starts: {rows: padded, fill: 1}}}
"""
_LIVE = _LENGTHS.replace("modes: all", "modes: [extend]").replace("padded, fill: 1", "live")
_OUTPUT = _LIVE.replace("source: batch.starts", "written_by: forward")
_COUNT = """\
slots:
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens}
  count: {shape: [1], dtype: int32, value: live_tokens}
readers:
  kernel: {reads: {count: {rows: padded, fill: 0}}}
"""
_UNPADDED = LEAST[EAGER].replace("step: forward", "step: forward, padded: false")
_ANYWHERE = _LIVE.replace(", modes: [extend]", "")
_FORWARD = "  - {step: forward, readers: [kernel]}\n"
_LOAD = "  - {do: load}\n"
_EARLY = LEAST[EAGER].replace(_LOAD + _FORWARD, _FORWARD + _LOAD)
_RARELY = LEAST[EAGER].replace(_LOAD, "  - {when: rows > 9, steps: [{do: load}]}\n")
_KEPT = _LENGTHS.replace("modes: all", "modes: [extend], lifetime: runner").replace(
    "{starts: {rows: padded, fill: 1}}", "{starts: {rows: live}, seq_lens: {rows: live}}"
)
_APART = {
    EAGER: LEAST[EAGER].replace("modes: all", "modes: [decode]"),
    "other.yaml": "runner: other\nworkers: [target]\nmodes: [extend]\nslots: all\n"
    "steps: [{do: load}]\n",
}
_EXTEND = """\
mode: extend
live: {requests: {range: [1, rows], seen_in: batch.size}}
axes: {requests: requests, tokens: requests * one}
pipeline: [pad]
"""

HAZARDS = {
    "a padded read says nothing of what it may find": Hazard(
        "U602",
        "padded",
        ("starts",),
        spec(_LENGTHS.replace(", fill: 1", "")),
        {"rows: padded": "rows: padded, fill: 1"},
    ),
    "a padded read is of a slot that the runner does not load": Hazard(
        "U623",
        "starts",
        ("forward", "starts"),
        spec(_LENGTHS, {EAGER: LEAST[EAGER].replace("slots: all", "slots: [seq_lens]")}),
        {"slots: [seq_lens]": "slots: [seq_lens, starts]"},
    ),
    "a padded read is of a slot that the mode does not load": Hazard(
        "U623",
        "starts",
        ("forward", "starts"),
        spec(_LENGTHS.replace("modes: all", "modes: [extend]"), {"extend.yaml": _EXTEND}),
        {"modes: [extend]": "modes: [extend, decode]"},
    ),
    "a live read is of a slot that the mode does not load": Hazard(
        "U623",
        "starts",
        ("forward", "starts"),
        spec(_LIVE, {"extend.yaml": _EXTEND}),
        {"kernel: {reads": "kernel: {modes: [extend], reads"},
    ),
    "a live read is of an output that the mode does not have": Hazard(
        "U623",
        "starts",
        ("forward", "starts"),
        spec(_OUTPUT, {"extend.yaml": _EXTEND}),
        {"modes: [extend]": "modes: [extend, decode]"},
    ),
    "a live read is at a step that also runs without padded rows": Hazard(
        "U623",
        "starts",
        ("forward", "starts"),
        spec(_LIVE, {"extend.yaml": _EXTEND, EAGER: _UNPADDED}),
        {"padded: false": "padded: false, modes: [extend]"},
    ),
    "no mode of the runner loads what a reader wants to find kept": Hazard(
        "U623",
        "starts",
        ("forward", "starts"),
        spec(_KEPT, {"extend.yaml": _EXTEND, **_APART}),
        {"kernel: {reads": "kernel: {modes: [extend], reads"},
    ),
    "a live read is before the load": Hazard(
        "U613",
        "forward",
        ("load", "starts"),
        spec(_ANYWHERE, {EAGER: _EARLY}),
        {_FORWARD + _LOAD: _LOAD + _FORWARD},
    ),
    "a padded read is before the load": Hazard(
        "U613",
        "forward",
        ("load", "starts"),
        spec(_LENGTHS, {EAGER: _EARLY}),
        {_FORWARD + _LOAD: _LOAD + _FORWARD},
    ),
    "a read is behind a group that loads in some configurations only": Hazard(
        "U613",
        "forward",
        ("load", "starts"),
        spec(_ANYWHERE, {EAGER: _RARELY}),
        {"{when: rows > 9, steps: [{do: load}]}": "{do: load, when: rows > 9}"},
    ),
    "a padded read is of a slot without padded rows": Hazard(
        "U624", "count", ("count",), spec(_COUNT), {"rows: padded, fill: 0": "rows: live"}
    ),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], hazard: str) -> None:
    golden(golden_name(hazard), check(HAZARDS[hazard], tmp_path))


_LEFT_AS_IT_IS = {
    "a slot that is kept until the next batch that has it": "lifetime: runner",
    "a slot that is written once": "lifetime: once, each: index",
}


@pytest.mark.parametrize("lifetime", _LEFT_AS_IT_IS.values(), ids=_LEFT_AS_IT_IS)
def test_live_rows_that_outlast_a_load_may_be_read_in_other_modes(
    tmp_path: Path, lifetime: str
) -> None:
    kept = _LIVE.replace("modes: [extend]", f"modes: [extend], {lifetime}")
    if "once" in lifetime:
        kept = kept.replace(
            "[requests], dtype: int32, source: batch.starts", "[rows], dtype: int32, value: index"
        )
    assert refusal(tmp_path, spec(kept, {"extend.yaml": _EXTEND})).text == ""


def test_a_live_read_is_looked_at_where_both_the_reader_and_the_slot_can_be(tmp_path: Path) -> None:
    apart = _LIVE.replace("modes: [extend]", "modes: [extend], when: rows > 9").replace(
        "kernel: {reads", "kernel: {when: rows < 9, reads"
    )
    assert refusal(tmp_path, spec(apart, {"extend.yaml": _EXTEND})).text == ""


@pytest.mark.parametrize(
    ("slot", "steps"),
    [
        ("[rows], dtype: int32, value: index, lifetime: once, each: index", _EARLY),
        (
            "[requests], dtype: int32, source: batch.starts",
            _EARLY.replace("[kernel]", "[kernel], modes: [extend]").replace(
                "do: load", "do: load, modes: [decode]"
            ),
        ),
        (
            "[requests], dtype: int32, source: batch.starts",
            _RARELY.replace("forward,", "forward, when: rows > 9,"),
        ),
    ],
    ids=[
        "of what is written once",
        "in a mode that is never loaded",
        "under the condition of the group",
    ],
)
def test_a_read_needs_no_load_before_it(tmp_path: Path, slot: str, steps: str) -> None:
    text = _ANYWHERE.replace("[requests], dtype: int32, source: batch.starts", slot)
    assert refusal(tmp_path, spec(text, {EAGER: steps, "extend.yaml": _EXTEND})).text == ""
