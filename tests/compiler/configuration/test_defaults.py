"""The configuration of all defaults is legal, or the spec is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.small_specs import mode_text, small
from support.specs import write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text

MODE = mode_text(live={"requests": "1; cap"}, requests="requests", tokens="1")
CAP = "cap: {type: int, range: [1, 64], default: 48}"
POOL = "pool: {type: int, range: [1, 64], default: 32}"


def said(folder: Path, *parameters: str) -> str:
    """What is said of some parameters, of which the pool holds the cap."""
    files = small(MODE, parameters=parameters, constraints=("cap <= pool",))
    try:
        analyse(write_spec(folder, files), name="mini")
    except DiagnosticError as error:
        return render_text(error.diagnostics, error.sources)
    return ""


def test_defaults_against_a_constraint_are_refused_at_both_places(tmp_path: Path) -> None:
    assert said(tmp_path, CAP, POOL) == (
        "mini/engine.yaml:10:46: error[U702]: where nothing is given, this is broken: "
        "so: cap = 48, pool = 32\n"
        "     |\n"
        "  10 |   pool: {type: int, range: [1, 64], default: 32}\n"
        "     |                                              ^^\n"
        "  mini/engine.yaml:12:12: the constraint\n"
        "     |\n"
        "  12 |   - {that: cap <= pool, else: so}\n"
        "     |            ^^^^^^^^^^^\n"
        "  see: ullage error U702\n"
    )


@pytest.mark.parametrize(
    "pool",
    ["pool: {type: int, range: [1, 64]}", "pool: {type: int, range: [1, 64], default: cap}"],
    ids=["nobody knows yet", "follows from the other"],
)
def test_what_a_user_still_gives_or_what_follows_is_no_mistake(pool: str, tmp_path: Path) -> None:
    assert said(tmp_path, CAP, pool) == ""


def test_a_default_that_follows_from_others_is_in_its_range(tmp_path: Path) -> None:
    told = said(tmp_path, CAP, "pool: {type: int, range: [1, 64], default: cap * 2}")
    assert "the default of 'pool' is 96, expected 1 to 64" in told
    assert "mini/engine.yaml:10:" in told
