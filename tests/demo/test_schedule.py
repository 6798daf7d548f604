from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ullage_demo.paged_kv import RequestTable
from ullage_demo.plain import advance
from ullage_demo.schedule import Request, Scheduler, Step
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode

MAX_RUNNING = 3
BUDGET = 16


def scheduler(requests: list[Request], *, mixes: bool = True) -> Scheduler:
    table = RequestTable(MAX_RUNNING, 80, 2 * MAX_RUNNING * 10, 8)
    return Scheduler(requests, table, MAX_RUNNING, BUDGET, mixes=mixes)


def pretend(step: Step) -> None:
    """Compute nothing; every sequence gains token 11."""
    advance(step.chunks, torch.eye(20)[[11] * sum(chunk.length for chunk in step.chunks)])


@given(st.integers(1, 9), st.integers(0, 50), st.booleans())
def test_every_step_keeps_to_the_limits_and_everyone_is_served(
    count: int, seed: int, mixes: bool
) -> None:
    requests = make_requests(count, seed=seed, pause_before_last=30)
    steps: list[Step] = []

    def record(step: Step) -> None:
        steps.append(step)
        pretend(step)

    outputs = scheduler(requests, mixes=mixes).serve(record)
    assert outputs == [(11,) * request.new_tokens for request in requests]
    for step in steps:
        assert len(step.chunks) <= MAX_RUNNING
        assert sum(chunk.length for chunk in step.chunks) <= BUDGET
        assert len(set(step.sequences)) == len(step.chunks)


def test_a_mixed_step_puts_one_token_of_each_decode_behind_the_prompts() -> None:
    requests = [Request((3, 4), 6), Request(tuple(range(1, 41)), 4)]
    serving = scheduler(requests)
    first = serving.next_step()
    assert first is not None
    assert [(chunk.length) for chunk in first.chunks] == [2, BUDGET - 2]
    pretend(first)
    second = serving.next_step()
    assert second is not None
    assert (second.mode, second.decodes) == (Mode.MIXED, 1)
    assert [chunk.length for chunk in second.chunks] == [BUDGET - 1, 1]
    assert second.chunks[-1].sequence.request is requests[0]


def test_without_mixing_decodes_wait_for_prompts() -> None:
    serving = scheduler([Request((3, 4), 6), Request(tuple(range(1, 41)), 4)], mixes=False)
    modes = []
    for _ in range(4):
        step = serving.next_step()
        assert step is not None
        modes.append(step.mode)
        pretend(step)
    assert modes == [Mode.EXTEND] * 3 + [Mode.DECODE]


def test_it_idles_until_the_next_request_arrives() -> None:
    modes: list[Mode] = []

    def record(step: Step) -> None:
        modes.append(step.mode)
        pretend(step)

    scheduler([Request((3,), 2), Request((5,), 2, arrival=9)]).serve(record)
    assert Counter(modes) == {Mode.EXTEND: 2, Mode.DECODE: 2, Mode.IDLE: 7}


def test_a_budget_without_room_for_prompts_is_refused() -> None:
    with pytest.raises(ValueError, match="budget of 3 tokens"):
        Scheduler([], RequestTable(3, 8, 3, 8), 3, 3, mixes=True)
