"""Padded rows that write through an index: the place they name must be no live row's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.hazards import (
    EAGER,
    LEAST,
    SLOTS,
    Hazard,
    check,
    golden_name,
    imported,
    refusal,
    spec,
)
from support.sglang_parts import eager_part
from support.shared import SGLANG, sglang, shared_memory
from support.specs import Files
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage_runtime.errors import BatchError


def places(
    live: str,
    read: str,
    values: str = "[0, 99]",
    key: str = "range",
    others: Files | None = None,
) -> Files:
    """A kernel that stores what each row brings into the place that the row names."""
    text = (
        "slots:\n"
        f"  places: {{shape: [tokens], dtype: int64, source: batch.places, "
        f"{key}: {values}{live}}}\n"
        "readers:\n"
        f"  kernel: {{reads: {{places: {{rows: padded, {read}}}}}}}\n"
    )
    return spec(text, others)


def _written(files: Files) -> Files:
    """The same where a step writes what load has brought, padded rows included."""
    text = files[SLOTS].replace("source: batch.places", "written_by: point")
    steps = LEAST[EAGER].replace("  - {step: forward", "  - {step: point}\n  - {step: forward")
    return {**files, SLOTS: text, EAGER: steps}


def _only_live(files: Files) -> Files:
    """The same with a kernel that stores live rows alone."""
    padded = "rows: padded, fill: 0"
    return {path: text.replace(padded, "rows: live") for path, text in files.items()}


LIVE = ", live_range: [1, 99]"
WRITES = "fill: 0, scatters: true"
_TWO_READERS = LEAST[EAGER].replace("[kernel]", "[kernel, copier]")
_COPIER = "readers:\n  copier: {reads: {places: {rows: padded, range: [0, 9], scatters: true}}}\n"

HAZARDS = {
    "padding fills with a place of a live row": Hazard(
        "U615",
        "places",
        ("[1, 99]",),
        places(LIVE, "fill: 7, scatters: true"),
        {"fill: 7": "fill: 0"},
    ),
    "the dummy of padding has no place of its own": Hazard(
        "U615",
        "places",
        ("[0, 99]",),
        places(", live_range: [0, 99]", WRITES),
        {"[0, 99], live": "[0, 100], live", "fill: 0": "fill: 100"},
    ),
    "nothing says which places live rows never name": Hazard(
        "U615", "places", ("places",), places("", WRITES), {"[0, 99]": f"[0, 99]{LIVE}"}
    ),
    "padding may hold any place in a range": Hazard(
        "U615",
        "places",
        ("[1, 99]",),
        places(LIVE, "range: [0, 9], scatters: true"),
        {"range: [0, 9]": "range: [0, 0]"},
    ),
    "the place of padding is free in some configurations only": Hazard(
        "U615",
        "places",
        ("[1, rows * 1]",),
        places(", live_range: [1, rows * 1]", "fill: 64, scatters: true"),
        {"fill: 64": "fill: 65"},
    ),
    "one of two writers would take a live place": Hazard(
        "U615",
        "places",
        ("[1, 99]",),
        places(LIVE, "fill: 0", others={EAGER: _TWO_READERS, "copier.yaml": _COPIER}),
        {"range: [0, 9]": "range: [0, 0]"},
    ),
    "padding names the last place by an index below 0": Hazard(
        "U615",
        "places",
        ("places",),
        places(", live_range: [0, 99]", "fill: -1, scatters: true", values="[-1, 100]"),
        {"fill: -1": "fill: 100"},
    ),
    "padding may hold a place below 0": Hazard(
        "U615",
        "places",
        ("places",),
        places(LIVE, "range: [-1, 0], scatters: true", values="[-1, 99]"),
        {"range: [-1, 0]": "range: [0, 0]"},
    ),
    "live rows may name a place below 0": Hazard(
        "U615",
        "[-1, 99]",
        ("places",),
        places(", live_range: [-1, 99]", "fill: 100, scatters: true", values="[-1, 100]"),
        {"live_range: [-1, 99]": "live_range: [0, 99]"},
    ),
    "a writer of live rows only is named a place below 0": Hazard(
        "U615",
        "[8 - rows * 1, 99]",
        ("places",),
        _only_live(places("", WRITES, values="[8 - rows * 1, 99]")),
        {"[8 - rows * 1, 99]": "[64 - rows * 1, 99]"},
    ),
    "a step writes a place of a live row into padded rows": Hazard(
        "U615",
        "places",
        ("[1, 99]",),
        _written(places(LIVE, "fill: 7, scatters: true")),
        {"fill: 7": "fill: 0"},
    ),
    "live places lie outside of the values": Hazard(
        "U607",
        "[1, 100]",
        ("[0, 99]",),
        places(", live_range: [1, 100]", WRITES),
        {"[1, 100]": "[1, 99]"},
    ),
    "no place is left for live rows": Hazard(
        "U314",
        "[1, 0]",
        (),
        places(", live_range: [1, 0]", WRITES),
        {"[1, 0]": "[1, 1]"},
    ),
    "live places are a part of nothing": Hazard(
        "U213",
        "live_range",
        (),
        places("", WRITES, values="[1, 99]", key="live_range"),
        {"live_range:": "range: [0, 99], live_range:"},
    ),
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], hazard: str) -> None:
    golden(golden_name(hazard), check(HAZARDS[hazard], tmp_path))


def test_a_reader_that_does_not_write_may_find_a_live_place(tmp_path: Path) -> None:
    assert refusal(tmp_path, places(LIVE, "fill: 7")).text == ""


def test_a_writer_of_live_rows_only_needs_no_place_for_padding(tmp_path: Path) -> None:
    assert refusal(tmp_path, _only_live(places("", WRITES))).text == ""


def test_who_only_reads_may_find_values_below_0(tmp_path: Path) -> None:
    assert refusal(tmp_path, places("", "fill: -1", values="[-1, 99]")).text == ""


@pytest.mark.slow
@given(low=st.integers(-3, 9), length=st.integers(0, 6), fill=st.integers(-6, 18))
@settings(max_examples=20)
def test_exactly_a_fill_from_0_on_outside_of_the_live_places_is_taken(
    tmp_path_factory: pytest.TempPathFactory, low: int, length: int, fill: int
) -> None:
    live = f", live_range: [{low}, {low + length}]"
    files = places(live, f"fill: {fill}, scatters: true", values="[-6, 18]")
    found = refusal(tmp_path_factory.mktemp("places"), files)
    is_live, below = low <= fill <= low + length, low < 0 or fill < 0
    assert {each.code for each in found.errors} == ({"U615"} if is_live or below else set())


def test_debug_mode_refuses_a_live_row_that_names_the_place_of_padding(tmp_path: Path) -> None:
    package = imported(tmp_path, "hazard_places", places(LIVE, WRITES))
    runner = package.EagerTargetRunner(package.Config.of(rows=6), device="cpu", debug=True)
    live = package.LiveBatch(mode=package.Mode.DECODE, size=3, places=torch.tensor([5, 99, 1]))
    assert runner.load(live).places.tolist() == [5, 99, 1, 0]
    stray = package.LiveBatch(mode=package.Mode.DECODE, size=3, places=torch.tensor([5, 0, 1]))
    with pytest.raises(BatchError, match="places holds 0 at element 1, outside"):
        runner.load(stray)


_KV_WRITE = "out_cache_loc: {rows: padded, fill: 0, scatters: true}"


@pytest.mark.slow
def test_padding_of_sglang_writes_into_the_reserved_slot() -> None:
    assert _KV_WRITE in (SGLANG / "slots.yaml").read_text()
    assert sglang().plan.runners  # nothing is planned where padding overwrites what counts


@pytest.mark.slow
@pytest.mark.parametrize("fill", ["1", "max_total_tokens"])
def test_padding_of_sglang_may_write_nowhere_else(tmp_path: Path, fill: str) -> None:
    folder = eager_part(tmp_path)
    slots = folder / "slots.yaml"
    text = slots.read_text()
    assert _KV_WRITE in text
    slots.write_text(text.replace(_KV_WRITE, _KV_WRITE.replace("fill: 0", f"fill: {fill}")))
    with pytest.raises(DiagnosticError) as caught:
        analyse(folder, name="part", memory=shared_memory())  # both have the same capacities
    errors = [each.code for each in caught.value.diagnostics if each.severity == "error"]
    assert errors == ["U615"]
