"""What the review of SGLang's EagerRunner found, each finding by its name.

A finding is refused by the language, found by an audit, or made impossible by what is generated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from support.audits import Audited
from support.hazards import (
    DECODE,
    EAGER,
    ENGINE,
    LEAST,
    Hazard,
    analysed,
    check,
    golden_name,
    imported,
    spec,
)
from support.shared import sglang, sglang_audit
from support.specs import Files
from ullage_runtime.ranks import SingleRank

# Any: the packages exist only once the test has generated them.
Drawn = Any

# Buffers that are too small: an audit of the engine's rule finds each, in SGLang's own spec.


@dataclass(frozen=True, slots=True)
class Undersized:
    """A rule of the review, and the mode of which some legal batch does not fit it."""

    audit: str
    runner: str
    axis: str
    mode: str


UNDERSIZED = {
    "frozen-KV drafting makes a row of each branch": Undersized(
        "review_frozen_kv_topk", "eager_draft", "requests", "frozen_kv_draft"
    ),
    "a step of a diffusion model computes a block": Undersized(
        "review_dllm_block", "eager_target", "tokens", "dllm_extend"
    ),
    "MLP-sync pads rows": Undersized("review_mlp_sync", "eager_target", "requests", "decode"),
    "dynamic chunks exceed the configured one": Undersized(
        "review_dynamic_chunking", "eager_target", "tokens", "extend"
    ),
    "a DFLASH verify checks several tokens": Undersized(
        "review_dflash_verify", "eager_target", "tokens", "target_verify"
    ),
    "an EAGLE draft step expands branches": Undersized(
        "review_draft_expansion", "eager_draft", "tokens", "eagle_draft"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("finding", UNDERSIZED)
def test_an_audit_finds_the_batch_that_does_not_fit(finding: str) -> None:
    found = UNDERSIZED[finding]
    report = sglang_audit()
    formula = Audited(sglang(), report).formula(found.audit, found.runner, found.axis)
    verdict = formula.of(found.mode)
    assert verdict.verdict == "overflows"
    example = verdict.counterexamples[0]
    assert example.stated < example.extent
    assert report.diagnostics == ()


@pytest.mark.slow
def test_what_is_derived_instead_is_proved_for_every_mode() -> None:
    assert sglang().certificate.unproven == ()


# Split prefill ran before the step that padded for MLP-sync, so its ranks met in other collectives.

_SYNC = """\
transforms:
  sync:
    arguments: [tokens_per_request]
    collective: {op: all_gather_max, group: dp}
    let: {padded: max_ranks(tokens)}
    requests: padded // tokens_per_request
    tokens: padded
  gather:
    collective: {op: all_gather_max, group: dp}
    tokens: max_ranks(tokens)
"""
_RANKS = LEAST[ENGINE].replace("definitions:", "ranks: 4\ndefinitions:").split("transforms:")[0]
_IDS = """\
slots:
  ids: {shape: [tokens], dtype: int64, source: batch.ids}
readers:
  kernel: {reads: {ids: {rows: padded, fill: 3}}}
"""
_SPLIT = """\
mode: split_prefill
live: {requests: {range: [1, rows], seen_in: batch.size}}
axes: {requests: requests, tokens: requests * one}
pipeline: [gather, sync(tokens_per_request=one)]
peers: [decode]
"""
_IN_ORDER = "[sync(tokens_per_request=one), gather]"


def synced(split: str) -> Files:
    """Two modes of one round, the second with these transforms."""
    return spec(
        _IDS,
        {
            ENGINE: _RANKS,
            "sync.yaml": _SYNC,
            "split.yaml": split,
            DECODE: LEAST[DECODE].replace("[pad]", _IN_ORDER),
        },
    )


COLLECTIVES = {
    "split prefill enters collectives in another order": Hazard(
        "U609",
        "split_prefill",
        ("decode",),
        synced(_SPLIT),
        {"[gather, sync(tokens_per_request=one)]": _IN_ORDER},
    ),
    "split prefill skips the collective of MLP-sync": Hazard(
        "U609",
        "split_prefill",
        ("decode",),
        synced(_SPLIT.replace("[gather, sync(tokens_per_request=one)]", "[gather]")),
        {"pipeline: [gather]": f"pipeline: {_IN_ORDER}"},
    ),
}


@pytest.mark.parametrize("finding", COLLECTIVES)
def test_refused(tmp_path: Path, golden: Callable[[str, str], None], finding: str) -> None:
    golden(golden_name(finding), check(COLLECTIVES[finding], tmp_path))


class Ranks(SingleRank):
    """One of four ranks that bring the same; notes what was exchanged."""

    def __init__(self) -> None:
        self.count = 4
        self.exchanged: list[str] = []

    def max_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        self.exchanged.append(collective)
        return values


class Engine:
    """Notes its steps."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks

    def forward(self, batch: Drawn) -> None:
        self.ranks.exchanged.append("forward")


