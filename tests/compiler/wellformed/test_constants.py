"""Slots that are written once hold nothing that a batch could change."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.dipper import DIPPER
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text


def said(folder: Path, *changes: tuple[str, str]) -> str:
    """What is said of the engine, with texts of its slots replaced."""
    slots = DIPPER["slots.yaml"]
    for before, after in changes:
        assert before in slots
        slots = slots.replace(before, after)
    try:
        analyse(write_spec(folder, {**DIPPER, "slots.yaml": slots}), name="mini")
    except DiagnosticError as error:
        return render_text(error.diagnostics, error.sources)
    return ""


def test_what_follows_from_the_configuration_is_accepted(tmp_path: Path) -> None:
    assert said(tmp_path) == ""


def test_the_error_names_what_a_batch_brings(tmp_path: Path) -> None:
    assert said(tmp_path, ("value: context}", "value: live_rows}")) == (
        "mini/slots.yaml:9:88: error[U628]: slot 'ends' is written once at the start, but its "
        "value is another one for each batch: it depends on 'live_rows'\n"
        "    |\n"
        "  9 |   ends: {shape: [3], dtype: int32, device: host, modes: [pour], lifetime: once, "
        "value: live_rows}\n"
        "    |                                                                                 "
        "       ^^^^^^^^^\n"
        "  hint: use parameters and definitions only, or leave out 'lifetime: once'\n"
        "  see: ullage error U628\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "brought"),
    [
        (
            "value: index * page",
            "value: index * padded_rows",
            "value",
        ),
        ("value: context}", "value: depth}", "value"),
        ("{shape: [3]", "{shape: [rows]", "extent"),
    ],
    ids=["a padded extent", "a parameter that varies", "an axis"],
)
def test_neither_value_nor_extents_depend_on_batches(
    tmp_path: Path, before: str, after: str, brought: str
) -> None:
    text = said(tmp_path, (before, after))
    assert "error[U628]" in text
    assert f"but its {brought} is another one for each batch" in text


def test_every_element_is_among_the_values_of_the_slot(tmp_path: Path) -> None:
    text = said(tmp_path, ("range: [0, context - 1]", 'range: [0, "max(context - 2, 0)"]'))
    assert "error[U607]" in text
    assert "slot 'firsts' is written once with index * page, which can be outside of" in text
    assert "position 'index' = 1" in text


def test_every_element_fits_the_dtypes_of_a_slot_without_values(tmp_path: Path) -> None:
    text = said(tmp_path, ("accelerator: int16", "accelerator: int8"))
    assert "error[U603]" in text
    assert "outside of its dtype int8" in text


def test_every_element_has_a_value(tmp_path: Path) -> None:
    text = said(tmp_path, ("value: index * page", "value: context // index"))
    assert "error[U306]" in text
    assert "index" in text


def test_a_constant_needs_a_value(tmp_path: Path) -> None:
    text = said(tmp_path, (", lifetime: once, value: context}", ", lifetime: once}"))
    assert "slot 'ends' is written once at the start: expected a 'value' for its elements" in text


def test_only_a_constant_has_elements_of_its_own(tmp_path: Path) -> None:
    text = said(
        tmp_path, ("lifetime: once, each: index, value: index * page", "each: index, value: 3")
    )
    assert "slot 'firsts' is loaded, so 'each' says nothing about it" in text


def test_the_name_of_a_position_hides_none(tmp_path: Path) -> None:
    text = said(tmp_path, ("each: index, value: index * page", "each: page, value: page"))
    assert "'page' cannot be 'each' of slot 'firsts': it is a parameter already" in text


def test_a_constant_has_no_padded_rows(tmp_path: Path) -> None:
    text = said(tmp_path, ("firsts: {rows: live}", "firsts: {rows: padded, fill: 0}"))
    assert "error[U624]" in text
