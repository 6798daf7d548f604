"""Runners that hand batches on: capacities against all batches that can get to each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.bounds import Derived, derived
from support.comparing import differences, false_witnesses
from support.small_specs import SLOT, mode_text, small
from support.specs import Files
from ullage.expr.spell import spell

PARAMETERS = (
    "cap: {type: int, range: [1, 4]}",
    "flag: {type: bool}",
    "sizes: {type: list, range: [1, 5], when: flag}",
)
DECODE = mode_text(live={"requests": "1; cap"}, requests="requests", tokens="2 * requests")
BUCKET = "bucket: {requests: 'next_in(requests, sizes)', tokens: '2 * next_in(requests, sizes)'}"


def runner_text(name: str, *lines: str, modes: str = "all") -> str:
    head = f"runner: {name}\nworkers: [target]\nmodes: {modes}\nslots: all\n"
    return head + "\n".join((*lines, "steps:", "  - {do: load}\n"))


GRAPH = runner_text(
    "graph",
    "when: flag",
    "pipeline: [bucket]",
    "accepts: [requests <= max(sizes)]",
    "exclusive: true",
    "fallback: eager",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A spec with the runners before the eager one; `loose` are those with too much room."""

    modes: tuple[str, ...] = (DECODE,)
    runners: tuple[str, ...] = (GRAPH,)
    parameters: tuple[str, ...] = PARAMETERS
    definitions: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    transforms: tuple[str, ...] = ()
    ranks: str = ""
    loose: frozenset[str] = frozenset()
    formulas: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> Files:
        base = small(
            *self.modes,
            parameters=self.parameters,
            definitions=self.definitions,
            constraints=self.constraints,
            transforms=self.transforms or ((BUCKET,) if "bucket" in self.runners[0] else ()),
            ranks=self.ranks,
        )
        more = {f"runner_{place}.yaml": text for place, text in enumerate(self.runners)}
        return {**base, **more}


def graph(*accepts: str, exclusive: bool = True, pipeline: str = "", modes: str = "all") -> str:
    """The text of a runner that takes some batches and leaves the others to the eager one."""
    lines = [f"pipeline: [{pipeline}]"] if pipeline else []
    lines += ["accepts:", *(f'  - "{each}"' for each in accepts)]
    lines += ["exclusive: true"] if exclusive else []
    return runner_text("graph", *lines, "fallback: eager", modes=modes)


SYNC = (
    "sync: {when: flag, collective: {op: all_gather, group: dp}, requests: 'max_ranks(requests)'}"
)
SYNCED = mode_text(
    live={"requests": "1; cap"}, requests="requests", tokens="2 * requests", pipeline=["sync"]
)
WAITS = mode_text("idle", live={}, requests="0", tokens="0", pipeline=["sync"], peers=["decode"])
RANKED = ("cap: {type: int, range: [1, 3]}", "flag: {type: bool}", "dp: {type: int, range: [1, 3]}")
ROUND = (
    "round: {requests: 'align_up(requests, step)', tokens: 'align_up(align_up(tokens, step), 3)'}"
)
ROUNDED = mode_text(
    live={"requests": "1; cap"}, requests="requests", tokens="width * requests", pipeline=["round"]
)
STEPS = (
    "cap: {type: int, range: [1, 6]}",
    "step: {type: int, range: [1, 3]}",
    "width: {type: int, range: [1, 3]}",
    "room: {type: int, range: [0, 20]}",
)
EXTEND = mode_text(
    "extend",
    live={"requests": "1; cap", "toks": "1; 5"},
    where=["requests <= toks"],
    requests="requests",
    tokens="toks",
)
SUMMED = mode_text(
    live={"requests": "1; cap", "length": "per requests: 1; 3"},
    where=["sum_requests(length) <= 6"],
    requests="requests",
    tokens="sum_requests(length)",
).replace("seen_in: assumed", "seen_in: batch.length")
SPLIT = mode_text(
    live={"requests": "1; cap", "toks": "0; cap - requests + 2"},
    requests="requests",
    tokens="toks // 2",
)
TWO = (
    "cap: {type: int, range: [1, 6]}",
    "low: {type: int, range: [0, 4]}",
    "high: {type: int, range: [0, 6]}",
)

