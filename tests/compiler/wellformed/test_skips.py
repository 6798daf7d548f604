"""A rank that does not load does not enter the collectives of its mode, and others wait for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import refusal
from support.small_specs import mode_text, small
from support.specs import Files

SYNC = "sync: {when: flag, collective: {op: all_gather, group: dp}, tokens: max_ranks(tokens)}"
FLAG = "flag: {type: bool}"
MODE = mode_text(live={"n": "1; cap"}, requests="n", tokens="n", pipeline=["sync"])


def engine(steps: str, *constraints: str) -> Files:
    files = small(
        MODE,
        parameters=(
            "cap: {type: int, range: [1, 4]}",
            "dp: {type: int, range: [1, 2]}",
            FLAG,
            "streams: {type: bool}",
        ),
        constraints=constraints,
        transforms=(SYNC,),
        ranks="dp",
    )
    runner = "runner: eager\nworkers: [target]\nmodes: all\nslots: all\n"
    return files | {"eager.yaml": runner + steps}


def test_a_runner_that_does_not_load_in_some_configuration_skips_the_collective(
    tmp_path: Path,
) -> None:
    found = refusal(tmp_path, engine("steps:\n  - {do: load, when: not streams}\n"))
    assert "error[U620]: ranks in mode 'decode' take part in 'sync' over 'dp' when" in found
    assert "runner 'eager' loads it only where (not streams)" in found
    assert "hint: for example where dp = 2, flag = true, streams = true" in found
    assert "the collective" in found


def test_what_each_rank_answers_by_itself_decides_about_no_collective(tmp_path: Path) -> None:
    steps = "facts: {busy: there is work}\nsteps:\n  - {do: load, when: busy}\n"
    found = refusal(tmp_path, engine(steps))
    assert "U620" in found
    assert "which each rank answers by itself" in found


@pytest.mark.parametrize(
    "steps",
    [
        "steps:\n  - {do: load}\n",
        "steps:\n  - {do: load, when: flag}\n",
        "steps:\n  - {do: load, when: flag or cap > 1}\n",
    ],
)
def test_who_loads_wherever_the_collective_runs_is_right(steps: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, engine(steps)) == ""


def test_a_constraint_may_keep_the_two_apart(tmp_path: Path) -> None:
    steps = "steps:\n  - {do: load, when: not streams}\n"
    assert refusal(tmp_path, engine(steps, "not streams or not flag")) == ""


def test_a_runner_runs_no_collective_for_some_of_its_modes(tmp_path: Path) -> None:
    """Other ranks of the round may have chosen another runner, which does not enter it."""
    steps = "pipeline: [{transform: sync, modes: [decode]}]\nsteps:\n  - {do: load}\n"
    found = refusal(tmp_path, engine(steps))
    assert "error[U609]: 'sync' is a collective, and other ranks may have chosen another" in found
    assert "put it into the pipelines of the modes" in found


def test_modes_of_one_round_split_after_what_they_do_together(tmp_path: Path) -> None:
    """A mode that splits its batch takes part in what the other one waits for."""
    live = {"n": "1; cap"}
    modes = [
        mode_text(name, live=live, requests="n", tokens="n", pipeline=pipeline, peers=peers)
        for name, pipeline, peers in (
            ("decode", ["sync"], []),
            ("in_two", ["halve"], ["decode"]),
        )
    ]
    files = small(
        *modes,
        axes=("second: {begins_as: 0}",),
        transforms=(SYNC, "halve: {second: tokens - tokens // 2}"),
        parameters=("cap: {type: int, range: [1, 4]}", "dp: {type: int, range: [1, 2]}", FLAG),
        ranks="dp",
    )
    found = refusal(tmp_path / "wrong", files)
    assert "error[U609]: mode 'in_two' and its peer 'decode' would wait for each other" in found
    assert "'in_two' takes part in no collective, 'decode' in 'sync' over 'dp'" in found
    right = {name: text.replace("- halve", "- sync\n  - halve") for name, text in files.items()}
    assert refusal(tmp_path / "right", right) == ""
