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
