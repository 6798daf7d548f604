"""No rank skips a collective in which others wait, unless modes say that it never comes to that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.small_specs import mode_text, small
from support.specs import Files, write_spec
from ullage.analyse import analyse
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text

PARAMETERS = (
    "cap: {type: int, range: [1, 4]}",
    "dp: {type: int, range: [1, 4]}",
    "flag: {type: bool}",
    "other: {type: bool}",
)
TRANSFORMS = (
    "sync: {collective: {op: all_gather, group: dp}, tokens: 'max_ranks(tokens)'}",
    "flagged: {when: flag, collective: {op: all_gather, group: dp}, tokens: 'max_ranks(tokens)'}",
    "late: {when: other, collective: {op: all_gather, group: dp}, tokens: 'max_ranks(tokens)'}",
    "padded: {tokens: tokens + 1}",
)


def mode(
    name: str, pipeline: Sequence[str], peers: Sequence[str] | None = None, when: str = ""
) -> str:
    live = {"n": "1; cap"}
    return mode_text(
        name, live=live, requests="n", tokens="n", pipeline=pipeline, peers=peers, when=when
    )


def engine(*modes: str, ranks: str = "dp", constraints: Sequence[str] = ()) -> Files:
    return small(
        *modes,
        parameters=PARAMETERS,
        transforms=TRANSFORMS,
        ranks=ranks,
        constraints=constraints,
    )


def refusal(folder: Path, files: Files) -> str:
    try:
        analyse(write_spec(folder, files), name="mini")
    except DiagnosticError as error:
        return render_text(error.diagnostics, error.sources)
    return ""


def test_a_mode_without_the_collectives_of_another_says_who_its_peers_are(tmp_path: Path) -> None:
    files = engine(mode("decode", ["sync"], peers=[]), mode("draft", ["padded"]))
    assert refusal(tmp_path, files) == (
        "mini/mode_1.yaml:1:7: error[U635]: nothing is said about the peers of mode 'draft', "
        "which takes part in no collective, while 'decode' takes part in 'sync' over 'dp': "
        "ranks in one would wait for those in the other\n"
        "    |\n"
        "  1 | mode: draft\n"
        "    |       ^^^^^\n"
        "  mini/mode_0.yaml:1:7: mode 'decode'\n"
        "    |\n"
        "  1 | mode: decode\n"
        "    |       ^^^^^^\n"
        "  hint: for example where dp = 2; say peers: [] of 'draft' if no rank ever waits for one "
        "in it, or name them\n"
        "  see: ullage error U635\n"
    )


def test_each_silent_mode_is_told_once(tmp_path: Path) -> None:
    modes = [mode(f"draft_{n}", ["padded"]) for n in range(2)]
    found = refusal(tmp_path, engine(mode("decode", ["sync"]), *modes, mode("verify", ["sync"])))
    assert found.count("error[U635]") == 4
    for name in ("decode", "draft_0", "draft_1", "verify"):
        assert f"about the peers of mode '{name}', which" in found


def test_a_mode_says_that_no_rank_waits_for_one_in_it(tmp_path: Path) -> None:
    modes = (mode("decode", ["sync"], peers=[]), mode("draft", ["padded"], peers=[]))
    assert refusal(tmp_path, engine(*modes)) == ""


def test_modes_that_name_each_other_run_the_same_collectives(tmp_path: Path) -> None:
    """One that is named has said so as well."""
    modes = (mode("decode", ["sync"]), mode("draft", ["padded"], peers=["decode"]))
    found = refusal(tmp_path, engine(*modes))
    assert "error[U609]: mode 'draft' and its peer 'decode' would wait for each other" in found
    assert "U635" not in found
    modes = (mode("decode", ["sync"]), mode("draft", ["padded", "sync"], peers=["decode"]))
    assert refusal(tmp_path / "same", engine(*modes)) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["sync", "padded"], ["padded", "sync"]),
        (["sync", "flagged"], ["sync", "flagged"]),
        ([], ["padded"]),
    ],
)
def test_the_same_collectives_in_the_same_order_need_no_word(
    one: list[str], other: list[str], tmp_path: Path
) -> None:
    assert refusal(tmp_path, engine(mode("decode", one), mode("draft", other))) == ""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (["sync"], ["flagged"], "no rank ever"),
        (["flagged"], [], "for example where dp = 2, flag = true;"),
        (["sync", "flagged"], ["sync"], "for example where dp = 2, flag = true;"),
        (["flagged", "late"], ["late", "flagged"], "dp = 2, flag = true, other = true;"),
        (["sync", "sync"], ["sync"], "part in 'sync' over 'dp', then 'sync' over 'dp', while"),
    ],
)
def test_collectives_are_compared_in_each_configuration(
    one: list[str], other: list[str], expected: str, tmp_path: Path
) -> None:
    found = refusal(tmp_path, engine(mode("decode", one), mode("draft", other)))
    assert "error[U635]" in found
    assert expected in found


@pytest.mark.parametrize(
    "files",
    [
        engine(mode("decode", ["sync"], when="flag"), mode("draft", [], when="not flag")),
        engine(mode("decode", ["flagged"]), mode("draft", [], when="not flag")),
        engine(
            mode("decode", ["flagged", "late"]),
            mode("draft", ["late", "flagged"]),
            constraints=("not (flag and other)",),
        ),
        engine(mode("decode", ["sync"]), mode("draft", []), ranks="1"),
    ],
    ids=["one of two modes", "no collective", "one of two collectives", "one rank"],
)
def test_what_never_meets_needs_no_word(files: Files, tmp_path: Path) -> None:
    assert refusal(tmp_path, files) == ""


def test_a_mode_without_a_runner_is_entered_by_nobody(tmp_path: Path) -> None:
    files = dict(engine(mode("decode", ["sync"]), mode("draft", ["padded"])))
    files["eager.yaml"] = files["eager.yaml"].replace("modes: all", "modes: [decode]")
    assert refusal(tmp_path, files) == ""
