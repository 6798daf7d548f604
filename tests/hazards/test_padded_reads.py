"""A read of padded rows that nobody writes: the reader would see what an earlier step left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.hazards import EAGER, LEAST, Hazard, check, golden_name, spec

_LENGTHS = """\
slots:
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens}
  starts: {shape: [requests], dtype: int32, source: batch.starts, modes: all}
readers:
  kernel: {reads: {starts: {rows: padded, fill: 1}}}
"""
_COUNT = """\
slots:
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens}
  count: {shape: [1], dtype: int32, value: live_tokens}
readers:
  kernel: {reads: {count: {rows: padded, fill: 0}}}
"""
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
    "a padded read is of a slot without padded rows": Hazard(
        "U624", "count", ("count",), spec(_COUNT), {"rows: padded, fill: 0": "rows: live"}
    ),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], hazard: str) -> None:
    golden(golden_name(hazard), check(HAZARDS[hazard], tmp_path))
