"""Groups of slots: one name in a runner for all of them, and what they have in common said once."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.specs import Files, edited, problems_of, resolved
from ullage.expr.spell import spell

GROUPS = """\
slot_groups:
  tables:
    doc: what the plan prepares
    when: sync
    modes: [decode]
    written_by: [plan, plan_elsewhere]
    slots:
      offsets: {shape: [requests + one_request], dtype: int32, range: [0, pool_tokens]}
      parts: {shape: [requests], dtype: int8, when: tp_size > 1, modes: [decode, idle]}
      marks: {shape: [requests], dtype: int8, source: batch.marks}
"""


def with_groups(text: str = GROUPS, slots: str = "[input_ids, tables]") -> Files:
    files = {**edited("runners/eager.yaml", ("slots: all", f"slots: {slots}")), "groups.yaml": text}
    definitions = "definitions:\n  one_request: {value: 1, unit: requests}\n"
    files["engine.yaml"] = files["engine.yaml"].replace("definitions:\n", definitions)
    return files


def test_a_runner_has_the_slots_of_a_group_that_it_names(tmp_path: Path) -> None:
    spec = resolved(tmp_path, with_groups())
    names = [slot.name for slot in spec.slots_of(spec.runners["eager"])]
    assert names == ["input_ids", "offsets", "parts", "marks"]


def test_a_slot_has_of_its_group_what_it_does_not_say_itself(tmp_path: Path) -> None:
    slots = resolved(tmp_path, with_groups()).slots
    offsets, parts, marks = (slots[name] for name in ("offsets", "parts", "marks"))
    assert offsets.written_by is not None
    assert offsets.written_by.steps == ("plan", "plan_elsewhere")
    assert (offsets.modes, parts.modes) == (("decode",), ("decode", "idle"))
    assert [spell(each.when) for each in (offsets, parts)] == ["sync", "sync and tp_size > 1"]
    assert marks.written_by is None


def test_a_single_slot_of_a_group_can_be_named(tmp_path: Path) -> None:
    spec = resolved(tmp_path, with_groups(slots="[input_ids, offsets]"))
    names = [slot.name for slot in spec.slots_of(spec.runners["eager"])]
    assert names == ["input_ids", "offsets"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (with_groups(slots="[input_ids, table]"), "there is no slot or group 'table'"),
        (
            with_groups(slots="[input_ids, tables, parts]"),
            "runner 'eager' has slot 'parts' twice, by itself or through a group",
        ),
        (
            with_groups(GROUPS.replace("marks: {", "input_ids: {")),
            "slot 'input_ids' has the name of another slot or group",
        ),
        (
            with_groups(GROUPS.replace("  tables:", "  input_ids:"), "[lengths]"),
            "group 'input_ids' has the name of another slot or group",
        ),
        (with_groups("slot_groups:\n  tables: {when: sync}\n"), "lacks the key 'slots'"),
        (
            with_groups(GROUPS.replace("[plan, plan_elsewhere]", "[]")),
            "'written_by' of slot 'offsets' is an empty list",
        ),
        (
            with_groups(GROUPS.replace("    modes: [decode]\n", "    modes: [decod]\n")),
            "there is no mode or family 'decod'",
        ),
    ],
)
def test_what_is_wrong_with_a_group_is_said(files: Files, expected: str, tmp_path: Path) -> None:
    assert expected in problems_of(tmp_path, files)
