"""A range has a value in it wherever what it is about exists."""

from __future__ import annotations

from pathlib import Path

from support.bounds import refusal
from support.small_specs import SLOT, mode_text, small

PARAMETERS = ("cap: {type: int, range: [1, 8]}", "least: {type: int, range: [0, 8]}")
ONE = {"requests": "1", "tokens": "1"}


def said(folder: Path, bounds: str, when: str = "", slots: tuple[str, ...] = (SLOT,)) -> str:
    live = {"requests": bounds} if bounds else {}
    mode = mode_text(live=live, when=when, **ONE)
    return refusal(folder, small(mode, parameters=PARAMETERS, slots=slots))


def test_exchanged_ends_of_a_live_range_are_an_error(tmp_path: Path) -> None:
    found = said(tmp_path, "cap; 1")
    assert "/mode_0.yaml:3:21: error[U314]: the range of 'requests' of mode 'decode' " in found
    assert "can be empty: cap <= 1 can be false\n" in found
    assert "  hint: for example where cap = 2\n" in found
    assert found.count("error[") == 1


def test_a_range_that_is_empty_in_some_configuration_is_an_error(tmp_path: Path) -> None:
    assert "least <= cap - 1 can be false" in said(tmp_path, "least; cap - 1")


def test_a_range_may_be_empty_where_the_mode_does_not_occur(tmp_path: Path) -> None:
    assert said(tmp_path, "least; cap - 1", when="least < cap") == ""


def test_a_range_over_other_live_variables_may_be_empty_for_some_of_them(tmp_path: Path) -> None:
    live = {"requests": "1; cap", "others": "1; cap - requests"}
    mode = mode_text(live=live, when="cap >= 2", **ONE)
    assert refusal(tmp_path, small(mode, parameters=PARAMETERS)) == ""


def test_the_values_of_a_slot_are_in_order(tmp_path: Path) -> None:
    slot = "ids: {shape: [requests], dtype: int64, source: batch.ids, range: [cap, least]}"
    found = said(tmp_path, "1; cap", slots=(slot,))
    assert "error[U314]: the range of the values of slot 'ids' can be empty" in found
