"""A source is carried only where no row of it is padded, and no graph reads its address."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.flume import FLUME
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text


def said(folder: Path, file: str = "slots.yaml", *changes: tuple[str, str]) -> str:
    """What is said of the engine, with texts of one file replaced."""
    text = FLUME[file]
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    try:
        analyse(write_spec(folder, {**FLUME, file: text}), name="mini")
    except DiagnosticError as error:
        return render_text(error.diagnostics, error.sources)
    return ""


def test_a_slot_may_be_missing_where_nothing_pads_its_rows(tmp_path: Path) -> None:
    assert said(tmp_path) == ""


def test_the_error_names_the_mode_whose_rows_are_padded_there(tmp_path: Path) -> None:
    change = ("when: together, rows", "when: together or most > 9, rows")
    text = said(tmp_path, "engine.yaml", change)
    assert text.partition("\n\n")[0] + "\n" == (
        "mini/slots.yaml:3:3: error[U629]: 'lengths' is carried where not (together), but "
        "plain_main may pad rows of mode 'drop' there\n"
        "    |\n"
        "  3 |   lengths:\n"
        "    |   ^^^^^^^\n"
        "  mini/modes/drop.yaml:1:7: mode 'drop'\n"
        "    |\n"
        "  1 | mode: drop\n"
        "    |       ^^^^\n"
        "  hint: let the slot exist, by its 'when', wherever something pads its rows\n"
        "  see: ullage error U629\n"
    )
    assert "error[U629]: 'marks' is carried" in text


@pytest.mark.parametrize(
    "change",
    [
        ("when: together, rows", "when: most > 2, rows"),
        ('"align_up(rows, 4)"', '"align_up(rows, 4) if together else max(rows, 2)"'),
    ],
    ids=["another condition", "a choice inside"],
)
def test_every_way_to_pad_counts(tmp_path: Path, change: tuple[str, str]) -> None:
    changes = (change, ("when: together, ", "")) if "together else" in change[1] else (change,)
    assert "error[U629]: 'lengths' is carried" in said(tmp_path, "engine.yaml", *changes)


@pytest.mark.parametrize("shape", ["spare", '"rows + spare"', '"max(rows, spare)"'])
@pytest.mark.parametrize(
    ("when", "is_padded"), [("", True), ("when: most > 5, ", True), ("when: together, ", False)]
)
def test_every_axis_of_the_shape_counts(
    tmp_path: Path, shape: str, when: str, is_padded: bool
) -> None:
    files = dict(FLUME)
    for name in ("modes/pour.yaml", "modes/drop.yaml"):
        axes = files[name].replace("axes: {rows: rows}", "axes: {rows: rows, spare: rows}")
        files[name] = axes.replace("[fours]", "[fours, more]")
    engine = files["engine.yaml"].replace("axes:\n", "axes:\n  spare: {doc: rows beside}\n")
    files["engine.yaml"] = f'{engine}  more: {{{when}spare: "spare + 1"}}\n'
    slots = files["slots.yaml"].replace("[rows], dtype: {acc", f"[{shape}], dtype: {{acc")
    try:
        analyse(write_spec(tmp_path, {**files, "slots.yaml": slots}), name="mini")
    except DiagnosticError as error:
        text = render_text(error.diagnostics, error.sources)
        assert is_padded
        assert "'lengths' is carried where not (together), but plain_main may pad spare" in text
    else:
        assert not is_padded


def test_a_choice_that_pads_only_where_there_is_a_slot_is_accepted(tmp_path: Path) -> None:
    changes = (
        ("when: together, ", ""),
        ('"align_up(rows, 4)"', '"align_up(rows, 4) if together else rows"'),
    )
    assert said(tmp_path, "engine.yaml", *changes) == ""


def test_a_runner_that_captures_graphs_has_the_slot_in_every_configuration(tmp_path: Path) -> None:
    change = ("warm_up", "captures: {drop: [pour]}\nwarm_up")
    text = said(tmp_path, "runners/plain.yaml", change)
    assert (
        "mini/slots.yaml:3:3: error[U629]: 'lengths' is carried where not (together), but "
        "plain_main replays graphs, which read one address" in text
    )
    assert "hint: let the slot exist in every configuration" in text
    assert "the runner captures" in text


def test_a_slot_that_is_always_there_is_never_carried(tmp_path: Path) -> None:
    change = ("casts_from: [int16], when: together, otherwise", "casts_from: [int16], otherwise")
    text = said(tmp_path, "slots.yaml", change)
    assert "slot 'lengths' exists everywhere, so 'otherwise' says nothing about it" in text
    assert "hint: say by 'when' for which configurations there is a slot" in text


def test_the_condition_of_a_group_counts(tmp_path: Path) -> None:
    slots = (
        "slots:\n"
        "  ids: {shape: [rows], dtype: int64, source: batch.ids}\n"
        "slot_groups:\n"
        "  tables:\n"
        "    doc: what is needed together\n"
        "    when: together\n"
        "    slots:\n"
        "      lengths: {shape: [rows], dtype: int32, source: batch.lengths, otherwise: carried}\n"
        "readers:\n"
        "  kernel:\n"
        "    reads: {ids: {rows: padded, fill: 5}, lengths: {rows: padded, fill: 1}}\n"
        "  marker: {reads: {ids: {rows: live}}}\n"
    )
    assert said(tmp_path, "slots.yaml", (FLUME["slots.yaml"], slots)) == ""


def test_what_load_computes_cannot_be_carried(tmp_path: Path) -> None:
    change = ("source: batch.lengths,\n     casts_from: [int16],", "value: live_rows,")
    text = said(tmp_path, "slots.yaml", ("shape: [rows], dtype: {", "shape: [1], dtype: {"), change)
    assert "slot 'lengths' has no source, so 'otherwise' says nothing about it" in text


def test_only_one_thing_can_be_otherwise(tmp_path: Path) -> None:
    text = said(tmp_path, "slots.yaml", ("otherwise: carried, range", "otherwise: left, range"))
    assert "'otherwise'" in text
    assert "expected one of carried" in text


def test_what_a_batch_brings_is_stated_for_every_configuration(tmp_path: Path) -> None:
    engine = (
        "  together: {",
        "  top: {type: int, range: [1, 9], when: together, default: 3}\n  together: {",
    )
    slots = FLUME["slots.yaml"].replace("range: [0, 99]", "range: [0, top]")
    folder = write_spec(
        tmp_path,
        {**FLUME, "engine.yaml": FLUME["engine.yaml"].replace(*engine), "slots.yaml": slots},
    )
    with pytest.raises(DiagnosticError) as caught:
        analyse(folder, name="mini")
    assert "'top' is used where its guard can be false" in render_text(
        caught.value.diagnostics, caught.value.sources
    )
