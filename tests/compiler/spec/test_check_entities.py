"""Checking modes, transforms, slots, runners and audits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.specs import Files, edited, golden_name, problems_of

ENGINE = "engine.yaml"
TRANSFORMS = "transforms.yaml"
SLOTS = "slots.yaml"
DECODE = "modes/decode.yaml"
IDLE = "modes/idle.yaml"
EAGER = "runners/eager.yaml"
STATED = "audits/stated.yaml"


RULES_OF_BATCHES: dict[str, Files] = {
    "a live range uses variables that stand before": edited(
        DECODE, ("range: [1, max_requests]", "range: [1, length]")
    ),
    "a live range does not use a value of each request": edited(
        DECODE,
        (
            "seen_in: assumed, doc: tokens of a request}",
            "seen_in: assumed}\n  more: {range: [1, length], seen_in: assumed}",
        ),
    ),
    "both ends of a live range are in one unit": edited(
        DECODE,
        (
            "range: [1, context], seen_in: assumed",
            "range: [max_requests, context], seen_in: assumed",
        ),
    ),
    "the ends of a live range are integers": edited(
        DECODE, ("range: [1, context], seen_in: assumed", "range: [1, sync], seen_in: assumed")
    ),
    "debug mode reads no elements of a number": edited(
        DECODE, ("seen_in: assumed", "seen_in: assumed, debug_in: batch.size")
    ),
    "a value for each request names what counts them": edited(
        DECODE, ("per: requests", "per: request")
    ),
    "a relation between live variables is true or false": edited(
        DECODE, ("sum_requests(length) <= pool_tokens", "sum_requests(length)")
    ),
    "a value of each request is summed": edited(
        DECODE, ("- sum_requests(length) <= pool_tokens", "- length <= pool_tokens")
    ),
    "a sum over requests is of what differs between them": edited(
        DECODE, ("sum_requests(length)", "sum_requests(context)")
    ),
    "a sum over requests is not of what counts the batch": edited(
        DECODE, ("sum_requests(length)", "sum_requests(length * requests)")
    ),
    "a sum over requests is not in a range": edited(
        DECODE, ("range: [1, max_requests]", "range: [1, sum_requests(max_requests)]")
    ),
    "sums over requests do not nest": edited(
        DECODE, ("sum_requests(length)", "sum_requests(sum_requests(length))")
    ),
    "a maximum over ranks belongs to a transform": edited(
        DECODE, ("tokens: requests * step", "tokens: max_ranks(requests * step)")
    ),
    "a mode gives each axis in its unit": edited(
        DECODE, ("tokens: requests * step", "tokens: requests")
    ),
    "a mode gives every axis": edited(DECODE, ("  tokens: requests * step\n", "")),
    "a mode gives known axes": edited(
        DECODE, ("  tokens: requests * step\n", "  tokens: requests * step\n  pages: 1\n")
    ),
    "a transform gets every argument": edited(DECODE, ("sync_rows(per_request=step)", "sync_rows")),
    "a transform gets no other argument": edited(
        DECODE, ("per_request=step", "per_request=step, extra=1")
    ),
    "an argument is made of parameters": edited(DECODE, ("per_request=step", "per_request=length")),
    "a pipeline names transforms": edited(DECODE, ("sync_rows(", "sync_row(")),
    "a transform is checked with the units of its arguments": edited(
        DECODE, ("per_request=step", "per_request=max_requests")
    ),
    "an argument is wrong where it is given, not where it is used": edited(
        DECODE, ("per_request=step", "per_request=2")
    ),
    "a transform that is wrong for all calls is wrong itself": edited(
        TRANSFORMS, ("requests: padded //", "requests: padded *")
    ),
    "a collective tells what is taken over ranks": edited(
        TRANSFORMS, ("all_gather_max", "all_gather_sum")
    ),
    "an axis is made of what load sees": edited(
        DECODE, ("tokens: requests * step", "tokens: sum_requests(length)")
    ),
    "rows are not counted by what is assumed": edited(
        DECODE, ("seen_in: batch.size", "seen_in: assumed")
    ),
    "a computed slot has a shape that load sees": edited(
        SLOTS,
        ("token_count: {shape: [1],", "token_count: {shape: [sum_requests(length)],"),
        ("value: live_tokens,", "value: live_tokens, modes: [decode],"),
    ),
    "a number that load sees is no tensor that a slot copies": edited(
        DECODE, ("seen_in: batch.size", "seen_in: batch.input_ids")
    ),
    "the ends of a constant range stand in order": edited(
        DECODE, ("range: [1, max_requests]", "range: [5, 3]")
    ),
    "the ends of constant values stand in order": edited(
        SLOTS, ("range: [0, 2^31 - 1]}\n  lengths", "range: [5, 3]}\n  lengths")
    ),
    "a maximum over ranks needs a collective": edited(
        TRANSFORMS, ("    collective: {op: all_gather_max, group: dp}\n", "")
    ),
    "a maximum over ranks needs the number of ranks": edited(ENGINE, ("ranks: tp_size\n", "")),
    "a transform adds like to like": edited(
        TRANSFORMS, ("    tokens: padded", "    tokens: tokens + requests")
    ),
    "a transform sees axes": edited(
        TRANSFORMS, ("max_ranks(align_up(tokens, tp_size))", "max_ranks(align_up(token, tp_size))")
    ),
    "the condition of a transform sees no axis": edited(
        TRANSFORMS, ("when: sync", "when: tokens > 1")
    ),
    "peers are modes": edited(IDLE, ("peers: [decode]", "peers: [decoda]")),
    "peers take part in the same collectives": edited(
        IDLE, ("pipeline:\n  - sync_rows(per_request=step)\n", "")
    ),
    "a mode is in known families": edited(IDLE, ("family: idle", "family: idel")),
}

RULES_OF_RUNNERS: dict[str, Files] = {
    "a shape is made of known names": edited(
        SLOTS, ("shape: [tokens], dtype: int64", "shape: [token], dtype: int64")
    ),
    "a live variable in a shape is there in all modes of the slot": edited(
        SLOTS, ("source: batch.indices, modes: [decode]", "source: batch.indices")
    ),
    "an extent is an integer": edited(
        SLOTS, ("shape: [tokens], dtype: int64", "shape: [sync], dtype: int64")
    ),
    "both ends of a slot's values are in one unit": edited(
        SLOTS, ("range: [0, 2^31 - 1]}\n  lengths", "range: [context, max_requests]}\n  lengths")
    ),
    "a slot is loaded in modes or families": edited(
        SLOTS, ("source: batch.indices, modes: [decode]", "source: batch.indices, modes: [decod]")
    ),
    "a computed slot sees live and padded extents": edited(
        SLOTS, ("value: live_tokens", "value: live_token")
    ),
    "a computed slot does not see an axis as such": edited(
        SLOTS, ("value: live_tokens", "value: tokens")
    ),
    "a computed slot is a number or a truth value": edited(
        SLOTS, ("value: live_tokens", "value: widths")
    ),
    "a fill does not see an axis as such": edited(
        SLOTS, ("lengths: {rows: padded, fill: 1}", "lengths: {rows: padded, fill: requests}")
    ),
    "a reader reads slots": edited(
        SLOTS, ("      lengths: {rows: padded, fill: 1}", "      length: {rows: padded, fill: 1}")
    ),
    "a fill is a number or a truth value": edited(
        SLOTS, ("lengths: {rows: padded, fill: 1}", "lengths: {rows: padded, fill: algorithm}")
    ),
    "the condition of a step is made of known names": edited(
        EAGER, ("when: not planned", "when: not plannet")
    ),
    "only the steps of its runner see a fact": edited(
        SLOTS, ("    doc: reads one padded slot\n", "    when: planned\n")
    ),
    "a step names readers": edited(EAGER, ("readers: [attention]", "readers: [attentio]")),
    "a step runs within contexts of its runner": edited(EAGER, ("context: timer", "context: time")),
    "a value is given before it is taken": edited(
        EAGER, ("{step: forward, gives: hidden", "{step: forward, gives: output")
    ),
    "a value is given under all conditions in which it is taken": edited(
        EAGER,
        (
            "{step: pass_on, when: not last_rank, takes: [hidden], gives: output}",
            "{step: pass_on, when: not last_rank and planned, takes: [hidden], gives: output}",
        ),
    ),
    "a value is given in all modes in which it is taken": edited(
        EAGER, ("{step: forward, gives: hidden", "{step: forward, modes: [decode], gives: hidden")
    ),
    "a value is given with and without padded rows": edited(
        EAGER, ("{step: forward, gives: hidden", "{step: forward, padded: true, gives: hidden")
    ),
    "a step that is called twice takes and gives the same": edited(
        EAGER,
        (
            "{step: pass_on, when: not last_rank, takes: [hidden]",
            "{step: logits, when: not last_rank, takes: []",
        ),
    ),
    "a runner loads its slots": edited(EAGER, ("  - {do: load}\n", "")),
    "a runner warms up with modes that it serves": edited(EAGER, ("modes: all", "modes: [idle]")),
    "a runner has known slots": edited(EAGER, ("slots: all", "slots: [input_id]")),
    "a runner belongs to known workers": edited(
        EAGER, ("workers: [target, draft]", "workers: [target, daft]")
    ),
    "slack is for an axis or a slot": edited(
        EAGER, ("  tokens: idle ranks take as many", "  token: idle ranks")
    ),
    "slack is for a slot of the runner": edited(
        EAGER,
        ("slots: all", "slots: [input_ids]"),
        ("  tokens: idle ranks take as many", "  indices: idle ranks"),
    ),
    "a formula is in the unit of its axis": edited(
        STATED, ("axis: requests, formula: rows", "axis: requests, formula: wide")
    ),
    "a formula is in the unit of the elements of its slot": edited(
        STATED, ("axis: requests, formula: rows", "slot: lengths, formula: wide")
    ),
    "a formula is about a slot of its runner": edited(
        EAGER,
        ("slots: all", "slots: [input_ids]"),
        files=edited(STATED, ("axis: requests, formula: rows", "slot: lengths, formula: rows")),
    ),
    "a formula is about a known slot": edited(
        STATED, ("axis: requests, formula: rows", "slot: length, formula: rows")
    ),
    "a verdict is on a known mode": edited(STATED, ("{idle: wastes", "{idl: wastes")),
    "a verdict is on a mode of the runner": edited(EAGER, ("modes: all", "modes: [decode]")),
    "a local name of an audit is made of known names": edited(
        STATED, ("wide: rows * step", "wide: rowz * step")
    ),
}

IN_FAMILIES = {
    path: text.replace("family: decode", "family: steady").replace("  decode: a", "  steady: a")
    for path, text in edited(
        EAGER, ("{step: forward, gives", "{step: forward, modes: [steady, idle], gives")
    ).items()
}
RULES_OF_FAMILIES: dict[str, Files] = {
    "a mode without a family lacks what only families are given": edited(
        DECODE, ("family: steady\n", ""), files=IN_FAMILIES
    ),
    "what follows from a misspelt family is not told": edited(
        DECODE, ("family: steady", "family: stady"), files=IN_FAMILIES
    ),
}

RULES = RULES_OF_BATCHES | RULES_OF_RUNNERS | RULES_OF_FAMILIES


def test_the_families_of_these_rules_are_right_before_they_are_broken(tmp_path: Path) -> None:
    assert problems_of(tmp_path, IN_FAMILIES) == ""


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_shown_at_its_place(
    rule: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    found = problems_of(tmp_path, RULES[rule])
    assert found
    golden(golden_name(rule), found)
