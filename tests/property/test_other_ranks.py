"""What is certified holds whoever the other ranks are: several of a mode, or none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import derived
from support.comparing import differences
from support.small_specs import mode_text, small
from support.specs import Files
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.evaluate import evaluate_integer

TWO = ("dp: {type: int, range: [1, 3]}",)
TIGHT_BATCH = {"requests": "1; 4", "n": "1; 4"}
SHARED = ["requests + n <= 5"]
ROWS = "rows: {collective: {op: all_gather, group: dp}, requests: 'max_ranks(requests)'}"


def two_axes(*pipeline: str, name: str = "decode") -> str:
    """A mode whose rows and tokens share a budget, so that no rank has the most of both."""
    return mode_text(
        name, live=TIGHT_BATCH, where=SHARED, requests="requests", tokens="n", pipeline=pipeline
    )


IDLE = mode_text(
    "idle", live={}, requests="0", tokens="0", pipeline=["rows", "late"], peers=["decode"]
)
SPECS: dict[str, Files] = {
    "a maximum is taken of what holds another": small(
        two_axes("rows", "late"),
        parameters=TWO,
        transforms=(
            ROWS,
            "late: {collective: {op: all_gather, group: dp},"
            " tokens: 'max_ranks(tokens + requests)'}",
        ),
        ranks="dp",
    ),
    "a rank looks on while others hold two maxima": small(
        two_axes("rows", "late"),
        IDLE,
        parameters=TWO,
        transforms=(
            ROWS,
            "late: {collective: {op: all_gather, group: dp},"
            " tokens: 'max_ranks(tokens) + requests'}",
        ),
        ranks="dp",
    ),
    "a sum is taken of what was made a maximum": small(
        two_axes("rows", "late"),
        IDLE,
        parameters=TWO,
        transforms=(
            ROWS,
            "late: {collective: {op: all_gather, group: dp}, tokens: 'sum_ranks(requests)'}",
        ),
        ranks="dp",
    ),
    "a sum is taken of what falls with a maximum": small(
        two_axes("rows", "late"),
        IDLE,
        parameters=TWO,
        transforms=(
            ROWS,
            "late: {collective: {op: all_gather, group: dp},"
            " tokens: 'sum_ranks(max(6 - requests, 0))'}",
        ),
        ranks="dp",
    ),
    "less is more, and nobody need be in the other mode": small(
        mode_text(
            live={"n": "1; 3"}, requests="1", tokens="n", pipeline=["sync"], peers=["extend"]
        ),
        mode_text("extend", live={"n": "8; 8"}, requests="1", tokens="n", pipeline=["sync"]),
        parameters=TWO,
        transforms=(
            "sync: {collective: {op: all_gather, group: dp}, tokens: '10 - max_ranks(tokens)'}",
        ),
        ranks="dp",
    ),
    "both axes of one slot are the largest of different ranks": small(
        two_axes("both"),
        parameters=TWO,
        transforms=(
            "both: {collective: {op: all_gather, group: dp}, requests: 'max_ranks(requests)',"
            " tokens: 'max_ranks(tokens)'}",
        ),
        slots=("mask: {shape: [requests, tokens], dtype: bool, source: batch.mask}",),
        ranks="dp",
    ),
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.slow
def test_no_round_of_ranks_needs_more(name: str, tmp_path: Path) -> None:
    assert differences(derived(tmp_path, SPECS[name])) == []


TWO_GROUPS = small(
    two_axes("near", "far"),
    parameters=TWO,
    transforms=(
        "near: {collective: {op: all_gather, group: near}, tokens: 'max_ranks(tokens)'}",
        "far: {collective: {op: all_gather, group: far}, tokens: 'max_ranks(tokens) - tokens + 1'}",
    ),
    ranks="dp",
)


@pytest.mark.slow
def test_two_groups_have_maxima_of_their_own(tmp_path: Path) -> None:
    """A rank beside which all bring 1 in one group meets one whose group brings 4 in the other."""
    found = derived(tmp_path, TWO_GROUPS)
    (tokens,) = (each for each in found.capacities.by_target if each.target == "tokens")
    assert evaluate_integer(tokens.formula, {"dp": 2}) >= 4


REFUSED: dict[str, tuple[str, Files]] = {
    "what a rank brings to a sum is not negative": (
        "U408",
        small(
            two_axes("sync"),
            parameters=TWO,
            transforms=(
                "sync: {collective: {op: all_gather, group: dp},"
                " tokens: '20 - sum_ranks(tokens - 2)'}",
            ),
            ranks="dp",
        ),
    ),
    "ranks in one round run the same transform": (
        "U609",
        small(
            two_axes("rows").rstrip() + "\npeers: [extend]\n",
            two_axes("other", name="extend"),
            parameters=TWO,
            transforms=(ROWS, ROWS.replace("rows:", "other:").replace("(requests)", "(tokens)")),
            ranks="dp",
        ),
    ),
    "a value is there at every stage, used later or not": (
        "U405",
        small(
            two_axes("fit", "forget"),
            parameters=("sizes: {type: list, range: [1, 4]}", "flag: {type: bool}"),
            transforms=(
                "fit: {requests: 'next_in(requests, sizes)'}",
                "forget: {when: flag, requests: '1'}",
            ),
        ),
    ),
    "constraints leave a configuration": (
        "U409",
        small(two_axes(), parameters=("a: {type: int, range: [1, 9]}",), constraints=("a > 9",)),
    ),
    "ranges leave a configuration": (
        "U409",
        small(
            two_axes(),
            parameters=("a: {type: int, range: [1, 5]}", "b: {type: int, range: [a + 1, 1]}"),
        ),
    ),
    "a mode has a batch where all parameters have a value": (
        "U409",
        small(
            mode_text(live={"requests": "1; a"}, when="a <= 6", requests="requests", tokens="1"),
            parameters=("a: {type: int, range: [1, 9]}", "b: {type: int, range: [7, a]}"),
        ),
    ),
    "a mode has a batch": (
        "U409",
        small(
            mode_text(
                live={"requests": "1; 4", "n": "1; 4"},
                where=["requests + n <= 1"],
                requests="requests",
                tokens="n",
            )
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_be_so_is_refused(name: str, tmp_path: Path) -> None:
    code, files = REFUSED[name]
    with pytest.raises(DiagnosticError) as caught:
        derived(tmp_path, files)
    assert code in {each.code for each in caught.value.diagnostics}


CHOOSY = """\
runner: graph
workers: [target]
modes: [decode]
slots: all
accepts: ["requests <= 2"]
exclusive: true
fallback: eager
steps:
  - {do: load}
"""
CHOSEN: dict[str, tuple[str, bool]] = {
    "the sum over all": ("sum_ranks(tokens)", False),
    "another maximum": ("max_ranks(tokens)", False),
    "the same maximum": ("max_ranks(requests)", True),
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.slow
def test_a_batch_that_a_maximum_over_ranks_chooses_limits_every_rank(
    name: str, tmp_path: Path
) -> None:
    tokens, tight = CHOSEN[name]
    both = (
        "both: {collective: {op: all_gather, group: dp}, requests: 'max_ranks(requests)',"
        f" tokens: '{tokens}'}}"
    )
    mode = mode_text(
        live={"requests": "1; 3", "n": "1; 3"},
        where=["n <= requests"],
        requests="requests",
        tokens="n",
        pipeline=["both"],
    )
    files = {**small(mode, parameters=TWO, transforms=(both,), ranks="dp"), "graph.yaml": CHOOSY}
    found = derived(tmp_path, files)
    assert differences(found) == []
    assert found.certificate.of("graph_target", "tokens").tight is tight
