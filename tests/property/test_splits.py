"""Children of a batch, shares of it, and what is chosen by counts from before the padding.

Each of them is an axis that no batch brings. What is certified is what every round comes to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import derived
from support.comparing import differences, false_witnesses
from support.small_specs import SLOT, mode_text, small
from support.specs import Files
from ullage.expr.spell import spell

PARAMETERS = (
    "cap: {type: int, range: [1, 3]}",
    "most: {type: int, range: [2, 5]}",
    "tp: {type: int, range: [1, 2]}",
    "width: {type: int, range: [1, 2]}",
)
SIZES = "sizes: {type: list, range: [1, 3]}"


def child(axis: str) -> str:
    return f"of_{axis}: {{shape: [{axis}], dtype: int64, value: 1}}"


def halves(*pipeline: str) -> Files:
    """Rows in two halves, each of which aligns its tokens on its own."""
    split = """\
        halve:
          let: {split: requests // 2}
          first: align_up(split * width, tp)
          second: align_up(cdiv(requests, 2) * width, tp)
        """
    return small(
        mode_text(live={"n": "1; cap"}, requests="n", tokens="n * width", pipeline=pipeline),
        parameters=PARAMETERS,
        axes=("first: {begins_as: 0}", "second: {begins_as: 0}"),
        transforms=("pad: {requests: requests + 1, tokens: tokens + width}", split),
        slots=(SLOT, child("first"), child("second")),
    )


def prompts() -> Files:
    """Prompts that the scheduler has split where their tokens balance best."""
    return small(
        mode_text(
            "extend",
            live={"n": "1; cap", "t": "2; most", "split": "1; t - 1"},
            requests="n",
            tokens="t",
            where=["n <= t"],
            first="split",
        ),
        parameters=PARAMETERS,
        axes=("first: {begins_as: 0}", "second: {begins_as: 0}"),
        transforms=(
            "align: {first: 'align_up(first, tp)', second: 'align_up(tokens - first, tp)'}",
        ),
        slots=(SLOT, child("first"), child("second")),
        pipeline="[align]",
    )


def shares(begins: str, **given: str) -> Files:
    """Tokens in shares of context-parallel ranks, the largest of which is aligned."""
    cut = "cut: {when: cp > 1, share: 'align_up(share, step)'}"
    live = {"n": "1; cap", "length": "per n: 1; most"}
    return small(
        mode_text(
            live=live if given else {"n": "1; cap", "t": "1; most"},
            requests="n",
            tokens="sum_requests(length)" if given else "t",
            where=[] if given else ["n <= t"],
            pipeline=["cut"],
            **given,
        ),
        parameters=(*PARAMETERS[:2], "cp: {type: int, range: [1, 3]}", "zigzag: {type: bool}"),
        definitions=("step: (2 * cp if zigzag else cp) if cp > 1 else 1",),
        axes=(f"share: {{begins_as: '{begins}'}}",),
        transforms=(cut,),
        slots=(SLOT, child("share")),
    )


def graphs() -> Files:
    """A bucket by the counts before ranks pad, beside rows that ranks pad as it suits them."""
    sync = """\
        sync:
          collective: {op: all_gather, group: dp}
          let: {padded: "align_up(tokens, tp)"}
          tokens: max_ranks(padded) if 2 * sum_ranks(padded) >= max_ranks(padded) * dp else padded
          raw: max_ranks(requests)
        """
    return small(
        mode_text(live={"n": "1; cap"}, requests="n", tokens="n", pipeline=["sync"]),
        parameters=(*PARAMETERS[:1], *PARAMETERS[2:3], "dp: {type: int, range: [1, 3]}", SIZES),
        constraints=("cap <= max(sizes)",),
        axes=("raw: {begins_as: requests}",),
        transforms=(sync, "bucket: {requests: 'next_in(raw, sizes)'}"),
        pipeline="[bucket]",
        ranks="dp",
    )


def fitting() -> Files:
    """Rounds that fit into a bucket are padded to it; in others each rank keeps what it has."""
    sync = """\
        sync:
          collective: {op: all_gather, group: dp}
          let: {padded: "align_up(tokens, tp)", bucket: "next_in(min(padded, max(sizes)), sizes)"}
          tokens: >-
            max_ranks(max(padded, bucket)) if alike or max_ranks(padded) <= max(sizes) else padded
        """
    return small(
        mode_text(live={"n": "1; cap"}, requests="n", tokens="n", pipeline=["sync"]),
        parameters=(
            *PARAMETERS[:1],
            *PARAMETERS[2:3],
            "dp: {type: int, range: [1, 3]}",
            "alike: {type: bool}",
            SIZES,
        ),
        transforms=(sync,),
        ranks="dp",
    )


SPECS: dict[str, tuple[Files, dict[str, str]]] = {
    "a child is half of the rows, rounded up": (
        halves("halve"),
        {
            "first": "align_up(cap // 2 * width, tp)",
            "second": "align_up(cdiv(cap, 2) * width, tp)",
        },
    ),
    "a child is half of the padded rows": (
        halves("pad", "halve"),
        {
            "first": "align_up((cap + 1) // 2 * width, tp)",
            "second": "align_up(cdiv(cap + 1, 2) * width, tp)",
        },
    ),
    "a child of prompts has all tokens but one": (
        prompts(),
        {"first": "align_up(most - 1, tp)", "second": "align_up(most - 1, tp)"},
    ),
    "tokens are dealt out one by one": (
        shares("cdiv(tokens, cp)"),
        {"share": "align_up(cdiv(most, cp), step) if cp > 1 else cdiv(most, cp)"},
    ),
    "graphs are chosen by what was there before ranks padded": (
        graphs(),
        {"requests": "next_in(cap, sizes)"},
    ),
    "rounds that fit into a bucket are padded to it": (
        fitting(),
        {"tokens": "max(align_up(cap, tp), next_in(min(align_up(cap, tp), max(sizes)), sizes))"},
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_what_is_certified_of_a_part_is_the_most_of_all_rounds(name: str, tmp_path: Path) -> None:
    files, formulas = SPECS[name]
    found = derived(tmp_path, files)
    for axis, formula in formulas.items():
        capacity = found.capacities.of("eager_target", axis)
        proof = found.certificate.of("eager_target", axis)
        assert (spell(capacity.formula), proof.sound, proof.tight) == (formula, True, True)
    assert differences(found) == []
    assert false_witnesses(found, at_most=2) == []


def test_the_largest_share_follows_from_the_length_of_each_request(tmp_path: Path) -> None:
    found = derived(tmp_path, shares("0", share="sum_requests(cdiv(length, cp))"))
    proof = found.certificate.of("eager_target", "share")
    assert (proof.sound, proof.tight) == (True, True)
    assert differences(found) == []
