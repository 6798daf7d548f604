"""Drafts of another length in each round: no token changes, and the checks can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ullage_demo.adaptive import (
    ADAPTIVE,
    CANDIDATES,
    adaptive_sizes,
    holds_the_longest,
    refuses_another_length,
    switched_under_way,
    verified_the_chosen,
)
from ullage_demo.checks import equals_generate
from ullage_demo.eagle_draft import EagleDrafter
from ullage_demo.runners import build_config
from ullage_demo.scenarios import CHAIN
from ullage_demo.schedule import Request, RunningSequence
from ullage_demo.setting import Demo, build_scheduler
from ullage_demo.sizes import Sizes, Speculation
from ullage_demo.speculation import Round, SpeculativeDecoder, verify_batch
from ullage_demo.tree import ROOT, DraftTree
from ullage_demo.worker import draft_worker, target_worker
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode
from ullage_runtime.errors import BatchError, ConfigurationError

REQUESTS = make_requests(3, seed=6, new_tokens=(12, 20))


def serve(*lengths: int, noise: float = 0.03) -> tuple[list[tuple[int, ...]], list[Round]]:
    """Serve with these lengths, and with the last of them from then on."""
    sizes = adaptive_sizes()
    target = target_worker(sizes)
    drafter = EagleDrafter(draft_worker(target, sizes, noise))
    turns = [*lengths, *[lengths[-1]] * 100]
    decoder = SpeculativeDecoder(target, drafter, ADAPTIVE, turns)
    outputs = build_scheduler(REQUESTS, target.table, sizes).serve(decoder.run_step)
    loaded = target.runner.statistics[Mode.ADAPTIVE_VERIFY].shapes
    assert verified_the_chosen(decoder.rounds, loaded).passed
    return outputs, decoder.rounds


@pytest.mark.parametrize("lengths", [(8, 1, 6, 2, 4), (1, 8), (2, 4, 2, 8, 1)])
def test_a_change_of_length_changes_no_token(demo: Demo, lengths: tuple[int, ...]) -> None:
    outputs, rounds = serve(*lengths)
    assert equals_generate(demo.reference, REQUESTS, outputs).passed
    assert [each.draft_tokens for each in rounds[: len(lengths)]] == list(lengths)


def test_without_a_step_of_the_draft_each_round_gives_one_token(demo: Demo) -> None:
    outputs, rounds = serve(1)
    assert equals_generate(demo.reference, REQUESTS, outputs).passed
    assert len(rounds) >= max(request.new_tokens for request in REQUESTS) - 1


def test_a_draft_that_is_the_target_gives_all_of_the_length(demo: Demo) -> None:
    outputs, rounds = serve(8, noise=0.0)
    assert equals_generate(demo.reference, REQUESTS, outputs).passed
    assert len(rounds) < max(request.new_tokens for request in REQUESTS)


def test_a_length_that_is_no_candidate_is_refused() -> None:
    with pytest.raises(BatchError, match=r"adaptive_draft_tokens is 5"):
        serve(4, 5)


def test_a_batch_that_does_not_say_its_length_has_the_configured_one() -> None:
    target = target_worker(adaptive_sizes())
    short = DraftTree((5, 6, 7, 8), (ROOT, 0, 1, 2), (0, 1, 2, 3))
    live = verify_batch(target.table, [running()], [short], length=4)
    assert target.runner.load(live).tokens == 4
    with pytest.raises(BatchError, match="input_ids"):
        target.runner.load(replace(live, adaptive_draft_tokens=None))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topk": 2, "draft_tokens": 8}, "only a chain"),
        ({"draft_tokens": 6, "steps": 5}, "longest chain"),
    ],
)
def test_sizes_that_no_adaptive_engine_could_have_are_refused(
    change: dict[str, int], message: str
) -> None:
    sizes = replace(adaptive_sizes(), speculation=replace(ADAPTIVE, **change))
    with pytest.raises(ConfigurationError, match=message):
        build_config(sizes)


def test_ranks_that_synchronise_have_one_length() -> None:
    with pytest.raises(ConfigurationError, match="synchronised over ranks"):
        build_config(replace(adaptive_sizes(), alignment=3))


# The checks of the scenario, each with a run that it must not pass.


def rounds_of(*lengths: int, shared: bool = True) -> list[Round]:
    sequence = running()
    return [Round(length, (sequence if shared else running(),)) for length in lengths]


def running() -> RunningSequence:
    return RunningSequence(Request((31, 32), 9), 1, [31, 32, 33], 2)


@pytest.mark.parametrize(
    ("rounds", "passes"),
    [
        (rounds_of(4, 8, 1, 6, 2), True),
        (rounds_of(4, 8, 1, 6, 2, shared=False), False),
        (rounds_of(4, 8, 1, 6), False),
        (rounds_of(4, 4, 4, 8, 8, 8, 1, 1, 6, 6, 2, 2), False),
        (rounds_of(4, 4, 4), False),
        ([], False),
    ],
)
def test_switches_are_seen_under_way_only(rounds: list[Round], passes: bool) -> None:
    assert switched_under_way(rounds, CANDIDATES).passed is passes


@pytest.mark.parametrize(
    ("loaded", "passes"),
    [([(1, 4), (1, 8)], True), ([(1, 4), (1, 4)], False), ([(1, 4)], False), ([], False)],
)
def test_a_verify_of_another_width_is_seen(loaded: list[tuple[int, int]], passes: bool) -> None:
    assert verified_the_chosen(rounds_of(4, 8), loaded).passed is passes


def test_buffers_of_another_size_are_seen() -> None:
    right = adaptive_sizes()
    fixed = replace(right, speculation=CHAIN)
    for sizes, passes in ((right, True), (replace(right, chunk=64), False), (fixed, False)):
        target = target_worker(sizes)
        draft = draft_worker(target, sizes, 0.03)
        assert holds_the_longest(target.runner, draft.runner, right).passed is passes


def test_an_engine_that_takes_any_length_is_seen() -> None:
    sizes = Sizes(speculation=Speculation(steps=4, topk=1, draft_tokens=5), max_running=2)
    assert not refuses_another_length(target_worker(sizes)).passed
    assert refuses_another_length(target_worker(adaptive_sizes())).passed
