"""Loading: each rule about one file, and about files together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.specs import MINI, Files, edited, golden_name, problems_of, with_file

ENGINE = "engine.yaml"
TRANSFORMS = "transforms.yaml"
SLOTS = "slots.yaml"
DECODE = "modes/decode.yaml"
EAGER = "runners/eager.yaml"
STATED = "audits/stated.yaml"


RULES: dict[str, Files] = {
    "the version is one that this compiler knows, and nothing else is said of a later one": edited(
        ENGINE,
        ("ullage: 1", "ullage: 7"),
        ("parameters:", "settings:"),
        files=edited(DECODE, ("pipeline:", "stages:")),
    ),
    "the first version is 1": edited(ENGINE, ("ullage: 1", "ullage: 0")),
    "the engine has a name": edited(ENGINE, ("engine: mini\n", "")),
    "a spec folder is about one engine": with_file("z.yaml", "engine: maxi\n"),
    "a misspelt section gets the nearest known one": with_file("z.yaml", "parameter: {}\n"),
    "an entry stands in one file only": with_file("z.yaml", "parameters:\n  sync: {type: bool}\n"),
    "a section is a mapping in every file": with_file("z.yaml", "parameters: none\n"),
    "a mode stands in one file only": with_file("modes/z.yaml", MINI[DECODE]),
    "the name of a mode is one text": edited(DECODE, ("mode: decode", "mode: [decode]")),
    "the name of a mode is an identifier": edited(DECODE, ("mode: decode", "mode: De-code")),
    "a file about a mode names it": edited(DECODE, ("mode: decode\n", "")),
    "a file with a misspelt mode is not taken for a library": edited(
        DECODE, ("mode: decode", "mdoe: decode")
    ),
    "a file about a runner names it, and nobody else misses it": edited(
        EAGER, ("runner: eager\n", "")
    ),
    "a file about an audit names it": edited(STATED, ("audit: stated\n", "")),
    "an audit states something": with_file("z.yaml", "audit: none\nquoted_from: x\nformulas: []\n"),
    "a concurrent group names runners": with_file("z.yaml", "concurrent: [{runners: []}]\n"),
    "a source is a field of the batch": edited(DECODE, ("batch.size", "other.size")),
    "a source begins with the batch": edited(DECODE, ("batch.size", "bsz")),
    "a source is a part of the batch": edited(DECODE, ("batch.size", "batch")),
    "an operation is one of the known ones": edited(TRANSFORMS, ("op: all_gather_max", "op: most")),
    "a misspelt key gets the nearest known one": edited(DECODE, ("pipeline:", "pipelin:")),
    "a key that has another name now gets that one": edited(
        SLOTS,
        ("casts_from: [int64]", "accepts: [int64]"),
        ("value: live_tokens", "compute: live_tokens"),
        ("{accelerator: int32, cpu: int64}", "{compute: int32, host: int64}"),
        files=edited(
            STATED, ("quoted_from:", "source:"), files=edited(ENGINE, ("choices: [", "values: ["))
        ),
    ),
    "a range has two ends": edited(ENGINE, ("range: [1, 512]", "range: [512]")),
    "a range is a list": edited(ENGINE, ("range: [1, 512]", "range: 512")),
    "an expression that does not parse is shown at its place": edited(
        ENGINE, ("rows: align_up(max_requests, tp_size)", "rows: max_requests +")
    ),
    "a unit is one of the known ones": edited(
        ENGINE, ("{unit: requests, doc: rows of the batch}", "{unit: request, doc: rows}")
    ),
    "an integer parameter has a range": edited(
        ENGINE, ("{type: int, range: [1, 64], default: 1}", "{type: int}")
    ),
    "an enum has values": edited(
        ENGINE, ("{type: enum, choices: [none, chain, tree], default: none}", "{type: enum}")
    ),
    "a key belongs to the type of its parameter": edited(
        ENGINE, ("sync: {type: bool,", "sync: {type: bool, range: [0, 1],")
    ),
    "a type is one of the four": edited(ENGINE, ("sync: {type: bool,", "sync: {type: boolean,")),
    "a parameter can only be per worker": edited(ENGINE, ("per: worker", "per: rank")),
    "a constraint says why": edited(
        ENGINE, ("    else: the pool holds a token for each request\n", "")
    ),
    "a definition in long form has a value": edited(
        ENGINE, ("rows: align_up(max_requests, tp_size)", "rows: {vale: 1}")
    ),
    "a slot copies a whole field": edited(
        SLOTS, ("source: batch.input_ids", "source: 'batch.input_ids[0]'")
    ),
    "a slot is copied or computed, not both": edited(
        SLOTS, ("value: live_tokens", "value: live_tokens, source: batch.n")
    ),
    "something writes every slot": edited(SLOTS, ("source: batch.input_ids, ", "")),
    "what is about sources says nothing about a computed slot": edited(
        SLOTS, ("value: live_tokens", "value: live_tokens, optional: true")
    ),
    "a dtype is one of the known ones": edited(
        SLOTS, ("dtype: int64, source: batch.input_ids", "dtype: int46, source: batch.input_ids")
    ),
    "dtypes by device name both devices": edited(SLOTS, ("cpu: int64", "gpu: int64")),
    "an empty list of modes is not taken for all": edited(
        SLOTS, ("source: batch.indices, modes: [decode]", "source: batch.indices, modes: []")
    ),
    "a read of live rows says nothing about the tail": edited(
        SLOTS, ("indices: {rows: live}", "indices: {rows: live, fill: 0}")
    ),
    "a read of padded rows says what may be in them": edited(
        SLOTS, ("lengths: {rows: padded, fill: 1}", "lengths: {rows: padded}")
    ),
    "a read of padded rows has a fill or a range": edited(
        SLOTS,
        ("lengths: {rows: padded, fill: 1}", "lengths: {rows: padded, fill: 1, range: [0, 1]}"),
    ),
    "a live variable says where it is seen": edited(DECODE, (", seen_in: assumed", "")),
    "assuming a live variable is said in words": edited(
        DECODE, ("seen_in: assumed", "seen_in: []")
    ),
    "debug mode reads only what load cannot see": edited(
        DECODE, ("seen_in: batch.size", "seen_in: batch.size, debug_in: batch.size")
    ),
    "debug mode reads a value for each request from a field": edited(
        DECODE, (", seen_in: assumed", ', seen_in: assumed, debug_in: "batch.lengths[0]"')
    ),
    "debug mode reads from a field of the batch": edited(
        DECODE, (", seen_in: assumed", ", seen_in: assumed, debug_in: batch lengths")
    ),
    "arguments of a transform are named": edited(
        DECODE, ("sync_rows(per_request=step)", "sync_rows(step)")
    ),
    "a step is one thing": edited(EAGER, ("{do: load}", "{do: load, step: plan}")),
    "a step is something": edited(EAGER, ("{do: load}", "{doc: load}")),
    "an action is one of the two": edited(EAGER, ("{do: load}", "{do: lod}")),
    "a slice takes and gives a value": edited(
        EAGER, ("{do: slice, takes: [output], gives: output}", "{do: slice}")
    ),
    "a formula is not about an axis and a slot": edited(
        STATED, ("axis: requests, formula", "axis: requests, slot: lengths, formula")
    ),
    "a formula is about something": edited(STATED, ("axis: requests, formula", "formula")),
    "the runner of a formula exists": edited(
        STATED, ("runner: eager, axis", "runner: eagre, axis")
    ),
    "the worker of a formula is one of its runner": edited(
        STATED, ("worker: target", "worker: targt")
    ),
    "a verdict is one of the three": edited(STATED, ("expect: proved}", "expect: proven}")),
    "a verdict on one mode is one of the three": edited(STATED, ("{idle: wastes", "{idle: wasted")),
    "an expression that YAML would split is shown in quotes": edited(
        TRANSFORMS,
        (
            "    let:\n      padded: max_ranks(align_up(tokens, tp_size))\n",
            "    let: {padded: max_ranks(align_up(tokens, tp_size))}\n",
        ),
    ),
    "a family has a text": edited(ENGINE, ("  idle: no work on this rank", "  idle: {doc: x}")),
    "a collective has a group": edited(
        TRANSFORMS, ("{op: all_gather_max, group: dp}", "{op: all_gather_max}")
    ),
    "a warm-up names modes": edited(
        EAGER, ("{step: autotune, modes: [decode]}", "{step: autotune}")
    ),
    "a load takes no values": edited(EAGER, ("{do: load}", "{do: load, takes: [hidden]}")),
    "an axis is a mapping, and a broken one is still known as an axis": edited(
        ENGINE, ("tokens: {unit: tokens, doc: token positions}", "tokens: tokens")
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_shown_at_its_place(
    rule: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    found = problems_of(tmp_path, RULES[rule])
    assert found
    golden(golden_name(rule), found)
