"""A mode composed with its pipeline comes to what running the transforms rank by rank gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.bounds import derived, refusal
from support.comparing import differences, false_witnesses
from support.small_specs import SLOT, mode_text, small
from support.specs import Files
from ullage.expr.spell import spell

PARAMETERS = (
    "cap: {type: int, range: [1, 3]}",
    "pool: {type: int, range: [1, 4]}",
    "step: {type: int, range: [1, 3]}",
    "on: {type: bool}",
    "dp: {type: int, range: [1, 3]}",
)
DECODE = {"requests": "1; cap"}
BOTH = {"rows": "1; cap", "toks": "1; pool"}


def shaped(extent: str, modes: str = "") -> str:
    """A slot whose only dimension is an expression."""
    only = f", modes: [{modes}]" if modes else ""
    return f'grid: {{shape: ["{extent}"], dtype: int64, source: batch.grid{only}}}'


def alone(
    *transforms: str,
    live: dict[str, str] | None = None,
    requests: str = "requests",
    tokens: str = "requests",
    where: tuple[str, ...] = (),
    slots: tuple[str, ...] = (),
) -> Files:
    """One mode that goes through all the transforms, on its own or beside ranks in the same."""
    names = [each.split(":")[0] for each in transforms]
    decode = mode_text(
        live=live or DECODE, requests=requests, tokens=tokens, where=where, pipeline=names
    )
    return small(
        decode,
        parameters=PARAMETERS,
        transforms=transforms,
        slots=(SLOT, *slots),
        ranks="dp",
    )


def beside(
    transforms: tuple[str, ...],
    decode: str = "",
    *,
    idle: tuple[str, ...] = ("sync",),
    serves: str = "[idle]",
    slots: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
) -> Files:
    """An idle mode beside a decode mode; the runner serves only one of them."""
    own = mode_text("idle", live={}, requests="0", tokens="0", pipeline=idle, peers=["decode"])
    other = decode or mode_text(
        live=DECODE, requests="requests", tokens="requests", pipeline=["sync"]
    )
    return small(
        other,
        own,
        *more,
        parameters=PARAMETERS,
        transforms=transforms,
        slots=(SLOT, *slots),
        ranks="dp",
        serves=serves,
    )


def collective(assigned: str, let: str = "", when: str = "") -> str:
    """A transform `sync` over all ranks."""
    head = f"when: {when}, " if when else ""
    local = f'let: {{padded: "{let}"}}, ' if let else ""
    return f"sync: {{{head}collective: {{op: all_gather, group: dp}}, {local}{assigned}}}"


ALIGN = "align: {requests: 'align_up(requests, step)', tokens: 'align_up(tokens, step)'}"
SWAP = "swap: {requests: tokens, tokens: requests + 1}"
WIDEN = "widen: {when: on, tokens: tokens * 2}"
LOCAL = "local: {let: {twice: tokens * 2, more: twice + 1}, tokens: more, requests: twice}"
MOST = collective("tokens: max_ranks(tokens)")
WITH_ROWS = mode_text(
    live=BOTH, requests="rows", tokens="toks", where=["rows + toks <= 5"], pipeline=["sync"]
)

EXACT: dict[str, Files] = {
    "transforms in order": alone(ALIGN, WIDEN, SWAP, LOCAL),
    "in another order": alone(LOCAL, SWAP, WIDEN, ALIGN),
    "all axes at once": alone(SWAP, "again: {requests: tokens, tokens: requests}"),
    "a transform twice": small(
        mode_text(
            live=DECODE, requests="requests", tokens="requests", pipeline=["swap", "swap", "swap"]
        ),
        parameters=PARAMETERS,
        transforms=(SWAP,),
    ),
    "arguments": small(
        mode_text(
            live=DECODE,
            requests="requests",
            tokens="requests",
            pipeline=["scale(by=step)", "scale(by=2)"],
        ),
        parameters=PARAMETERS,
        transforms=(
            "scale: {arguments: [by], tokens: tokens * by, requests: 'align_up(requests, by)'}",
        ),
    ),
    "a live variable named like an axis": alone(
        ALIGN,
        live={"tokens": "1; pool"},
        requests="1",
        tokens="tokens * 2",
        slots=(shaped("tokens + requests"),),
    ),
    "a slot over padded axes": alone(ALIGN, WIDEN, slots=(shaped("tokens * 2 + requests"),)),
    "the largest of all ranks": alone(MOST),
    "the sum of all ranks": alone(collective("tokens: sum_ranks(tokens)")),
    "aligned before the largest": alone(
        collective("tokens: 'max_ranks(align_up(tokens, step))', requests: max_ranks(requests)")
    ),
    "a collective under a condition": alone(collective("tokens: max_ranks(tokens)", when="on")),
    "after the largest": alone(MOST, WIDEN, ALIGN),
    "rows from tokens": alone(
        collective("requests: padded // 2 + 1, tokens: padded", let="max_ranks(tokens * 2)")
    ),
    "a local name on each rank": alone(
        collective(
            "requests: max_ranks(padded), tokens: max_ranks(padded + 1)",
            let="align_up(tokens, step)",
        )
    ),
    "beside a rank that decodes": beside((MOST,)),
    "beside the sum of others": beside((collective("tokens: sum_ranks(tokens)"),)),
    "beside, arguments of each mode": beside(
        (
            "sync: {arguments: [by], collective: {op: all_gather, group: dp}, "
            "tokens: max_ranks(tokens * by), requests: max_ranks(requests) * by}",
        ),
        mode_text(live=DECODE, requests="requests", tokens="requests", pipeline=["sync(by=step)"]),
        idle=("sync(by=2)",),
    ),
    "beside, and back": beside(
        (
            "sync: {arguments: [by], collective: {op: all_gather, group: dp}, "
            "let: {padded: max_ranks(tokens * by)}, tokens: padded // by, "
            "requests: max_ranks(padded // by)}",
        ),
        mode_text(live=DECODE, requests="requests", tokens="requests", pipeline=["sync(by=step)"]),
        idle=("sync(by=1)",),
        serves="[decode]",
    ),
    "two collectives of one group": beside(
        (MOST, "times: {tokens: tokens * 3}"),
        mode_text(
            live=DECODE, requests="requests", tokens="requests", pipeline=["sync", "times", "sync"]
        ),
        idle=("sync", "sync"),
    ),
    "a peer that exists for some": beside(
        (MOST,),
        mode_text(
            live=DECODE, requests="requests", tokens="requests", pipeline=["sync"], when="step >= 2"
        ),
    ),
    "a peer with a coupling": beside((MOST,), WITH_ROWS),
    "a peer with a coupling and one that exists for some": beside(
        (collective("tokens: max_ranks(tokens + requests)"),),
        mode_text(
            live=BOTH,
            requests="rows",
            tokens="toks",
            where=["rows <= toks"],
            pipeline=["sync"],
            when="pool >= 2",
        ),
    ),
    "a peer that pads before": beside(
        (MOST, "times: {tokens: tokens * 3}"),
        mode_text(live=DECODE, requests="requests", tokens="requests", pipeline=["times", "sync"]),
    ),
    "a peer of requests with lengths": beside(
        (MOST,),
        mode_text(
            live={"requests": "1; cap", "length": "per requests: 1; step"},
            requests="requests",
            tokens="sum_requests(length)",
            where=["sum_requests(length) <= pool"],
            pipeline=["sync"],
        ),
    ),
    "two peers": beside(
        (MOST,),
        more=(
            mode_text(
                "extend",
                live=BOTH,
                requests="rows",
                tokens="toks + rows",
                pipeline=["sync"],
                peers=["idle"],
                when="on",
            ),
        ),
    ),
}
"""What has a closed form, which must be derived, certified and equal to brute force."""

HARD: dict[str, Files] = {
    "the largest without the own": alone(collective("tokens: max_ranks(tokens) - tokens + 1")),
    "twice the largest without the own": alone(
        collective("tokens: 2 * max_ranks(tokens) - tokens")
    ),
    "rows that only pad": alone(MOST, slots=(shaped("tokens - requests"),)),
    "what the other ranks bring": alone(collective("tokens: sum_ranks(tokens) - tokens")),
    "the sum without twice the own": alone(
        collective("tokens: 'max(sum_ranks(tokens) - 2 * tokens, 0)'")
    ),
    "less than a sum": alone(collective("tokens: 'max(20 - sum_ranks(tokens), 0)'")),
    "less than the largest": alone(collective("tokens: 20 - max_ranks(tokens)")),
    "the largest, if the own is small": alone(
        collective("tokens: 'max_ranks(tokens) if tokens <= 1 else 1'")
    ),
    "the largest beside own rows": alone(
        MOST,
        live=BOTH,
        requests="rows",
        tokens="toks",
        where=("rows + toks <= 4",),
        slots=(shaped("tokens + requests"),),
    ),
    "the largest times own rows": alone(
        MOST,
        live=BOTH,
        requests="rows",
        tokens="toks",
        where=("rows + toks <= 4",),
        slots=(shaped("tokens * requests"),),
    ),
    "two largest of different ranks": alone(
        collective("tokens: max_ranks(tokens), requests: max_ranks(requests)"),
        live=BOTH,
        requests="rows",
        tokens="toks",
        where=("rows + toks <= 4",),
        slots=(shaped("tokens + requests"),),
    ),
    "two largest beside own rows": alone(
        collective("tokens: max_ranks(tokens), requests: max_ranks(requests)"),
        live=BOTH | {"more": "1; 2"},
        requests="rows",
        tokens="toks",
        where=("rows + toks + more <= 5",),
        slots=(shaped("tokens + requests + more"),),
    ),
    "two largest of peers": beside(
        (collective("tokens: max_ranks(tokens), requests: max_ranks(requests)"),),
        WITH_ROWS,
        slots=(shaped("tokens + requests", "idle"),),
    ),
    "a remainder of the largest": alone(MOST, "wrap: {tokens: 'tokens % step'}"),
    "a choice by the largest": alone(MOST, "wrap: {tokens: '7 if tokens <= 1 else 2'}"),
}
"""What may be refused; if not, it must be as exact as all else."""


THOROUGH = {
    "in another order",
    "a slot over padded axes",
    "after the largest",
    "rows from tokens",
    "beside, and back",
    "two collectives of one group",
    "a peer with a coupling and one that exists for some",
    "a peer of requests with lengths",
    "two peers",
}
"""Left to the slow tests, which try all configurations of every case."""


@pytest.mark.parametrize("name", [each for each in EXACT if each not in THOROUGH])
@pytest.mark.slow
def test_a_composed_pipeline_is_what_ranks_do_one_by_one(name: str, tmp_path: Path) -> None:
    found = derived(tmp_path, EXACT[name])
    assert differences(found, at_most=40) == []
    assert false_witnesses(found, at_most=8) == []
    assert found.certificate.unproven == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_a_composed_pipeline_is_exact_in_all_configurations(name: str, tmp_path: Path) -> None:
    found = derived(tmp_path, EXACT[name])
    assert differences(found) == []
    assert false_witnesses(found, at_most=40) == []
    assert all(proof.sound for proof in found.certificate.proofs)
    assert found.certificate.unproven == ()


SLOW = {"two largest beside own rows", "two largest of different ranks", "two largest of peers"}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.slow if each in SLOW else ()) for each in HARD]
)
@pytest.mark.slow
def test_what_mixes_ranks_is_exact_or_refused(name: str, tmp_path: Path) -> None:
    if refusal(tmp_path / "first", HARD[name]):
        return
    found = derived(tmp_path, HARD[name])
    assert differences(found, at_most=40) == []


# What changes while serving

WIDTHS = (
    "cap: {type: int, range: [1, 3]}",
    "widths: {type: list, range: [1, 4]}",
    "width: {type: int, range: [1, 4], varies: widths}",
)
GUARDED = (
    "cap: {type: int, range: [1, 3]}",
    "deep: {type: bool}",
    "widths: {type: list, range: [1, 4], when: deep}",
    "width: {type: int, range: [1, 4], varies: widths, when: deep}",
)
SERVING: dict[str, Files] = {
    "what exists with its list": small(
        mode_text(live=DECODE, requests="requests", tokens="requests * (width if deep else 2)"),
        parameters=GUARDED,
    ),
    "a value that varies": small(
        mode_text(live=DECODE, requests="requests", tokens="requests * width"),
        parameters=WIDTHS,
    ),
    "one that a definition uses": small(
        mode_text(live=DECODE, requests="requests", tokens="requests * wide"),
        parameters=WIDTHS,
        definitions=("wide: width + 1",),
    ),
    "its largest value": small(
        mode_text(live=DECODE, requests="requests", tokens="requests * upper(width)"),
        parameters=WIDTHS,
    ),
    "what falls with it": small(
        mode_text(live=DECODE, requests="requests", tokens="9 - width"), parameters=WIDTHS
    ),
    "in a transform": small(
        mode_text(live=DECODE, requests="requests", tokens="requests", pipeline=["grow"]),
        parameters=WIDTHS,
        transforms=("grow: {tokens: tokens + width, requests: 'align_up(requests, 2)'}",),
    ),
    "in a slot": small(
        mode_text(live=DECODE, requests="requests", tokens="requests"),
        parameters=WIDTHS,
        slots=(SLOT, shaped("requests * width + 1")),
    ),
    "in a range": small(
        mode_text(
            live=DECODE | {"toks": "1; requests * width"}, requests="requests", tokens="toks"
        ),
        parameters=WIDTHS,
    ),
}


@pytest.mark.parametrize("name", SERVING)
@pytest.mark.slow
def test_what_varies_takes_on_every_value_while_serving(name: str, tmp_path: Path) -> None:
    found = derived(tmp_path, SERVING[name])
    assert differences(found, at_most=40) == []
    assert found.certificate.unproven == ()


def test_what_exists_with_its_list_has_the_largest_of_it_and_nothing_else(tmp_path: Path) -> None:
    found = derived(tmp_path, SERVING["what exists with its list"])
    (formula,) = (each.formula for each in found.capacities.by_target if each.target == "tokens")
    assert spell(formula) == "cap * (max(widths) if deep else 2)"


def test_a_coupling_of_what_varies_is_refused(tmp_path: Path) -> None:
    """The list may lack the value that such a coupling would leave as the largest."""
    files = small(
        mode_text(
            live=DECODE, requests="requests", tokens="requests * width", where=["width <= 2"]
        ),
        parameters=WIDTHS,
    )
    assert "error[U402]" in refusal(tmp_path, files)