def test_split_prefill_pads_with_all_ranks_before_any_step_of_its_batch(tmp_path: Path) -> None:
    right = COLLECTIVES["split prefill enters collectives in another order"].right
    package = imported(tmp_path, "hazard_split", right)
    ranks = Ranks()
    runner = package.EagerTargetRunner(package.Config.of(rows=6), ranks, device="cpu")
    for mode in package.Mode:
        ids = torch.arange(5) + 30
        runner.execute(package.LiveBatch(mode=mode, size=5, ids=ids), Engine(ranks))
        assert ranks.exchanged == ["sync", "gather", "forward"]
        ranks.exchanged.clear()


@pytest.mark.slow
def test_split_prefill_of_sglang_pads_as_extend_does() -> None:
    modes = sglang().resolved.modes
    split, whole = (
        [entry.transform for entry in modes[mode].pipeline] for mode in ("split_prefill", "extend")
    )
    assert split == whole == ["mlp_sync_tokens", "late_counts", "even_shares"]


# The eager runner filled lengths with 0 in storage that decode graphs were captured with.


def test_a_graph_is_loaded_with_its_own_fill_over_what_the_eager_runner_left(
    tmp_path: Path,
) -> None:
    graph = (
        "runner: graph\nworkers: [target]\nmodes: all\nslots: all\naccepts: [requests <= 8]\n"
        "fallback: eager\nsteps:\n  - {do: load}\n  - {step: replay, readers: [captured]}\n"
    )
    slots = (
        "slots:\n  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens}\n"
        "readers:\n  kernel: {reads: {seq_lens: {rows: padded, fill: 0}}}\n"
        "  captured: {reads: {seq_lens: {rows: padded, fill: 1}}}\n"
    )
    package = imported(tmp_path, "hazard_lengths", spec(slots, {"graph.yaml": graph}))
    config = package.Config.of(rows=16)
    arenas = package.Arenas.allocate(config, device="cpu")
    eager = package.EagerTargetRunner(config, device="cpu", arenas=arenas)
    replayed = package.GraphTargetRunner(config, device="cpu", arenas=arenas)

    def lengths(rows: int) -> Drawn:
        own = torch.arange(rows, dtype=torch.int32) + 90
        return package.LiveBatch(mode=package.Mode.DECODE, size=rows, seq_lens=own)

    assert eager.load(lengths(5)).seq_lens.tolist() == [90, 91, 92, 93, 94, 0, 0, 0]
    assert replayed.load(lengths(5)).seq_lens.tolist() == [90, 91, 92, 93, 94, 1, 1, 1]
    assert replayed.registry.seq_lens.data_ptr() == eager.registry.seq_lens.data_ptr()


# Context-parallel prefill switched the graphs of decode batches off as well.

_CONTEXT = LEAST[ENGINE].replace(
    "definitions:", "  context_parallel: {type: bool, default: false}\ndefinitions:"
)
_EXTEND = LEAST[DECODE].replace("mode: decode", "mode: extend")


def graph_of(mode: str, condition: str) -> str:
    return (
        f"runner: {mode}_graph\nworkers: [target]\nmodes: [{mode}]\nslots: all\n"
        f"accepts: [{condition}]\nfallback: eager\n"
        "steps:\n  - {do: load}\n  - {step: replay, readers: [kernel]}\n"
    )


@pytest.mark.parametrize("context_parallel", [False, True])
def test_what_refuses_prefill_graphs_says_nothing_about_decode_graphs(
    tmp_path: Path, context_parallel: bool
) -> None:
    others = {
        ENGINE: _CONTEXT,
        EAGER: LEAST[EAGER],
        "extend.yaml": _EXTEND,
        "extend_graph.yaml": graph_of("extend", "not context_parallel"),
        "decode_graph.yaml": graph_of("decode", "requests <= 8"),
    }
    package = imported(tmp_path, f"hazard_context_{context_parallel:d}", spec(_IDS, others))
    config = package.Config.of(rows=6, context_parallel=context_parallel)
    runners = package.TargetRunners(config, device="cpu")

    def chosen(mode: str) -> Drawn:
        ids = torch.arange(5) + 30
        return runners.select(package.LiveBatch(mode=package.Mode[mode], size=5, ids=ids))[0]

    assert chosen("DECODE") is runners.decode_graph
    assert chosen("EXTEND") is (runners.eager if context_parallel else runners.extend_graph)


@pytest.mark.parametrize("condition", ["shards == 1", "shards == 1 and requests <= 8"])
def test_context_parallelism_switches_no_decode_graph_off_without_a_word(
    tmp_path: Path, condition: str
) -> None:
    shards = "  shards: {type: int, range: [1, 4], default: 1}\ndefinitions:"
    others = {
        ENGINE: LEAST[ENGINE].replace("definitions:", shards),
        EAGER: LEAST[EAGER],
        "decode_graph.yaml": graph_of("decode", condition),
    }
    told = analysed(tmp_path, spec(_IDS, others)).warnings
    (found,) = [each for each in told if each.code == "U634"]
    assert found.message == (
        "all batches of mode 'decode' can fall back to 'eager': "
        "runner 'decode_graph' takes them only where shards == 1"
    )
    assert found.place.file.endswith("decode_graph.yaml")
    assert "shards = 2" in (found.hint or "")
