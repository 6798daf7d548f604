"""Rows above a limit: a capture list, or a bucket, for which the engine has no room elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.hazards import (
    DECODE,
    EAGER,
    ENGINE,
    LEAST,
    Hazard,
    analysed,
    check,
    golden_name,
    refusal,
    spec,
)
from support.specs import Files
from ullage.configuration.values import complete
from ullage.diagnostics.diagnostic import DiagnosticError

_IDS = """\
slots:
  ids: {shape: [tokens], dtype: int64, source: batch.ids}
readers:
  kernel: {reads: {ids: {rows: padded, fill: 3}}}
"""
_ENGINE = LEAST[ENGINE].replace(
    "definitions:",
    "  sizes: {type: list, range: [1, 512], unit: requests, default: [1, 2, 4]}\n"
    "definitions:\n"
    '  fitting: "[size for size in sizes if size <= rows]"',
)
_CAPTURE = """\
mode: capture
live: {requests: {range: [1, max(sizes)], seen_in: batch.size}}
axes: {requests: requests, tokens: requests * one}
pipeline: []
"""
_UNPADDED = LEAST[DECODE].replace("[pad]", "[]")
_CONSTRAINT = """\
constraints:
  - {that: max(sizes) <= rows, else: a graph has no more rows than the pool}
"""
_GRAPH = """\
runner: graph
workers: [target]
modes: [decode]
slots: all
pipeline: [bucket]
accepts: [requests <= max(sizes)]
fallback: eager
limits: {requests: rows}
steps:
  - {do: load}
  - {step: replay, readers: [kernel]}
"""
_BUCKET = 'transforms:\n  bucket: {requests: "next_in(requests, sizes)"}\n'


def limited(limits: str, others: Files) -> Files:
    """Rows of the eager runner are bounded by what its engine has room for."""
    runner = f"{LEAST[EAGER]}limits: {limits}\n"
    return spec(_IDS, {ENGINE: _ENGINE, EAGER: runner, DECODE: _UNPADDED, **others})


HAZARDS = {
    "a capture list goes above the rows of the pool": Hazard(
        "U616",
        "rows",
        ("capture",),
        limited("{requests: rows}", {"capture.yaml": _CAPTURE}),
        {"max(sizes)]": '"min(max(sizes), rows)"]'},
    ),
    "a bucket goes above the rows of the pool": Hazard(
        "U616",
        "rows",
        ("decode",),
        limited("{}", {"graph.yaml": _GRAPH, "bucket.yaml": _BUCKET}),
        {"limits: {requests: rows}\nsteps": "limits: {requests: rows * 512}\nsteps"},
    ),
    "rows that padding adds go above the rows of the pool": Hazard(
        "U616",
        "rows",
        ("decode",),
        limited("{requests: rows}", {DECODE: LEAST[DECODE]}),
        {"requests: rows}": 'requests: "align_up(rows, 4)"}'},
    ),
    "a limit counts in another unit than its axis": Hazard(
        "U304",
        "rows",
        ("tokens", "rows"),
        limited("{tokens: rows}", {}),
        {"tokens: rows}": "tokens: rows * one}"},
    ),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], hazard: str) -> None:
    golden(golden_name(hazard), check(HAZARDS[hazard], tmp_path))


def test_a_constraint_leaves_capture_lists_that_fit(tmp_path: Path) -> None:
    files = limited("{requests: rows}", {"capture.yaml": _CAPTURE, "limit.yaml": _CONSTRAINT})
    analysis = analysed(tmp_path, files)
    assert complete(analysis.resolved, {"rows": 4, "sizes": [2, 4]})["rows"] == 4
    with pytest.raises(DiagnosticError, match="a graph has no more rows than the pool"):
        complete(analysis.resolved, {"rows": 4, "sizes": [2, 5]})


def test_a_list_that_is_filtered_by_the_rows_stays_within_them(tmp_path: Path) -> None:
    filtered = _CAPTURE.replace("max(sizes)", "max(fitting)")
    files = limited("{requests: rows}", {"capture.yaml": filtered})
    assert refusal(tmp_path, files).text == ""


def test_a_list_that_no_limit_bounds_is_told(tmp_path: Path) -> None:
    unstated = _GRAPH.replace("limits: {requests: rows}\n", "")
    graph = unstated.replace("modes: [decode]", "modes: [decode, capture]\naccepts_all: [capture]")
    files = {
        ENGINE: _ENGINE,
        DECODE: _UNPADDED,
        "capture.yaml": _CAPTURE,
        "graph.yaml": graph,
        "bucket.yaml": _BUCKET,
    }
    files[EAGER] = LEAST[EAGER].replace("modes: all", "modes: [decode]")
    (warning,) = analysed(tmp_path, spec(_IDS, files)).warnings
    assert warning.code == "U627"
    assert "makes room for requests by the list 'sizes'" in warning.message
