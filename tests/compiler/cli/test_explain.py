"""`ullage explain`: what it leaves out because it is so anyway, or not so in the configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import Run
from support.sglang_parts import eager_part
from support.tank import write_tank
from ullage.bound.problem import Domain, Variable
from ullage.commands.readable import readable
from ullage.expr.parse import parse
from ullage.expr.spell import spell
from ullage.expr.tree import TRUE, Integer
from ullage.place import BUILT_IN


def configured(text: str) -> str:
    Path("settings.yaml").write_text(text)
    return "settings.yaml"


@pytest.mark.parametrize("name", ["eager_draft.tokens", "eager_draft.positions"])
def test_a_runner_that_the_configuration_lacks_is_said_to_be_lacking(
    name: str, tank: Path, ullage: Run
) -> None:
    ran = ullage("explain", "tank", name, "--config", configured("drafts: false\n"))
    assert ran.code == 0
    assert "there is no eager_draft: not drafts\n" in ran.out
    assert "undefined" not in ran.out
    assert "derived" not in ran.out
    assert "obligations" not in ran.out


@pytest.mark.slow
def test_modes_that_the_configuration_lacks_are_named_only(ullage: Run) -> None:
    write_tank(Path(), {"modes/extend.yaml": ("worker == target", "worker == target and drafts")})
    arguments = ("explain", "tank", "eager_target.tokens")
    assert "mode extend" in ullage(*arguments).out
    shown = ullage(*arguments, "--config", configured("drafts: false\n")).out
    assert "mode decode" in shown
    assert "mode extend" not in shown
    assert "not in this configuration: extend\n" in shown
    slot = ullage("explain", "tank", "eager_target.positions", "--config", "settings.yaml").out
    assert "\n  decode\n" in slot
    document = json.loads(ullage(*arguments, "--config", "settings.yaml", "--json").out)
    assert [(each["mode"], each["occurs"]) for each in document["modes"]] == [
        ("decode", True),
        ("extend", False),
    ]


def test_of_a_capacity_only_the_modes_that_are_asked_for_are_shown(tank: Path, ullage: Run) -> None:
    arguments = ("explain", "tank", "eager_target.tokens", "--mode")
    shown = ullage(*arguments, "extend").out
    assert "capacity" in shown
    assert "\nmode extend" in shown
    assert "\nmode decode" not in shown
    both = ullage(*arguments, "extend", "--mode", "decode", "--json").out
    assert [each["mode"] for each in json.loads(both)["modes"]] == ["decode", "extend"]


@pytest.mark.parametrize(
    ("name", "mode", "message"),
    [
        ("eager_target.tokens", "extnd", "has no mode or family 'extnd'; did you mean 'extend'?"),
        ("eager_target.tokens", "x", "has no mode or family 'x'; there are decode, extend"),
        ("eager_target.positions", "extend", "is the maximum of no modes"),
    ],
)
def test_a_mode_that_a_subject_does_not_have_is_wrong_usage(
    name: str, mode: str, message: str, tank: Path, ullage: Run
) -> None:
    ran = ullage("explain", "tank", name, "--mode", mode)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_a_transform_that_changes_nothing_repeats_no_formula(ullage: Run) -> None:
    changed = "    tokens: align_up(tokens, tp_size)"
    write_tank(Path(), {"transforms.yaml": (changed, "    tokens: max(tokens, 0)")})
    shown = ullage("explain", "tank", "eager_draft.tokens").out
    assert "max(" not in shown
    assert "unchanged" in shown


@pytest.mark.slow
def test_an_idle_rank_shows_only_what_its_extent_rests_on(ullage: Run) -> None:
    arguments = ("explain", str(eager_part(Path("part"))), "eager_draft.requests")
    shown = ullage(*arguments).out
    assert ", 0)" not in shown
    assert "requests@eagle_draft.2" not in shown
    assert "requests@eagle_draft" in shown
    one_rank = configured("{max_running_requests: 64, speculative_algorithm: eagle}\n")
    here = ullage(*arguments, "--config", one_rank).out
    assert "requests@" not in here
    absent = (
        "not in this configuration: adaptive_draft_extend, coordinated_extend, "
        "decode_in_coordinated_extend, dflash_draft, frozen_kv_draft, idle_beside_extend, "
        "idle_in_catch_up, idle_in_coordinated_extend, idle_in_draft, idle_in_frozen_draft"
    )
    assert absent in " ".join(here.split())
    assert "    max_running_requests\n    = 64\n" in here


def view(text: str, low: int) -> str:
    variable = Variable("rows", "int", Integer(low), Integer(99), TRUE, BUILT_IN)
    domain = Domain((variable,), (), ())
    return spell(readable(domain, None)(parse(text, lambda offset, width: BUILT_IN)))


@pytest.mark.parametrize(
    ("text", "low", "expected"),
    [
        ("max(rows, 0)", 0, "rows"),
        ("max(rows, 0)", -1, "max(rows, 0)"),
        ("max(2, rows * 3, 7)", 1, "max(rows * 3, 7)"),
        ("max(2, rows * 3, 3)", 1, "rows * 3"),
        ("max(unknown, 0)", 1, "max(unknown, 0)"),
    ],
)
def test_a_limit_that_never_binds_is_left_out(text: str, low: int, expected: str) -> None:
    assert view(text, low) == expected
