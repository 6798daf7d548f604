"""Shapes that a runner has not met yet: loaded and refused as by a runner that has met none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from support.sglang_engine import decode_batch
from ullage_generated.sglang import Config, EagerTargetBatch, EagerTargetRunner, LiveBatch, Mode
from ullage_runtime.errors import UllageRuntimeError
from ullage_runtime.ranks import SingleRank
from ullage_runtime.recipe import Recipe
from ullage_runtime.views import RecentlyUsed, SlotViews

REQUESTS, TOKENS = 6, 16
CONFIG = Config.of(
    max_running_requests=REQUESTS, max_total_tokens_target=64, chunked_prefill_size=TOKENS
)


def runner() -> EagerTargetRunner:
    return EagerTargetRunner(CONFIG, SingleRank(), device="cpu")


def live_batch(mode: Mode, requests: int, tokens: int, seed: int, *, on_host: bool) -> LiveBatch:
    generator = torch.Generator().manual_seed(seed)

    def numbers(count: int, dtype: torch.dtype = torch.int64) -> Tensor:
        return torch.randint(1, 60, (count,), generator=generator).to(dtype)

    batch = LiveBatch(
        mode=mode,
        batch_size=requests,
        input_ids=numbers(tokens),
        positions=numbers(tokens, torch.int32),
        out_cache_loc=numbers(tokens),
        req_pool_indices=numbers(requests),
        seq_lens=numbers(requests),
        seq_lens_cpu=numbers(requests) if on_host else None,
    )
    if mode is not Mode.EXTEND:
        return batch
    lens, prefixes = numbers(requests, torch.int32), numbers(requests, torch.int32)
    return replace(batch, extend_seq_lens=lens, extend_prefix_lens=prefixes)


def decode(requests: int, seed: int = 1) -> LiveBatch:
    return live_batch(Mode.DECODE, requests, requests, seed, on_host=True)


def extend(requests: int, tokens: int, seed: int = 1) -> LiveBatch:
    return live_batch(Mode.EXTEND, requests, tokens, seed, on_host=True)


@st.composite
def batches(draw: st.DrawFn) -> LiveBatch:
    requests = draw(st.integers(1, REQUESTS))
    seed, on_host = draw(st.integers(0, 10**6)), draw(st.booleans())
    if draw(st.booleans()):
        return live_batch(Mode.DECODE, requests, requests, seed, on_host=on_host)
    tokens = draw(st.integers(requests, TOKENS))
    return live_batch(Mode.EXTEND, requests, tokens, seed, on_host=on_host)


def contents(batch: EagerTargetBatch) -> dict[str, object]:
    values = {each.name: getattr(batch, each.name) for each in fields(batch)}
    return {
        name: value.tolist() if isinstance(value, Tensor) else value
        for name, value in values.items()
    }


def storages(served: EagerTargetRunner) -> Iterator[Tensor]:
    return (arena.storage.clone() for arena in served.registry.arenas)


@given(st.lists(batches(), min_size=1, max_size=10), st.sampled_from([1, 2, 100]))
def test_shapes_in_any_order_are_loaded_as_by_a_new_runner(
    some: list[LiveBatch], limit: int
) -> None:
    served = runner()
    served.plans.kept = RecentlyUsed(limit)
    served.plans.recipes.views = SlotViews(8 * limit)
    for live in some:
        batch = served.load(live)
        expected = runner().load(live)
        assert contents(batch) == contents(expected)
        for name, source in served.registry.SOURCES.items():
            given, view = getattr(live, source), getattr(batch, name)
            assert (given is None) == (view is None)
            assert given is None or torch.equal(view, given.to(view.dtype))
        assert len(served.plans.kept) <= limit


Wrong = Callable[[LiveBatch], LiveBatch]


def of(**changes: object) -> Wrong:
    return lambda live: replace(live, **changes)  # type: ignore[arg-type]  # on purpose


WRONG: dict[str, Wrong] = {
    "more requests than there is room for": lambda _: extend(REQUESTS + 1, TOKENS),
    "more tokens than there is room for": lambda _: extend(2, TOKENS + 1),
    "more requests than tokens": lambda _: extend(5, 4),
    "no request": of(batch_size=0),
    "too many tokens and a missing source": lambda _: replace(extend(2, 17), seq_lens=None),
    "too many tokens and a wrong dtype": lambda _: replace(
        extend(2, TOKENS + 1), seq_lens=torch.ones(2)
    ),
    "a missing source": of(seq_lens=None),
    "a wrong dtype": of(seq_lens=torch.ones(5)),
    "an unwanted dtype": of(seq_lens=torch.ones(5, dtype=torch.int16)),
    "another shape": of(positions=torch.ones(8, dtype=torch.int32)),
    "another device": of(seq_lens=torch.ones(5, dtype=torch.int64, device="meta")),
    "a sparse one": of(seq_lens=torch.ones(5, dtype=torch.int64).to_sparse()),
    "no tensor": of(out_cache_loc=[1] * 9),
    "a wrong one that was missing before": of(mrope_positions=torch.ones(2, 9)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_new_shape_is_said_as_by_a_new_runner(name: str) -> None:
    served, fresh = runner(), runner()
    for tokens in (7, 8):
        served.load(extend(3, tokens))
    live = WRONG[name](extend(5, 9))
    before = list(storages(served))
    errors = []
    for each in (served, fresh):
        with pytest.raises(UllageRuntimeError) as caught:
            each.load(live)
        errors.append((type(caught.value), caught.value.code, str(caught.value)))
    assert errors[0] == errors[1]
    assert all(map(torch.equal, before, storages(served)))


def test_a_plan_is_made_of_a_shape_that_comes_for_the_second_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = {tokens: contents(runner().load(extend(3, tokens))) for tokens in (7, 8, 9)}
    served, plan, planned = runner(), Recipe.plan, []

    def counting(self: Recipe[object, object, object], *given: object) -> object:
        planned.append(given)
        return plan(self, *given)

    monkeypatch.setattr(Recipe, "plan", counting)
    for tokens, plans in ((7, 1), (8, 1), (9, 1), (8, 2), (8, 2), (7, 2), (9, 3), (9, 3)):
        assert contents(served.load(extend(3, tokens))) == expected[tokens]
        assert len(planned) == plans


def test_a_source_in_static_storage_is_refused_for_a_new_shape_unless_it_is_in_place() -> None:
    served = runner()
    first = served.load(decode(5))
    for name, is_fine in (("seq_lens", True), ("positions", False)):
        view = getattr(first, name)
        live = replace(decode(3), seq_lens=view[:3])
        if is_fine:
            assert contents(served.load(live))["seq_lens"] == view[:3].tolist()
        else:
            with pytest.raises(UllageRuntimeError, match="U718"):
                served.load(live)


def test_a_new_shape_is_handed_out_as_it_is_where_nothing_is_copied() -> None:
    served = runner()
    served.load(decode(5))
    live = decode(3)
    before = list(storages(served))
    batch = served.load(live, copy=False)
    assert batch.seq_lens is live.seq_lens
    assert batch.input_ids is live.input_ids
    assert all(map(torch.equal, before, storages(served)))


def test_debug_mode_checks_every_batch_of_every_shape() -> None:
    served = EagerTargetRunner(CONFIG, SingleRank(), device="cpu", debug=True)
    served.load(decode_batch(5))
    with pytest.raises(UllageRuntimeError, match="out_cache_loc holds 0"):
        served.load(replace(decode_batch(3), out_cache_loc=torch.tensor([4, 0, 6])))
    assert len(served.plans.kept) == 0
