"""Conditions over ranks: what is certified holds whichever way the ranks go together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from support.bounds import Derived, derived
from support.comparing import differences, false_witnesses
from support.random_rounds import random_rounds
from support.small_specs import mode_text, small
from support.specs import Files
from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.expr.spell import spell

PARAMETERS = (
    "dp: {type: int, range: [1, 3]}",
    "cap: {type: int, range: [1, 3]}",
    "step: {type: int, range: [1, 3]}",
)
BALANCED = "2 * sum_ranks(tokens) >= max_ranks(tokens) * dp"
FAST = (100, 101, 103, 105, 119, 129)
SLOW = (
    102,
    104,
    106,
    107,
    108,
    109,
    110,
    111,
    112,
    113,
    114,
    115,
    116,
    117,
    118,
    120,
    121,
    122,
    123,
    124,
    125,
    126,
    127,
    128,
    131,
    132,
    134,
    135,
    136,
    137,
    138,
    139,
    140,
    141,
    144,
    145,
)
"""Seeds of which the search is quick: two collectives with nested conditions can take minutes."""
CONFIGURATIONS = 3


def sync(tokens: str, *, rows: str = "", let: Mapping[str, str] | None = None) -> str:
    lets = ", ".join(f'{name}: "{value}"' for name, value in (let or {}).items())
    text = "sync: {collective: {op: all_gather, group: dp}, "
    text += f"let: {{{lets}}}, " if lets else ""
    text += f'requests: "{rows}", ' if rows else ""
    return f'{text}tokens: "{tokens}"}}'


def spec(*transforms: str, modes: tuple[str, ...], pipeline: tuple[str, ...] = ("sync",)) -> Files:
    """Modes of which idle and extend name decode, one way only."""
    named = ["decode", "idle"] if "idle" in modes else ["decode"]
    own = {"n": "1; cap"}
    texts = {
        "decode": mode_text("decode", live=own, requests="n", tokens="n", pipeline=pipeline),
        "idle": mode_text(
            "idle", live={}, requests="0", tokens="0", pipeline=pipeline, peers=["decode"]
        ),
        "extend": mode_text(
            "extend",
            live={**own, "t": "1; 4"},
            requests="n",
            tokens="t",
            where=["n <= t"],
            pipeline=pipeline,
            peers=named,
        ),
    }
    return small(
        *(texts[name] for name in modes), parameters=PARAMETERS, transforms=transforms, ranks="dp"
    )


ALL = ("decode", "idle", "extend")
SPECS: dict[str, tuple[Files, str, bool]] = {
    "alike if balanced, else each its own": (
        spec(
            sync(
                "max_ranks(padded) if alike else padded",
                rows="max_ranks(padded) if alike else padded",
                let={
                    "padded": "align_up(tokens, step)",
                    "alike": "2 * sum_ranks(padded) >= max_ranks(padded) * dp",
                },
            ),
            modes=("decode", "idle"),
        ),
        "align_up(cap, step)",
        True,
    ),
    "others are in other modes": (
        spec(sync(f"max_ranks(tokens) if {BALANCED} else tokens"), modes=ALL),
        "4",
        True,
    ),
    "the buffer of all ranks": (
        spec(sync(f"max_ranks(tokens) * dp if {BALANCED} else sum_ranks(tokens)"), modes=ALL),
        "4 * dp",
        True,
    ),
    "each rank decides by itself": (
        spec(sync("max_ranks(tokens) if 2 * tokens >= max_ranks(tokens) else tokens"), modes=ALL),
        "4",
        True,
    ),
    "conditions stand in each other": (
        spec(
            sync(
                f"(max_ranks(tokens) if max_ranks(requests) > 1 else tokens) if {BALANCED}"
                " else min(tokens, 2)"
            ),
            modes=ALL,
        ),
        "4",
        True,
    ),
    "what few batches attain is not claimed": (
        spec(sync(f"max_ranks(tokens) if {BALANCED} else 2 * tokens"), modes=("decode",)),
        "2 * cap",
        False,
    ),
    "one maximum decides about another": (
        spec(sync("max_ranks(tokens) if max_ranks(requests) > 2 else 1"), modes=ALL),
        "4",
        False,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_both_ways_count_and_what_is_tight_is_attained(name: str, tmp_path: Path) -> None:
    files, formula, tight = SPECS[name]
    found = derived(tmp_path, files)
    capacity = found.capacities.of("eager_target", "tokens")
    proof = found.certificate.of("eager_target", "tokens")
    assert (spell(capacity.formula), proof.sound, proof.tight) == (formula, True, tight)
    assert differences(found, at_most=CONFIGURATIONS) == []


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.slow
def test_every_round_of_every_configuration_fits(name: str, tmp_path: Path) -> None:
    found = derived(tmp_path, SPECS[name][0])
    assert differences(found) == []


def certified(seed: int, folder: Path) -> Derived | None:
    """A random spec; None where no maximum is known, which is all that may be said of it."""
    codes: set[str] = set()
    try:
        return derived(folder, random_rounds(seed))
    except DiagnosticError as error:
        codes = {each.code for each in error.diagnostics}
    assert codes <= {"U402", "U408", "U503", "U610"}
    return None


@pytest.mark.parametrize("seed", FAST)
@pytest.mark.slow
def test_what_ranks_decide_together_is_certified_as_it_is(seed: int, tmp_path: Path) -> None:
    found = certified(seed, tmp_path)
    if found is not None:
        assert differences(found, at_most=CONFIGURATIONS, seed=seed) == []
        assert false_witnesses(found, at_most=1, seed=seed) == []


@pytest.mark.parametrize("seed", SLOW)
@pytest.mark.slow
def test_many_specs_in_which_ranks_decide_together(seed: int, tmp_path: Path) -> None:
    found = certified(seed, tmp_path)
    if found is not None:
        assert differences(found, at_most=CONFIGURATIONS, seed=seed) == []


def test_two_maxima_of_ranks_in_different_modes_need_two_other_ranks(tmp_path: Path) -> None:
    """With two ranks the other one is in one of the modes: 7, and not 10."""
    both = "both: {collective: {op: all_gather, group: dp},"
    both += " tokens: 'max_ranks(tokens) + max_ranks(requests)'}"
    live, pipeline, peers = {"n": "1; 5"}, ["both"], ["decode"]
    files = small(
        mode_text("decode", live={"n": "1; 2"}, requests="1", tokens="n", pipeline=["both"]),
        mode_text("long", live=live, requests="1", tokens="n", pipeline=pipeline, peers=peers),
        mode_text("wide", live=live, requests="n", tokens="1", pipeline=pipeline, peers=peers),
        parameters=("dp: {type: int, range: [1, 3]}",),
        transforms=(both,),
        ranks="dp",
        serves="[decode]",
    )
    found = derived(tmp_path, files)
    assert not found.certificate.of("eager_target", "tokens").tight
    assert differences(found) == []
