"""Checking which batches runners take, and that every batch is taken by one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.sluice import SLUICE
from support.specs import Files, edited, golden_name, problems_of, resolved, with_file
from ullage.spec.chains import chain

DECODE = "modes/decode.yaml"
GRAPH = "runners/decode_graph.yaml"
EAGER = "runners/eager.yaml"
TRANSFORMS = "transforms.yaml"
CONDITION = "requests <= max(captured)"

_CPU = """\
runner: cpu
workers: [target]
modes: [extend]
slots: all
steps:
  - {do: load}
"""
WITH_CPU = with_file("runners/cpu.yaml", _CPU, files=SLUICE)

RULES: dict[str, Files] = {
    "accepts is true or false": edited(GRAPH, (CONDITION, "max(captured)"), files=SLUICE),
    "accepts is made of known names": edited(
        GRAPH, ("max(captured)", "max(capture)"), files=SLUICE
    ),
    "accepts compares like with like": edited(
        GRAPH, (CONDITION, "tokens <= max(captured)"), files=SLUICE
    ),
    "accepts sees live variables of all modes of the runner": edited(
        GRAPH,
        (CONDITION, "length <= 8"),
        files=edited(
            DECODE,
            (
                "seen_in: batch.size}",
                "seen_in: batch.size}\n  length: {range: [1, 9], seen_in: batch.a}",
            ),
            files=SLUICE,
        ),
    ),
    "nobody chooses a runner by what only the device knows": edited(
        GRAPH,
        (CONDITION, "length <= 8"),
        ("modes: [decode, idle]", "modes: [decode]"),
        files=edited(
            DECODE,
            (
                "seen_in: batch.size}",
                "seen_in: batch.size}\n  length: {range: [1, 9], seen_in: assumed}",
            ),
            files=SLUICE,
        ),
    ),
    "the condition of a runner sees no axis": edited(
        GRAPH, ("when: cuda_graph", "when: requests < 8"), files=SLUICE
    ),
    "the condition of a runner sees no fact": edited(
        GRAPH,
        ("when: cuda_graph", "when: embeds"),
        ("values:", "facts: {embeds: embeddings are given}\nvalues:"),
        files=SLUICE,
    ),
    "a runner's own pipeline names transforms": edited(
        GRAPH, ("pipeline: [bucket]", "pipeline: [buckets]"), files=SLUICE
    ),
    "a runner's own pipeline takes part in no collective": edited(
        GRAPH, ("pipeline: [bucket]", "pipeline: [sync_rows, bucket]"), files=SLUICE
    ),
    "a runner's own pipeline comes after the batch was made": edited(
        GRAPH,
        ("pipeline: [bucket]", "pipeline: [twice]"),
        files=edited(
            TRANSFORMS,
            ("transforms:\n", "transforms:\n  twice: {in_batch: true, requests: requests * 2}\n"),
            files=SLUICE,
        ),
    ),
    "an exclusive runner asks no fact": edited(
        GRAPH,
        (CONDITION, "requests <= max(captured) and not embeds"),
        ("values:", "facts: {embeds: embeddings are given}\nvalues:"),
        files=SLUICE,
    ),
    "an exclusive runner has a fallback": edited(
        GRAPH,
        ("fallback: eager\n", ""),
        ("modes: [decode, idle]", "modes: [decode]"),
        ("accepts:\n  - requests <= max(captured)\n", ""),
        files=edited(EAGER, ("modes: all", "modes: [idle, extend]"), files=SLUICE),
    ),
    "what a runner takes whole it serves": edited(
        GRAPH, ("fallback: eager", "accepts_all: [extend]\nfallback: eager"), files=SLUICE
    ),
    "a fallback is a runner": edited(GRAPH, ("fallback: eager", "fallback: eagre"), files=SLUICE),
    "a runner that takes everything has no fallback": edited(
        GRAPH,
        ("accepts:\n  - requests <= max(captured)\n", ""),
        ("when: cuda_graph\n", ""),
        files=SLUICE,
    ),
    "two runners of a mode have an order": WITH_CPU,
    "the last runner of a mode takes every batch": edited(
        GRAPH,
        ("fallback: eager\nvalues", "values"),
        ("exclusive: true\n", ""),
        files=edited(EAGER, ("modes: all", "modes: [extend]"), files=SLUICE),
    ),
    "a fallback serves the modes that are handed to it": edited(
        EAGER, ("modes: all", "modes: [decode, extend]"), files=SLUICE
    ),
    "runners do not hand batches to each other": edited(
        EAGER,
        ("values:", "when: not cuda_graph\nfallback: decode_graph\nvalues:"),
        ("modes: all", "modes: [decode, idle]"),
        files=SLUICE,
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_breaks_a_rule_is_shown_at_its_place(
    rule: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    found = problems_of(tmp_path, RULES[rule])
    assert found
    golden(golden_name(rule), found)


def test_runners_are_asked_from_the_first_to_the_last(tmp_path: Path) -> None:
    ordered = edited(
        "runners/cpu.yaml",
        ("modes: [extend]\n", "modes: [decode, extend]\naccepts: [tokens < 9]\nfallback: eager\n"),
        files=edited(GRAPH, ("fallback: eager", "fallback: cpu"), files=WITH_CPU),
    )
    spec = resolved(
        tmp_path, edited(GRAPH, ("modes: [decode, idle]", "modes: [decode]"), files=ordered)
    ).spec
    asked = {
        mode.name: [each.name for each in chain(spec.runners, "target", mode.name)]
        for mode in spec.modes
    }
    assert asked == {
        "decode": ["decode_graph", "cpu", "eager"],
        "extend": ["cpu", "eager"],
        "idle": ["eager"],
    }


def test_several_modes_with_the_same_mistake_are_one_mistake(tmp_path: Path) -> None:
    files = edited(GRAPH, ("fallback: eager\n", ""), ("exclusive: true\n", ""), files=SLUICE)
    assert problems_of(tmp_path, files).count("error[") == 1


def test_a_sluice_is_a_spec(tmp_path: Path) -> None:
    assert problems_of(tmp_path, SLUICE) == ""
