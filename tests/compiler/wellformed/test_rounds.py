"""A mode whose ranks wait for all others is a peer of one that idle ranks are in."""

from __future__ import annotations

from pathlib import Path

from support.bounds import refusal
from support.small_specs import mode_text, small
from support.specs import Files, write_spec
from ullage.analyse import analyse
from ullage.diagnostics.render import render_text

SYNC = "sync: {when: flag, collective: {op: all_gather, group: dp}, tokens: 'max_ranks(tokens)'}"
PARAMETERS = (
    "cap: {type: int, range: [1, 4]}",
    "dp: {type: int, range: [1, 4]}",
    "flag: {type: bool}",
)


def engine(*peers: str, idle_when: str = "", mode_when: str = "", ranks: str = "dp") -> Files:
    modes = (
        mode_text(
            live={"requests": "1; cap"},
            requests="requests",
            tokens="requests",
            pipeline=["sync"],
            when=mode_when,
        ),
        mode_text(
            "idle",
            live={},
            requests="0",
            tokens="0",
            pipeline=["sync"],
            peers=peers,
            when=idle_when,
        ),
    )
    return small(
        *modes, parameters=PARAMETERS, transforms=(SYNC,), ranks=ranks, slack="tokens: idle"
    )


def warned(folder: Path, files: Files) -> str:
    root = write_spec(folder, files)
    analysis = analyse(root, name="mini")
    return render_text(analysis.warnings, analysis.sources.texts)


def test_a_mode_that_no_idle_mode_joins_gets_a_warning(tmp_path: Path) -> None:
    assert warned(tmp_path, engine()) == (
        "mini/mode_0.yaml:1:7: warning[U610]: mode 'decode' runs the collective 'sync', "
        "but no mode without rows has it as a peer\n"
        "    |\n"
        "  1 | mode: decode\n"
        "    |       ^^^^^^\n"
        "  mini/mode_1.yaml:1:7: an idle rank is in this mode\n"
        "    |\n"
        "  1 | mode: idle\n"
        "    |       ^^^^\n"
        "  hint: name 'decode' in the 'peers' of a mode that an idle rank is in\n"
        "  see: ullage error U610\n"
    )


def test_a_mode_that_idle_ranks_join_is_right(tmp_path: Path) -> None:
    assert warned(tmp_path, engine("decode")) == ""


def test_an_idle_mode_occurs_wherever_the_collective_runs(tmp_path: Path) -> None:
    found = warned(tmp_path, engine("decode", idle_when="cap > 1"))
    assert "its peer without rows, 'idle', may not occur then" in found
    assert "hint: for example where cap = 1, dp = 2, flag = true" in found
    assert warned(tmp_path / "b", engine("decode", idle_when="flag and dp > 1")) == ""


def test_a_collective_that_never_runs_needs_no_idle_mode(tmp_path: Path) -> None:
    assert warned(tmp_path, engine(mode_when="not flag")) == ""
    assert warned(tmp_path / "b", engine(ranks="1")) == ""


def test_the_own_rank_is_one_of_the_ranks(tmp_path: Path) -> None:
    said = refusal(tmp_path, engine("decode", ranks="dp - 1"))
    assert "error[U410]: the number of ranks can be below 1: dp - 1\n" in said
    assert "hint: for example where dp = 1\n" in said
