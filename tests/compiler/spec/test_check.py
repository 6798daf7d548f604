"""Checking names, definitions, units and what is known where."""

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


def chained(length: int, step: str) -> Files:
    """Definitions each of which is made of the next one; the last one is `tp_size`."""
    lines = [f"  d{i}: {step.replace('x', f'd{i + 1}')}\n" for i in range(length)]
    return with_file("z.yaml", f"definitions:\n{''.join(lines)}  d{length}: tp_size\n")


RULES: dict[str, Files] = {
    "a definition is not too deep with others put in": chained(150, "x + 1"),
    "a definition has no value that is too large": chained(9, "x * x"),
    "a definition has not the name of a parameter": with_file(
        "z.yaml", "definitions: {sync: tp_size > 1}\n"
    ),
    "a name is not that of a function": with_file("z.yaml", "definitions: {cdiv: tp_size}\n"),
    "a name is not a built in one": with_file("z.yaml", "definitions: {worker: tp_size}\n"),
    "a name is not that of an extent in load": with_file(
        "z.yaml", "definitions: {live_tokens: tp_size}\n"
    ),
    "a live variable has not the name of a parameter": edited(
        DECODE, ("  where:\n", "  context: {range: [1, 4], seen_in: assumed}\n  where:\n")
    ),
    "an argument hides no definition": with_file(
        "z.yaml", "transforms: {wide: {arguments: [rows], tokens: tokens * 2}}\n"
    ),
    "a default uses earlier parameters only": edited(
        ENGINE, ("default: false}", "default: late}\n  late: {type: bool}")
    ),
    "a value of an enum has not the name of a parameter": edited(
        ENGINE,
        ("[none, chain, tree]", "[none, chain, sync]"),
        ("in [chain, tree]", "in [chain, sync]"),
    ),
    "an engine has not the name of a module that its code imports": edited(
        ENGINE, ("engine: mini", "engine: torch")
    ),
    "an engine has not the name of a module of Python": edited(
        ENGINE, ("engine: mini", "engine: json")
    ),
    "a local name hides no definition": edited(
        TRANSFORMS,
        ("      padded:", "      step:"),
        ("requests: padded //", "requests: step //"),
        ("    tokens: padded", "    tokens: step"),
    ),
    "a fact hides no parameter": edited(
        EAGER, ("  planned: the", "  sync: the"), ("not planned", "not sync")
    ),
    "slots and carried fields have different names": edited(SLOTS, ("  embeddings:", "  lengths:")),
    "a slot has not the name of an axis": edited(SLOTS, ("  token_count:", "  tokens:")),
    "a context has not the name of a step": edited(
        EAGER, ("  timer: device time", "  plan: device time"), ("context: timer", "context: plan")
    ),
    "a warm-up is a step of its own": edited(EAGER, ("step: autotune", "step: forward")),
    "a mode with a family's name is in that family": edited(
        DECODE, ("family: decode", "family: idle")
    ),
    "a family with the name of a mode has no other modes": with_file(
        "modes/z.yaml", MINI[DECODE].replace("mode: decode", "mode: drafting")
    ),
    "definitions in a cycle are shown in the order of use": edited(
        ENGINE,
        ("rows: align_up(max_requests, tp_size)", "rows: step * 2"),
        ("if speculative else one", "if rows > 1 else one"),
    ),
    "a definition does not use itself": edited(
        ENGINE, ("rows: align_up(max_requests, tp_size)", "rows: rows + 1")
    ),
    "whether a parameter exists does not depend on itself": edited(
        ENGINE, ("when: speculative,\n", "when: width > 1,\n")
    ),
    "a guard may not lead back through definitions": edited(
        ENGINE, ("in [chain, tree]", "in [chain, tree] and width > 1")
    ),
    "a default uses earlier parameters only, also through definitions": edited(
        ENGINE, ("default: 24", "default: rows")
    ),
    "a default has the type of its parameter": edited(
        ENGINE, ("sync: {type: bool, default: false}", "sync: {type: bool, default: 1}")
    ),
    "a default of an enum is one of its values": edited(
        ENGINE, ("default: none", "default: nonee")
    ),
    "a default is in the range of its parameter": edited(ENGINE, ("default: 24", "default: 2^20")),
    "every element of a default is in the range of its parameter": edited(
        ENGINE, ("default: [2, 4]", "default: [2, 17, 18]")
    ),
    "a bare value of an enum stands beside the enum": edited(
        ENGINE, ("default: 24", "default: chain")
    ),
    "what exists for all workers does not depend on the worker": edited(
        ENGINE, ("when: speculative,\n", "when: worker == draft,\n")
    ),
    "a default for all workers does not depend on the worker": edited(
        ENGINE,
        ("sync: {type: bool, default: false}", "sync: {type: bool, default: pool_tokens > 5}"),
    ),
    "the number of ranks does not depend on the worker": edited(
        ENGINE, ("ranks: tp_size", "ranks: tp_size if pool_tokens > 4 else 1")
    ),
    "whether a worker exists does not depend on the worker": edited(
        ENGINE, ("{when: speculative, doc: the model", "{when: worker == draft, doc: the model")
    ),
    "a constant range is not empty": edited(ENGINE, ("range: [1, 512]", "range: [2^9, 2 * 3]")),
    "the ends of a parameter's range are in its unit": edited(
        ENGINE, ("range: [1, 512]", "range: [1, context]")
    ),
    "a constraint is true or false": edited(
        ENGINE, ("that: max_requests * one <= pool_tokens", "that: max_requests * one")
    ),
    "a constraint compares like with like": edited(
        ENGINE, ("that: max_requests * one <=", "that: max_requests <=")
    ),
    "a constraint knows parameters": edited(
        ENGINE, ("that: max_requests * one <=", "that: max_request * one <=")
    ),
    "a constraint sees no axis": edited(ENGINE, ("that: max_requests * one <=", "that: tokens <=")),
    "a constraint sees no live variable": edited(
        ENGINE, ("that: max_requests * one <=", "that: length <=")
    ),
    "an enum is compared with its values": edited(ENGINE, ("in [chain, tree]", "in [chain, trea]")),
    "a misspelt enum is one mistake, not one for each value": edited(
        ENGINE, ("algorithm in [chain, tree]", "algoritm == chain")
    ),
    "a value of an enum is no condition": edited(ENGINE, ("algorithm in [chain, tree]", "chain")),
    "only what is without unit is restated in a unit": edited(
        ENGINE, ("one: {value: 1,", "one: {value: context,")
    ),
    "a truth value has no unit": edited(ENGINE, ("one: {value: 1,", "one: {value: sync,")),
    "what varies names a list parameter": edited(ENGINE, ("varies: widths", "varies: width")),
    "what varies has the unit of its list": edited(
        ENGINE,
        (
            "range: [1, 16], unit: tokens/requests, default: [2, 4]",
            "range: [1, 16], default: [2, 4]",
        ),
    ),
    "only what varies has an upper value": edited(
        ENGINE, ("rows: align_up(max_requests,", "rows: align_up(upper(max_requests),")
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_shown_at_its_place(
    rule: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    found = problems_of(tmp_path, RULES[rule])
    assert found
    golden(golden_name(rule), found)
