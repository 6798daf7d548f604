"""Counterexamples with lists, varying parameters and totals over requests are real ones."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from support.audits import SMALL, Audited, audited, stating
from ullage.diagnostics.diagnostic import DiagnosticError

_ENGINE = """\
ullage: 1
engine: small
axes:
  requests: {unit: requests}
  tokens: {unit: tokens}
workers:
  target: {doc: the served model}
parameters:
  rows: {type: int, range: [1, 6], unit: requests, default: 3}
  pool: {type: int, range: [1, 20], unit: tokens, default: 12}
  longest: {type: int, range: [1, 9], unit: tokens, default: 5}
  buckets: {type: list, range: [1, 8], unit: requests, default: [4, 8]}
  widths: {type: list, range: [1, 4], unit: tokens/requests, default: [2, 3]}
  width: {type: int, range: [1, 4], unit: tokens/requests, varies: widths, default: 2}
constraints:
  - {that: rows <= max(buckets), else: the largest bucket takes all rows}
definitions:
  one: {value: 1, unit: tokens/requests}
"""

_REST = """\
transforms:
  bucket: {requests: "next_in(requests, buckets)"}
slots:
  ids: {shape: [tokens], dtype: int64, source: batch.ids, range: [0, 9]}
  lengths: {shape: [requests], dtype: int32, source: batch.lengths, range: [0, 9]}
  indices:
    {shape: [sum_requests(length)], dtype: int32, source: batch.indices, range: [0, 9]}
readers:
  embedding:
    reads: {ids: {rows: live}, lengths: {rows: live}, indices: {rows: live}}
"""

_DECODE = """\
mode: decode
live:
  requests: {range: [1, rows], seen_in: batch.size}
  length: {per: requests, range: [1, longest], seen_in: assumed}
  where: [sum_requests(length) <= pool]
axes: {requests: requests, tokens: requests * width}
pipeline: [bucket]
"""

FILES = {**SMALL, "engine.yaml": _ENGINE, "rest.yaml": _REST, "decode.yaml": _DECODE}


def of_one(folder: Path, formula: str) -> Audited:
    return audited(folder, stating(f"{formula}, expect: proved", files=FILES))


def test_a_bucket_above_all_rows_is_found(tmp_path: Path) -> None:
    (report,) = of_one(tmp_path, "axis: requests, formula: rows").report.formulas
    example = report.of("decode").counterexamples[0]
    buckets = example.parameters["buckets"]
    assert isinstance(buckets, tuple)
    assert (example.parameters["rows"], example.stated) == (1, 1)
    assert example.extent == min(each for each in buckets if each >= 1) > 1


def test_the_width_that_a_batch_has_is_one_of_the_list(tmp_path: Path) -> None:
    (report,) = of_one(tmp_path, 'axis: tokens, formula: "rows * width"').report.formulas
    example = report.of("decode").counterexamples[0]
    widths = example.parameters["widths"]
    assert isinstance(widths, tuple)
    assert example.live["width while serving"] in widths
    assert example.parameters["width"] in widths
    assert example.extent == example.live["requests"] * example.live["width while serving"]


def test_the_largest_width_is_enough(tmp_path: Path) -> None:
    found = of_one(tmp_path, 'axis: tokens, formula: "rows * upper(width)"')
    assert found.report.formulas[0].of("decode").verdict == "proved"


@pytest.mark.slow
def test_a_total_over_the_requests_is_bounded_by_the_pool(tmp_path: Path) -> None:
    short = 'slot: indices, formula: "pool - 1"'
    (report,) = of_one(tmp_path / "short", short).report.formulas
    example = report.of("decode").counterexamples[0]
    assert (example.extent, example.stated) == (1, 0)
    assert example.live["sum of length over the requests"] == 1
    enough = of_one(tmp_path / "enough", "slot: indices, formula: pool")
    assert enough.report.formulas[0].overall == "wastes"


def test_a_total_may_be_counted_as_requests_times_the_most_of_each(tmp_path: Path) -> None:
    found = of_one(tmp_path / "most", 'slot: indices, formula: "rows * longest"')
    assert found.report.formulas[0].of("decode").verdict == "proved"
    with pytest.raises(DiagnosticError, match="expected tokens, found requests"):
        of_one(tmp_path / "rows", "slot: indices, formula: rows")


_PAGED = """\
  pages:
    {shape: ["sum_requests(cdiv(length, page))"], dtype: int32, source: batch.pages, range: [0, 9]}
"""


def paged(folder: Path, formula: str) -> Audited:
    """The audit of one formula for a slot that has an entry for each page of each request."""
    files = {
        **FILES,
        "engine.yaml": _ENGINE.replace(
            "constraints:", "  page: {type: int, range: [1, 4]}\nconstraints:"
        ),
        "rest.yaml": _REST.replace("readers:\n", f"{_PAGED}readers:\n").replace(
            "indices: {rows: live}}", "indices: {rows: live}, pages: {rows: live}}"
        ),
    }
    text = f'slot: pages, formula: "{formula}", expect: proved'
    return audited(folder, stating(text, files=files))


@pytest.mark.slow
def test_pages_of_a_counterexample_are_those_of_some_lengths(tmp_path: Path) -> None:
    (report,) = paged(tmp_path, "cdiv(pool, page)").report.formulas
    example = report.of("decode").counterexamples[0]
    page = example.parameters["page"]
    count, total = example.live["requests"], example.live["sum of length over the requests"]
    assert isinstance(page, int)
    longest = example.parameters["longest"]
    assert isinstance(longest, int)
    lengths = itertools.product(range(1, longest + 1), repeat=count)
    reached = {sum(-(-x // page) for x in each) for each in lengths if sum(each) == total}
    assert example.extent in reached
    assert example.minimal


@pytest.mark.slow
def test_the_exact_number_of_pages_is_enough(tmp_path: Path) -> None:
    rows = "min(rows * one, pool)"
    exact = f"{rows} + (pool - {rows}) // page"
    (report,) = paged(tmp_path, exact).report.formulas
    assert report.of("decode").verdict == "proved"


def test_a_waste_that_leaves_another_list_empty_is_left_open(tmp_path: Path) -> None:
    engine = SMALL["engine.yaml"].replace(
        "constraints:",
        "  marks: {type: list, range: [1, 4], unit: requests, default: [4]}\nconstraints:",
    )
    kept = '  kept: "[mark for mark in marks if mark >= rows]"\n'
    files = {**SMALL, "engine.yaml": engine + kept}
    formula = "axis: requests, when: not padded, formula: rows + 1 if rows == 5 else rows"
    found = audited(tmp_path, stating(f"{formula}, expect: proved", files=files))
    (report,) = found.report.formulas
    assert report.of("decode").verdict == "proved"
    assert report.of("decode").wastes is None
    assert report.wastes == ()
