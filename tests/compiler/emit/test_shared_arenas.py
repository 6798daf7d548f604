"""Generated runners that share storage load right, and debug mode finds those that may not."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.generated import package
from ullage_runtime.errors import BatchError, DebugError

# Any: the package exists only once the test has generated it.
Drawn = Any


def canal() -> ModuleType:
    return package("canal")


def workers(*, debug: bool = True, **arguments: object) -> tuple[Drawn, Drawn]:
    """The runners of target and draft, in one process."""
    config = canal().Config.of(drafts=True, **arguments)
    arenas = canal().Arenas.allocate(config, device="cpu", debug=debug)
    given = {"device": "cpu", "debug": debug, "arenas": arenas}
    return canal().TargetRunners(config, **given), canal().DraftRunners(config, **given)


def batch(mode: str, rows: int, seed: int = 3, tokens: int = 0) -> Drawn:
    count = tokens or rows
    return canal().LiveBatch(
        mode=canal().Mode[mode],
        size=rows,
        input_ids=(torch.arange(count) * 7 + seed) % 97 + 2,
        lengths=torch.arange(rows, dtype=torch.int32) + seed,
        table=torch.arange(rows * 70, dtype=torch.int32).view(rows, 70) % 89 + seed,
        host_lengths=torch.arange(rows, dtype=torch.int32) + seed + 1,
    )


FIELDS = ("input_ids", "lengths", "table", "host_lengths")


def assert_holds(loaded: Drawn, live: Drawn) -> None:
    for field in FIELDS:
        found = getattr(loaded, field)
        if found is not None:
            assert found.tolist() == getattr(live, field).tolist(), field


class Engine:
    """Checks what it is given, and runs another runner between the steps if there is one."""

    def __init__(self, live: Drawn, other: Drawn = None, others_batch: Drawn = None) -> None:
        self.live, self.other, self.others_batch = live, other, others_batch

    def forward(self, loaded: Drawn) -> torch.Tensor:
        assert_holds(loaded, self.live)
        if self.other is not None:
            self.other.execute(self.others_batch, Engine(self.others_batch))
        return loaded.input_ids.clone()


turns = st.lists(
    st.tuples(st.sampled_from(["eager", "graph", "prompt"]), st.booleans(), st.integers(1, 8)),
    min_size=2,
    max_size=6,
)


@given(turns, st.booleans(), st.booleans(), st.booleans())
@pytest.mark.slow
def test_whoever_loads_finds_its_own_batch(
    taken: list[tuple[str, bool, int]], streams: bool, wide: bool, debug: bool
) -> None:
    target, draft = workers(debug=debug, streams=streams, wide=wide)
    for seed, (name, drafts, rows) in enumerate(taken, 3):
        runner = getattr(draft if drafts else target, name)
        live = batch("EXTEND" if name == "prompt" else "DECODE", rows, seed)
        runner.execute(live, Engine(live))
        assert_holds(runner.load(live), live)


def test_runners_that_take_turns_have_the_same_addresses() -> None:
    target, draft = workers()
    first = target.eager.registry.input_ids.data_ptr()
    assert first == target.graph.registry.input_ids.data_ptr()
    assert first == draft.prompt.registry.input_ids.data_ptr()


def test_a_source_in_the_slot_of_another_runner_at_the_same_place_is_in_place() -> None:
    target, draft = workers(debug=True)
    live = batch("DECODE", 5)
    loaded = target.eager.load(live)
    again = replace(batch("DECODE", 5), input_ids=loaded.input_ids)
    assert_holds(draft.eager.load(again), live)


@pytest.mark.parametrize("streams", [False, True])
def test_a_source_elsewhere_in_the_arena_is_refused_before_anything_is_written(
    streams: bool,
) -> None:
    target, draft = workers(streams=streams)
    live = batch("DECODE", 5)
    loaded = target.eager.load(live)
    reused = replace(batch("DECODE", 5), lengths=loaded.lengths)
    with pytest.raises(BatchError, match="U718"):
        draft.graph.load(reused)
    assert_holds(loaded, live)


def test_a_step_that_runs_a_runner_which_shares_storage_is_found() -> None:
    target, draft = workers()
    live, other = batch("DECODE", 5), batch("DECODE", 4, seed=11)
    with pytest.raises(DebugError, match=r"eager of worker target ran, graph of worker draft"):
        target.eager.execute(live, Engine(live, draft.graph, other))
    target.eager.execute(live, Engine(live))


def test_a_step_may_run_a_runner_of_the_same_group() -> None:
    target, draft = workers(streams=True)
    live, other = batch("DECODE", 5), batch("DECODE", 4, seed=11)
    for beside in (draft.graph, target.graph):
        assert target.eager.execute(live, Engine(live, beside, other)).tolist() == (
            live.input_ids.tolist()
        )


def test_a_runner_of_its_own_shares_with_nobody() -> None:
    config = canal().Config.of()
    runner = canal().EagerTargetRunner(config, device="cpu")
    other = canal().GraphTargetRunner(config, device="cpu")
    assert runner.registry.arenas[0].size_bytes > other.registry.arenas[0].size_bytes
    live = batch("DECODE", 5)
    loaded = runner.load(live)
    other.load(batch("DECODE", 4, seed=11))
    assert_holds(loaded, live)


def test_arenas_of_another_configuration_are_refused() -> None:
    arenas = canal().Arenas.allocate(canal().Config.of(max_requests=3), device="cpu")
    with pytest.raises(ValueError, match="another configuration"):
        canal().EagerTargetRunner(canal().Config.of(), device="cpu", arenas=arenas)


def test_arenas_have_room_for_the_runners_that_exist_only() -> None:
    arenas = canal().Arenas.allocate(canal().Config.of(), device="cpu")
    assert arenas.eager_draft is None
    assert arenas.graph_target is not None
