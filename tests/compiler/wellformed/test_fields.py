"""A field that one place names, almost as another place does, is likely a slip."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.small_specs import SLOT, mode_text, small
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.render import render_text


def warned(folder: Path, *fields: str, named: str = "batch_size") -> str:
    """What is said where modes see their rows in `fields`, and two others in `named`."""
    modes = (
        mode_text(
            f"mode_{place}", live={"requests": "1; cap"}, requests="requests", tokens="1"
        ).replace("batch.requests", f"batch.{field}")
        for place, field in enumerate((named, named, *fields))
    )
    analysis = analyse(write_spec(folder, small(*modes, slots=(SLOT,))), name="mini")
    return render_text(analysis.warnings, analysis.sources.texts)


def test_a_slip_in_a_field_gets_the_one_that_was_meant(tmp_path: Path) -> None:
    assert warned(tmp_path, "batch_sise") == (
        "mini/mode_2.yaml:3:3: warning[U218]: nothing but live variable 'requests' of mode "
        "'mode_2' names the field 'batch.batch_sise'\n"
        "    |\n"
        '  3 |   requests: {range: ["1", "cap"], seen_in: batch.batch_sise}\n'
        "    |   ^^^^^^^^\n"
        "  mini/mode_0.yaml:3:3: 'batch.batch_size' is named here\n"
        "    |\n"
        '  3 |   requests: {range: ["1", "cap"], seen_in: batch.batch_size}\n'
        "    |   ^^^^^^^^\n"
        "  hint: did you mean 'batch.batch_size'?\n"
        "  see: ullage error U218\n"
    )


@pytest.mark.parametrize("slip", ["batch_siez", "batchsize", "batch_sizes", "bach_size"])
def test_letters_are_wrong_missing_too_many_or_exchanged(tmp_path: Path, slip: str) -> None:
    assert "did you mean 'batch.batch_size'?" in warned(tmp_path, slip)


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("rows", "batch_size"),
        ("batch_size_swa", "batch_size"),
        ("weights_b", "weights_a"),
        ("weights2", "weights1"),
        ("ab", "ac"),
    ],
)
def test_other_fields_and_siblings_are_no_slips(tmp_path: Path, field: str, named: str) -> None:
    assert warned(tmp_path, field, named=named) == ""


def test_a_number_and_a_tensor_may_be_called_almost_alike(tmp_path: Path) -> None:
    slot = "ids: {shape: [requests], dtype: int64, source: batch.lengths}"
    mode = mode_text(live={"length": "1; cap"}, requests="length", tokens="1")
    analysis = analyse(write_spec(tmp_path, small(mode, slots=(slot,))), name="mini")
    assert analysis.warnings == ()


def test_a_slip_in_the_field_of_an_extent_is_one_too(tmp_path: Path) -> None:
    slot = "ids: {shape: [requests], dtype: int64, source: batch.input_ids}"
    mode = mode_text(live={"rows": "1; cap"}, requests="rows", tokens="1")
    mode = mode.replace("batch.rows", '"batch.input_id[0]"')
    analysis = analyse(write_spec(tmp_path, small(mode, slots=(slot,))), name="mini")
    assert [each.hint for each in analysis.warnings] == [
        "is it a slip for 'batch.input_ids', or that for this?"
    ]


def test_a_field_that_several_places_name_is_meant(tmp_path: Path) -> None:
    assert warned(tmp_path, "batch_sise", "batch_sise") == ""


def test_of_two_that_are_named_once_the_later_one_is_shown(tmp_path: Path) -> None:
    found = warned(tmp_path, "lengths_seen", "lengths_sen")
    assert found.count("warning[") == 1
    assert "names the field 'batch.lengths_sen'" in found
