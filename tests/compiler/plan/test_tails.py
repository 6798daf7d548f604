"""Tails belong to readers: what stands in padded rows follows from who reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.plans import READERS, RUNNER, SLOTS, TINY, planned, tiny
from support.specs import Files, with_file

PLANNER = "  planner:\n    reads: {lengths: {rows: padded, fill: 1}}\n"


def second_reader(reads: str, *, when: str = "true", files: Files = TINY) -> Files:
    """The tiny spec with one more reader, `checker`, beside the planner."""
    reader = f'\nreaders:\n  checker: {{when: "{when}", reads: {{lengths: {reads}}}}}\n'
    beside = ("readers: [planner, extend_planner]", "readers: [planner, extend_planner, checker]")
    changed = {**files, RUNNER: files[RUNNER].replace(*beside)}
    return with_file("checker.yaml", reader, files=changed)


def test_a_reader_that_no_step_names_still_finds_what_it_wants(tmp_path: Path) -> None:
    reader = "readers: {looker: {reads: {grid: {rows: padded, fill: 1}}}}\n"
    found = planned(tmp_path, with_file("looker.yaml", reader, files=TINY))
    assert found.problems == ""
    assert found.tail("grid", "decode") == "1"


def test_a_tail_is_untouched_where_readers_look_at_live_rows_only(tmp_path: Path) -> None:
    reader = "readers: {looker: {reads: {grid: {rows: live}}}}\n"
    found = planned(tmp_path, with_file("looker.yaml", reader, files=TINY))
    assert found.problems == ""
    assert found.tail("grid", "decode") == "untouched"
    assert found.slots()["grid"].tails["decode"].readers == ()


def test_a_slot_that_no_reader_mentions_is_filled(tmp_path: Path) -> None:
    found = planned(tmp_path)
    assert found.problems == ""
    assert found.tail("grid", "decode") == "0"
    assert found.slots()["grid"].tails["decode"].readers == ()


def test_a_tail_holds_what_its_reader_fills_in(tmp_path: Path) -> None:
    found = planned(tmp_path)
    assert found.tail("lengths", "decode") == "1"
    assert found.tail("starts", "extend") == "live_tokens"
    assert found.slots()["lengths"].tails["decode"].readers == ("planner",)


def test_a_slot_has_tails_for_the_modes_that_load_it(tmp_path: Path) -> None:
    slots = planned(tmp_path).slots()
    assert list(slots["starts"].tails) == ["extend"]
    assert list(slots["lengths"].tails) == ["decode", "extend"]


def test_a_reader_of_a_range_gets_zero_where_that_is_inside(tmp_path: Path) -> None:
    assert planned(tmp_path).tail("ids", "decode") == "0"


@pytest.mark.parametrize(
    ("allowed", "fill"),
    [
        ("[7, 999]", "7"),
        ("[step, 999]", "step"),
        ("[-5, 999]", "0"),
        ("[sink - 5, 999]", "sink - 5"),
    ],
)
def test_a_reader_of_a_range_without_zero_gets_its_least_value(
    tmp_path: Path, allowed: str, fill: str
) -> None:
    files = tiny(READERS, ("range: [0, 999]", f"range: {allowed}"))
    files = {**files, SLOTS: files[SLOTS].replace("range: [0, 999]", "range: [-9, 999]")}
    assert planned(tmp_path, files).tail("ids", "decode") == fill


def test_ranges_of_several_readers_meet_in_one_value(tmp_path: Path) -> None:
    files = tiny(READERS, ("{rows: padded, fill: 1}", "{rows: padded, range: [2, 9]}"))
    found = planned(tmp_path, second_reader("{rows: padded, range: [step, 70]}", files=files))
    assert found.problems != ""
    files = second_reader("{rows: padded, range: [5, 70]}", files=files)
    found = planned(tmp_path, files)
    assert (found.problems, found.tail("lengths", "decode")) == ("", "5")
    assert found.slots()["lengths"].tails["decode"].readers == ("planner", "checker")


@pytest.mark.parametrize("same", ["1", "2 - 1", "min(step, 1)", "1 if drafting else one // one"])
def test_readers_agree_on_fills_that_are_provably_equal(tmp_path: Path, same: str) -> None:
    found = planned(tmp_path, second_reader(f'{{rows: padded, fill: "{same}"}}'))
    assert found.problems == ""
    assert found.slots()["lengths"].tails["decode"].readers == ("planner", "checker")


def test_a_fill_that_lies_in_the_range_of_another_reader_serves_both(tmp_path: Path) -> None:
    found = planned(tmp_path, second_reader("{rows: padded, range: [1, 50]}"))
    assert (found.problems, found.tail("lengths", "decode")) == ("", "1")


def test_readers_that_exclude_each_other_each_get_their_fill(tmp_path: Path) -> None:
    files = tiny(READERS, ("  planner:\n", "  planner:\n    when: not drafting\n"))
    files = second_reader("{rows: padded, fill: 5}", when="drafting", files=files)
    found = planned(tmp_path, files)
    assert found.problems == ""
    assert found.tail("lengths", "extend") == "5 if drafting else 1"
    assert found.tail("lengths", "decode", "eager_draft") == "5"


def test_where_no_reader_looks_a_guarded_fill_is_not_evaluated(tmp_path: Path) -> None:
    files = tiny(READERS, ("  planner:\n", "  planner:\n    when: not drafting and step > 4\n"))
    files = second_reader("{rows: padded, fill: width}", when="drafting", files=files)
    found = planned(tmp_path, files)
    assert found.problems == ""
    expected = "1 if not drafting and step > 4 else width if drafting else 0"
    assert found.tail("lengths", "extend") == expected


def test_a_reader_of_other_modes_has_no_say(tmp_path: Path) -> None:
    reader = "{modes: [extend], reads: {lengths: {rows: padded, fill: 7}}}"
    files = tiny(READERS, ("  planner:\n", f"  other: {reader}\n  planner:\n    modes: [decode]\n"))
    files = {**files, RUNNER: files[RUNNER].replace("[planner,", "[planner, other,")}
    found = planned(tmp_path, files)
    assert found.problems == ""
    assert [found.tail("lengths", mode) for mode in ("decode", "extend")] == ["1", "7"]


def test_a_reader_at_a_step_without_padded_rows_has_no_say(tmp_path: Path) -> None:
    rows = ("{step: prepare, when: replan,", "{step: prepare, padded: false,")
    assert planned(tmp_path, tiny(RUNNER, rows)).tail("lengths", "decode") == "untouched"


def test_a_step_that_never_runs_has_no_readers(tmp_path: Path) -> None:
    never = ("when: replan,", "when: replan and step > 64,")
    assert planned(tmp_path, tiny(RUNNER, never)).tail("lengths", "decode") == "untouched"


def test_facts_of_the_engine_do_not_enter_a_fill(tmp_path: Path) -> None:
    when = ("when: replan,", "when: replan and drafting,")
    found = planned(tmp_path, tiny(RUNNER, when))
    assert found.problems == ""
    assert found.tail("lengths", "decode") == "1"


def test_a_step_in_a_group_brings_its_readers(tmp_path: Path) -> None:
    found = planned(tmp_path)
    assert found.slots()["ids"].tails["extend"].readers == ("embedding",)


CONTRADICTIONS: dict[str, Files] = {
    "two fills differ": second_reader("{rows: padded, fill: 0}"),
    "two fills differ for some configuration": second_reader("{rows: padded, fill: step}"),
    "two fills differ where both readers read": second_reader(
        "{rows: padded, fill: 9}", when="drafting and step > 12"
    ),
    "a fill differs between live and padded rows": second_reader(
        "{rows: padded, fill: padded_requests}",
        files=tiny(READERS, ("fill: 1", "fill: live_requests")),
    ),
    "a fill lies outside of the range of another reader": second_reader(
        "{rows: padded, range: [2, 50]}"
    ),
    "ranges do not meet": second_reader(
        "{rows: padded, range: [8, 70]}", files=tiny(READERS, ("fill: 1", "range: [2, 7]"))
    ),
    "a range does not meet the values of the slot": tiny(
        READERS, ("range: [0, 999]", "range: [1000, 1999]")
    ),
    "the mode does not load what is read": tiny(
        READERS, ("  extend_planner:\n    modes: [extend]\n", "  extend_planner:\n")
    ),
    "the runner does not own what is read": tiny(
        RUNNER, ("slots: all", "slots: [ids, starts, live_count]")
    ),
    "a reader reads something of its runner": tiny(
        RUNNER, ("slots: all", "slots: [ids, lengths, starts]")
    ),
    "a slot without rows has no padded ones": tiny(
        READERS, ("live_count: {rows: live}", "live_count: {rows: padded, fill: 0}")
    ),
    "a fill is among the values of the slot": tiny(READERS, ("fill: 1", "fill: -1")),
    "a fill is among the values of the slot for each configuration": tiny(
        READERS, ("fill: 1", "fill: step * 160")
    ),
    "a fill of live rows is among the values of the slot": tiny(
        SLOTS, ("range: [0, 2^31]", "range: [0, 4096]")
    ),
    "a fill fits the dtype of the slot": {
        **tiny(READERS, ("fill: 1", "fill: 2")),
        SLOTS: TINY[SLOTS].replace(
            "int32, source: batch.lengths, range: [0, 9999]", "bool, source: batch.lengths"
        ),
    },
}


@pytest.mark.parametrize("rule", CONTRADICTIONS)
@pytest.mark.slow
def test_contradictions_name_both_sides(
    tmp_path: Path, golden: Callable[[str, str], None], rule: str
) -> None:
    shown = planned(tmp_path, CONTRADICTIONS[rule]).problems
    assert "error[U6" in shown
    golden(f"plan/{rule.replace(' ', '_')}.txt", shown)


def test_a_contradiction_of_several_modes_and_workers_is_told_once(tmp_path: Path) -> None:
    shown = planned(tmp_path, CONTRADICTIONS["two fills differ"]).problems
    assert shown.count("error[") == 1


NEVER_TOGETHER = (
    (SLOTS, "modes: [extend], range: [0, 2^31]", "modes: [extend], when: drafting"),
    (READERS, "    modes: [extend]\n", ""),
)
"""The planner of extends plans decodes too, and its slot is there while drafting only."""


@pytest.mark.parametrize(("when", "missed"), [("", True), ("when: not drafting\n", False)])
def test_a_slot_that_a_mode_does_not_load_is_missed_only_where_both_are_there(
    tmp_path: Path, when: str, missed: bool
) -> None:
    files = dict(TINY)
    for path, old, new in (*NEVER_TOGETHER, ("decode.yaml", "live:", f"{when}live:")):
        assert old in files[path]
        files[path] = files[path].replace(old, new)
    problems = planned(tmp_path, files).problems
    message = "reads padded rows of 'starts', which mode 'decode' does not load"
    assert (message in problems) is missed