CASES: dict[str, Case] = {
    "a graph that takes what fits into its largest bucket": Case(
        formulas={
            "graph_target.requests": "next_in(min(cap, max(sizes)), sizes)",
            "graph_target.tokens": "2 * next_in(min(cap, max(sizes)), sizes)",
            "eager_target.requests": "cap if not flag or cap > max(sizes) else 0",
        }
    ),
    "a graph whose buckets are never larger than a batch": Case(
        constraints=("not flag or max(sizes) <= cap",),
        formulas={"graph_target.requests": "max(sizes)"},
    ),
    "buckets that a filter lets through": Case(
        parameters=(*PARAMETERS, "odd: {type: int, range: [0, 1]}"),
        definitions=("kept: {value: '[b for b in sizes if b % 2 == odd]', when: flag}",),
        transforms=(BUCKET.replace("sizes", "kept"),),
        runners=(GRAPH.replace("sizes", "kept"),),
        formulas={"graph_target.requests": "next_in(min(cap, max(kept)), kept)"},
    ),
    "a graph that need not take what it could": Case(
        runners=(GRAPH.replace("exclusive: true\n", ""),),
        formulas={"eager_target.requests": "cap"},
    ),
    "a graph that asks the engine": Case(
        runners=(
            GRAPH.replace("exclusive: true", "facts: {busy: it is busy}").replace(
                "max(sizes)]", "max(sizes), not busy]"
            ),
        ),
        formulas={
            "graph_target.requests": "next_in(min(cap, max(sizes)), sizes)",
            "eager_target.requests": "cap",
        },
    ),
    "a condition that an answer decides": Case(
        runners=(
            runner_text(
                "graph",
                "facts: {busy: it is busy}",
                "accepts: [requests <= 3, not busy or requests <= 1]",
                "fallback: eager",
            ),
        ),
        formulas={"graph_target.requests": "min(cap, 3)", "eager_target.requests": "cap"},
    ),
    "a graph for some modes only": Case(
        modes=(DECODE, EXTEND),
        runners=(GRAPH.replace("modes: all", "modes: [decode]"),),
    ),
    "two limits": Case(
        parameters=TWO,
        runners=(graph("requests <= low", "tokens <= high"),),
        formulas={
            "graph_target.tokens": "2 * min(cap, low, high // 2)"
            " if 1 <= low and 1 <= high // 2 else 0",
            "eager_target.requests": "cap if cap > low or 2 * cap > high else 0",
        },
    ),
    "a limit by the configuration alone": Case(
        runners=(graph("flag", "requests <= 3"),),
        formulas={"eager_target.requests": "cap if not flag or cap > 3 else 0"},
    ),
    "a limit from below": Case(
        runners=(graph("requests >= 3"),),
        formulas={
            "graph_target.requests": "cap if 3 <= cap else 0",
            "eager_target.requests": "min(cap, 2)",
        },
    ),
    "a range": Case(
        parameters=TWO,
        runners=(graph("low <= requests", "requests <= high"),),
        loose=frozenset(("eager_target",)),
    ),
    "an equality": Case(
        parameters=TWO, runners=(graph("requests == low"),), loose=frozenset(("eager_target",))
    ),
    "what is taken by a disjunction": Case(
        parameters=TWO,
        runners=(graph("requests <= low or requests <= high"),),
        formulas={"eager_target.requests": "cap if low + 1 <= cap and high + 1 <= cap else 0"},
        loose=frozenset(("graph_target",)),
    ),
    "a condition by cases": Case(
        runners=(graph("requests <= (2 if flag else 3)"),),
        formulas={"graph_target.requests": "min(cap, 2 if flag else 3)"},
    ),
    "two live variables": Case(
        modes=(EXTEND,),
        parameters=TWO,
        runners=(graph("tokens <= high", "requests + tokens <= 7"),),
    ),
    "an amount that is compared with another": Case(
        modes=(EXTEND,), parameters=TWO, runners=(graph("tokens <= 2 * requests"),)
    ),
    "sums over requests": Case(
        modes=(SUMMED,),
        parameters=("cap: {type: int, range: [1, 3]}", "high: {type: int, range: [0, 6]}"),
        runners=(graph("sum_requests(length) <= high"),),
    ),
    "rounded rows": Case(
        modes=(ROUNDED,), parameters=STEPS, transforms=(ROUND,), runners=(graph("tokens <= room"),)
    ),
    "one row for any number of tokens": Case(
        modes=(ROUNDED.replace('requests: "requests"', 'requests: "1"'),),
        parameters=STEPS,
        transforms=(ROUND.replace("requests: 'align_up(requests, step)', ", ""),),
        runners=(graph("tokens <= room"),),
    ),
    "rows rounded by the runner": Case(
        parameters=STEPS,
        transforms=(ROUND,),
        runners=(graph("requests <= room", pipeline="round"),),
    ),
    "rounded rows in buckets": Case(
        modes=(ROUNDED,),
        parameters=(
            "cap: {type: int, range: [1, 3]}",
            "step: {type: int, range: [1, 3]}",
            "width: {type: int, range: [1, 2]}",
            "sizes: {type: list, range: [2, 7]}",
        ),
        transforms=(ROUND, "fill: {tokens: 'next_in(tokens, sizes)'}"),
        runners=(graph("tokens <= max(sizes)", pipeline="fill"),),
    ),
    "rounded rows of all ranks in buckets": Case(
        modes=(
            SYNCED.replace("sync", "round_all"),
            WAITS.replace("sync", "round_all"),
        ),
        parameters=(*RANKED, "sizes: {type: list, range: [1, 4]}"),
        transforms=(
            "round_all: {when: flag, collective: {op: all_gather, group: dp},"
            " requests: 'max_ranks(align_up(align_up(tokens, dp), 3) // 2)',"
            " tokens: 'max_ranks(align_up(align_up(tokens, dp), 3))'}",
            "fill: {requests: 'next_in(requests, sizes)', tokens: '2 * next_in(requests, sizes)'}",
        ),
        runners=(graph("requests <= max(sizes)", pipeline="fill"),),
        ranks="dp",
        # whether other ranks, which may be absent, bring exactly the largest bucket is not known
        loose=frozenset(("graph_target",)),
    ),
    "live rows decide": Case(
        modes=(ROUNDED,),
        parameters=STEPS,
        transforms=(ROUND,),
        runners=(graph("live_tokens <= room"),),
    ),
    "the largest of all ranks decides": Case(
        modes=(SYNCED, WAITS),
        parameters=(*RANKED, "low: {type: int, range: [0, 3]}"),
        transforms=(SYNC,),
        runners=(graph("requests <= low"),),
        ranks="dp",
    ),
    "each rank decides for itself": Case(
        modes=(SYNCED, WAITS),
        parameters=(*RANKED, "low: {type: int, range: [0, 3]}"),
        transforms=(SYNC,),
        runners=(graph("live_requests <= low", modes="[decode]"),),
        ranks="dp",
    ),
    "three runners": Case(
        parameters=TWO,
        runners=(
            runner_text("tiny", "accepts: [requests <= low]", "exclusive: true", "fallback: graph"),
            graph("requests <= high"),
        ),
        formulas={"eager_target.requests": "cap if cap > low and cap > high else 0"},
    ),
    "three runners of which the first exists sometimes": Case(
        runners=(
            GRAPH.replace("fallback: eager", "fallback: tiny"),
            runner_text("tiny", "accepts: [requests <= 3]", "exclusive: true", "fallback: eager"),
        ),
    ),
    "a runner that never takes a batch": Case(
        modes=(SPLIT,),
        parameters=("cap: {type: int, range: [1, 4]}", "flag: {type: bool}"),
        runners=(graph("flag and not flag", "align_up(tokens, cap) <= 3"),),
    ),
    "a runner that takes everything where it exists": Case(
        runners=(runner_text("graph", "when: flag", "exclusive: true", "fallback: eager"),),
        formulas={
            "graph_target.requests": "cap",
            "eager_target.requests": "0 if flag else cap",
        },
    ),
}


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Derived]:
    return {
        name: derived(tmp_path_factory.mktemp("chain"), case.files) for name, case in CASES.items()
    }


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_what_is_certified_is_what_gets_to_each_runner(
    name: str, every: dict[str, Derived]
) -> None:
    found = every[name]
    assert differences(found, at_most=60, seed=1) == []
    assert false_witnesses(found, at_most=6, seed=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_certified_is_so_in_all_configurations(
    name: str, every: dict[str, Derived]
) -> None:
    assert differences(every[name]) == []
    assert false_witnesses(every[name], at_most=10_000) == []


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_every_capacity_is_sound_and_all_but_some_are_tight(
    name: str, every: dict[str, Derived]
) -> None:
    proofs = every[name].certificate.proofs
    assert all(proof.sound for proof in proofs)
    assert {proof.runner for proof in proofs if not proof.tight} == CASES[name].loose


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.formulas])
@pytest.mark.slow
def test_a_capacity_says_what_is_left(name: str, every: dict[str, Derived]) -> None:
    found = every[name].capacities
    spelled = {
        target: spell(found.of(*target.split(".")).formula) for target in CASES[name].formulas
    }
    assert spelled == CASES[name].formulas


@pytest.mark.slow
def test_an_own_total_beside_a_maximum_over_ranks_is_not_that_of_one_rank(tmp_path: Path) -> None:
    """One rank brings the most rows while another has the longest request."""
    long = mode_text(
        live={"requests": "1; cap", "length": "per requests: 1; 9"},
        where=["5 * requests + sum_requests(length) <= 14"],
        requests="requests",
        tokens="2 * requests",
        pipeline=["sync"],
    )
    both = "{shape: ['requests + sum_requests(length)'], dtype: int64, source: batch.both}"
    files = small(
        long, parameters=RANKED, transforms=(SYNC,), slots=(SLOT, f"both: {both}"), ranks="dp"
    )
    found = derived(tmp_path, files)
    assert differences(found) == []
