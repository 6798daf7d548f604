"""Numbers that do not fit: values in a dtype, sizes in 32 bits, widths where tokens are meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.hazards import DECODE, ENGINE, LEAST, Hazard, check, golden_name, spec

_LENGTHS = """\
slots:
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens, range: [0, 2^31]}
readers:
  kernel: {reads: {seq_lens: {rows: padded, fill: 1}}}
"""
_FLAGS = """\
slots:
  flags: {shape: [requests], dtype: uint8, source: batch.flags, range: [0, 9]}
readers:
  kernel: {reads: {flags: {rows: padded, fill: -1}}}
"""
_OFFSET = """\
slots:
  offset: {shape: [1], dtype: int32, value: padded_tokens * row_width}
readers:
  kernel: {reads: {offset: {rows: live}}}
"""
_WIDE = LEAST[ENGINE].replace(
    "definitions:", "  row_width: {type: int, range: [1, 2^28], default: 4096}\ndefinitions:"
)
_INDEX = """\
slots:
  table: {shape: [requests], dtype: int32, source: batch.table, range: [0, rows * row_width]}
readers:
  kernel: {reads: {table: {rows: padded, fill: 0}}}
"""
_HUGE = """\
slots:
  table: {shape: [requests, 2^60], dtype: int8, source: batch.table}
readers:
  kernel: {reads: {table: {rows: live}}}
"""
_IDS = """\
slots:
  ids: {shape: [tokens], dtype: int32, source: batch.ids}
readers:
  kernel: {reads: {ids: {rows: padded, fill: 0}}}
"""
_BY_WIDTH = LEAST[DECODE].replace("requests * one", "one")
_AUDIT = """\
audit: engine
quoted_from: the engine's own rule
formulas:
  - {runner: eager, axis: tokens, formula: one, expect: overflows}
"""

HAZARDS = {
    "values do not fit the dtype": Hazard(
        "U603", "[0, 2^31]", ("seq_lens",), spec(_LENGTHS), {"2^31": "2^31 - 1"}
    ),
    "a fill does not fit the values": Hazard(
        "U607", "flags", ("flags",), spec(_FLAGS), {"fill: -1": "fill: 9"}
    ),
    "an offset passes 32 bits": Hazard(
        "U603",
        "offset",
        ("padded_tokens * row_width", "decode"),
        spec(_OFFSET, {ENGINE: _WIDE}),
        {"int32": "int64"},
    ),
    "an index into a large pool passes 32 bits": Hazard(
        "U603",
        "[0, rows * row_width]",
        ("table",),
        spec(_INDEX, {ENGINE: _WIDE}),
        {"rows * row_width]": "rows * row_width], on_overflow: refuse_config"},
    ),
    "more elements than 64 bits count": Hazard(
        "U604", "table", ("eager",), spec(_HUGE), {"2^60": "2^50"}
    ),
    "a width for each request is taken for tokens": Hazard(
        "U304",
        "one",
        ("tokens", "one"),
        spec(_IDS, {DECODE: _BY_WIDTH}),
        {"tokens: one": "tokens: requests * one"},
    ),
    "a width for each request is added to tokens": Hazard(
        "U304",
        "tokens + one",
        ("tokens", "one"),
        spec(_IDS.replace("[tokens]", "[tokens + one]")),
        {"tokens + one": "tokens + requests * one"},
    ),
    "what a batch brings is added to an axis of another unit": Hazard(
        "U304",
        "requests + drafts",
        ("requests", "drafts"),
        spec(
            _IDS.replace("[tokens]", "[requests + drafts]"),
            {
                DECODE: LEAST[DECODE]
                .replace(
                    "live: {",
                    "live:\n  drafts: {range: [1, rows * one], seen_in: batch.drafts}\n  ",
                )
                .replace("batch.size}}", "batch.size}")
            },
        ),
        {"requests + drafts": "requests * one + drafts"},
    ),
    "an engine counts tokens by a width for each request": Hazard(
        "U304",
        "one",
        ("tokens", "one"),
        spec(_IDS, {"audit.yaml": _AUDIT}),
        {"formula: one": "formula: rows * one"},
    ),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], hazard: str) -> None:
    golden(golden_name(hazard), check(HAZARDS[hazard], tmp_path))
