"""What an audit expects, and the diagnostics when it comes out otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.audits import SMALL, audited, stating

IDLE = """\
mode: idle
live: {}
axes: {requests: 0, tokens: 0}
"""

FILES = {**SMALL, "idle.yaml": IDLE}
SOUND = "align_up(rows, 4)"


def problems(folder: Path, formula: str, expect: str) -> list[str]:
    text = f'axis: requests, formula: "{formula}", expect: {expect}'
    found = audited(folder, stating(text, files=FILES))
    return [f"{each.code}: {each.message}" for each in found.report.diagnostics]


@pytest.mark.parametrize(
    ("formula", "expect"),
    [
        (SOUND, "proved"),
        (SOUND, "wastes"),
        (SOUND, "{decode: wastes, idle: wastes}"),
        (SOUND, "{else: wastes}"),
        ("rows", "overflows"),
        ("rows", "{decode: overflows, else: proved}"),
        ("rows", "{decode: overflows, idle: proved}"),
        ("align_up(rows, step) if padded else rows", "proved"),
    ],
)
@pytest.mark.slow
def test_what_is_expected_passes(tmp_path: Path, formula: str, expect: str) -> None:
    assert problems(tmp_path, formula, expect) == []


def test_an_overflow_that_is_not_expected_is_shown_with_its_batch(tmp_path: Path) -> None:
    assert problems(tmp_path, "rows", "{decode: wastes, else: proved}") == [
        "U801: audit 'stated', eager_target.requests in mode 'decode': expected 'wastes', but a "
        "batch takes 2 where the formula gives 1: rows = 1, step = 2, padded = true, requests = 1"
    ]


def test_an_overflow_that_does_not_occur_is_an_error(tmp_path: Path) -> None:
    assert problems(tmp_path, "rows", "{idle: overflows}") == [
        "U801: audit 'stated', eager_target.requests in mode 'idle': expected 'overflows', but "
        "every batch fits"
    ]


def test_waste_that_does_not_occur_is_an_error(tmp_path: Path) -> None:
    exact = "align_up(rows, step) if padded else rows"
    assert problems(tmp_path, exact, "wastes") == [
        "U801: audit 'stated', eager_target.requests: expected 'wastes', but it is nowhere more "
        "than is needed"
    ]


def test_an_error_points_at_the_formula(tmp_path: Path) -> None:
    text = 'axis: requests, formula: "rows", expect: proved'
    found = audited(tmp_path, stating(text, files=FILES))
    (error,) = found.report.diagnostics
    assert (Path(error.place.file).name, error.place.line) == ("stated.yaml", 4)


def test_a_formula_about_a_slot_counts_its_elements(tmp_path: Path) -> None:
    sides = ("3 * rows * width", "3 * align_up(rows * width, 4)", "3 * 15 * 2")
    formulas = [f'slot: grid, formula: "{each}", expect: proved' for each in sides]
    found = audited(tmp_path, stating(*formulas))
    short, enough, much = found.report.formulas
    assert short.of("decode").counterexamples[0].guards == ("padded",)
    assert (enough.overall, much.overall) == ("wastes", "wastes")
    assert much.wastes[0].stated == 90
    assert much.wastes[0].bytes_by_device == {"host": (90 - 9) * 4}
