"""Loads of the generated SGLang runners against rules written down by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from support.sglang_engine import brought, decode_batch, two_ranks
from support.sglang_reference import (
    EXTEND_SLOTS,
    WRITTEN_DOWN,
    Expected,
    expected_rows,
    expected_slot,
    loaded_slots,
    real_tokens,
)
from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetRunner,
    EagerDraftBatch,
    EagerDraftRunner,
    EagerTargetBatch,
    EagerTargetRunner,
    LiveBatch,
    Mode,
    eager_draft,
    eager_target,
    strategies,
)
from ullage_runtime.debug import poison
from ullage_runtime.errors import BatchError, CapacityError
from ullage_runtime.ranks import Gathered, SingleRank

Runner = EagerTargetRunner | EagerDraftRunner
Batch = EagerTargetBatch | EagerDraftBatch
SEEDS: tuple[dict[str, object], ...] = (
    {},
    {"dllm_block_size": 3},
    {"tp_size": 8, "attn_dp_size": 2, "enable_dp_attention": True, "ep_size": 8},
    {"tp_size": 12, "attn_cp_size": 2, "attn_dp_size": 2, "enable_dp_attention": True},
    {"speculative_algorithm": "frozen_kv_mtp", "speculative_eagle_topk": 3},
    {"speculative_algorithm": "eagle", "moe_a2a_backend": "deepep", "tp_size": 4},
    {"enable_mixed_chunk": True, "chunked_prefill_size": 9},
    {"speculative_algorithm": "dflash"},
    {"enable_pdmux": True},
    {"attention_takes_shares": True, "tp_size": 3},
)
"""What makes modes occur that few of the configurations would have by chance."""


class Alone(SingleRank):
    """One of `count` ranks, whose peers all bring `tokens`."""

    def __init__(self, count: int, tokens: int = 0, requests: int = 0) -> None:
        self.count = count
        self.peers = tokens
        self.requests = requests

    def gather(self, *values: int, collective: str = "") -> Gathered:
        others = brought(collective, self.peers, self.requests)
        return (values, *[others] * (self.count - 1))


@st.composite
def runners(draw: st.DrawFn, *, debug: bool = True) -> Runner:
    config = draw(strategies.configs(fixed=draw(st.sampled_from(SEEDS))))
    ranks = Alone(config.num_dp_ranks)
    if config.has_draft_worker and draw(st.booleans()):
        return EagerDraftRunner(config, ranks, device="cpu", debug=debug)
    return EagerTargetRunner(config, ranks, device="cpu", debug=debug)


def batches(runner: Runner) -> st.SearchStrategy[LiveBatch]:
    batches_of = (
        strategies.eager_target_batches
        if isinstance(runner, EagerTargetRunner)
        else strategies.eager_draft_batches
    )
    return st.sampled_from(runner.modes).flatmap(lambda mode: batches_of(runner.config, mode))


def expected_of(runner: Runner, live: LiveBatch) -> Expected:
    """The rows by the engine's rules; those that were generated for modes without any here."""
    if live.mode in WRITTEN_DOWN:
        return expected_rows(runner.config, live)
    extents = runner.extents(live)
    rows, padded = extents.rows, extents.padded
    return Expected(rows.requests, rows.tokens, padded.requests, padded.tokens)


def assert_loaded(batch: Batch, live: LiveBatch, runner: Runner) -> None:
    config, expected = runner.config, expected_of(runner, live)
    assert (batch.live_requests, batch.live_tokens) == (expected.requests, expected.tokens)
    assert (batch.requests, batch.tokens) == (expected.padded_requests, expected.padded_tokens)
    assert batch.mode is live.mode
    assert batch.input_embeds is live.input_embeds
    loaded = loaded_slots(config, live.mode)
    for slot in loaded:
        found: Tensor | None = getattr(batch, slot)
        wanted = expected_slot(slot, live, config, expected)
        if wanted is None:
            assert found is None, slot
            continue
        assert found is not None, slot
        assert found.dtype is wanted.dtype, slot
        anything = wanted < 0
        assert torch.equal(found[~anything], wanted[~anything]), slot
        assert bool(((found >= 0) & (found < config.vocab_size))[anything].all()), slot
    for slot in (slot for slot in EXTEND_SLOTS if slot not in loaded):
        carried = getattr(live, slot) if "lengthening" in live.mode.families else None
        assert getattr(batch, slot) is carried
    counted = batch.num_token_non_padded
    assert (counted if counted is None else counted.tolist()) == real_tokens(
        runner.config, expected
    )


@given(st.data())
@pytest.mark.slow
def test_every_legal_batch_loads_as_the_engine_pads_it(data: st.DataObject) -> None:
    runner = data.draw(runners())
    live = data.draw(batches(runner))
    assert_loaded(runner.load(live), live, runner)


def test_a_mode_may_have_more_rows_than_a_slot_holds_that_it_does_not_load() -> None:
    config = Config.of(
        max_running_requests=7,
        max_total_tokens_target=64,
        chunked_prefill_size=3,
        enable_dp_attention=True,
        tp_size=4,
    )
    runner = EagerTargetRunner(config, Alone(1), device="cpu", debug=True)
    assert runner.capacities.requests == 8
    assert runner.registry.extend_seq_lens.shape == (7,)
    batch = runner.load(decode_batch(7))
    assert (batch.requests, batch.extend_seq_lens) == (8, None)
    assert batch.seq_lens.tolist() == [*range(12, 19), 1]
    runner.registry.regions.check_canaries()


@given(st.data())
@pytest.mark.slow
def test_nothing_of_earlier_batches_is_left(data: st.DataObject) -> None:
    runner = data.draw(runners(debug=False))
    for slot in runner.registry.slots:
        poison(slot)
    for _ in range(3):
        live = data.draw(batches(runner))
        assert_loaded(runner.load(live), live, runner)
    largest = runner.largest_batch()
    smallest = data.draw(batches(runner))
    if largest is not None:
        runner.load(largest)
    assert_loaded(runner.load(smallest), smallest, runner)


@given(st.data())
@pytest.mark.slow
def test_the_largest_batch_of_a_runner_is_legal_and_fills_its_tokens(data: st.DataObject) -> None:
    runner = data.draw(runners())
    live = runner.largest_batch()
    if live is None:
        return
    batch = runner.load(live)
    assert_loaded(batch, live, runner)
    assert batch.requests <= runner.capacities.requests
    assert batch.tokens <= runner.capacities.tokens


@given(st.data())
@pytest.mark.slow
def test_without_padding_a_batch_has_its_live_rows_only(data: st.DataObject) -> None:
    runner = data.draw(runners())
    live = data.draw(batches(runner))
    batch = runner.load(live, pad=False)
    expected = expected_of(runner, live)
    assert (batch.requests, batch.tokens) == (expected.requests, expected.tokens)
    assert not batch.has_padding


@given(st.data())
@pytest.mark.slow
def test_a_batch_that_is_not_copied_is_the_live_one_or_refused(data: st.DataObject) -> None:
    runner = data.draw(runners(debug=False))
    live = data.draw(batches(runner))
    before = [slot.clone() for slot in runner.registry.slots]
    expected = expected_of(runner, live)
    padded = (expected.padded_requests, expected.padded_tokens)
    if padded != (expected.requests, expected.tokens):
        with pytest.raises(BatchError, match="copy=False") as caught:
            runner.load(live, copy=False)
        assert caught.value.code == "U716"
    else:
        batch = runner.load(live, copy=False)
        for slot in loaded_slots(runner.config, live.mode):
            assert getattr(batch, slot) is getattr(live, slot)
        counted = batch.num_token_non_padded
        assert (counted if counted is None else counted.tolist()) == real_tokens(
            runner.config, expected
        )
    assert all(map(torch.equal, runner.registry.slots, before))


def dp_runner(tokens: int, *, joined: bool = False) -> EagerTargetRunner:
    ranks = Alone(2, tokens, tokens)
    return EagerTargetRunner(two_ranks(joined=joined), ranks, device="cpu", debug=True)


def test_a_rank_is_padded_to_the_largest_count_of_all_ranks() -> None:
    batch = dp_runner(5).load(decode_batch(2))
    assert (batch.live_requests, batch.requests, batch.tokens) == (2, 5, 5)
    assert batch.seq_lens is not None
    assert batch.seq_lens.tolist() == [12, 13, 1, 1, 1]


def test_an_idle_rank_is_padded_and_needs_no_sources() -> None:
    batch = dp_runner(4).load(LiveBatch(mode=Mode.IDLE))
    assert (batch.live_requests, batch.requests, batch.tokens) == (0, 4, 4)
    assert batch.has_padding
    assert batch.positions is not None
    assert batch.positions.tolist() == [0] * 4
    empty = LiveBatch(mode=Mode.IDLE, input_ids=torch.empty(0, dtype=torch.int64))
    for ids in (batch.input_ids, dp_runner(4).load(empty).input_ids):
        assert ids is not None
        assert ids.shape == (4,)


def test_a_rank_without_work_leaves_no_row_of_an_earlier_batch_where_a_graph_reads() -> None:
    config = Config.of(
        enable_dp_attention=True,
        tp_size=2,
        attn_dp_size=2,
        max_running_requests=6,
        enable_decode_graph=True,
        capture_requests=(2, 4),
    )
    runner = DecodeGraphTargetRunner(config, Alone(2, 4, 4), device="cpu")
    decode = runner.load(decode_batch(3))
    assert decode.out_cache_loc is not None
    assert decode.out_cache_loc.tolist() == [21, 22, 23, 0]
    idle = runner.load(LiveBatch(mode=Mode.IDLE))
    assert idle.out_cache_loc is not None
    assert idle.out_cache_loc.tolist() == [0] * 4
    assert idle.out_cache_loc.data_ptr() == decode.out_cache_loc.data_ptr()


def test_an_idle_rank_whose_peers_extend_carries_one_dummy_request() -> None:
    batch = dp_runner(9).load(LiveBatch(mode=Mode.IDLE_BESIDE_EXTEND))
    assert (batch.live_requests, batch.requests, batch.tokens) == (0, 1, 9)


def test_ranks_keep_their_own_counts_once_some_have_joined() -> None:
    decode = dp_runner(5, joined=True).load(decode_batch(2))
    assert (decode.requests, decode.tokens) == (2, 2)
    idle = dp_runner(9, joined=True).load(LiveBatch(mode=Mode.IDLE_BESIDE_EXTEND))
    assert (idle.requests, idle.tokens) == (0, 0)


def test_an_idle_rank_of_idle_ranks_has_no_rows() -> None:
    batch = dp_runner(0).load(LiveBatch(mode=Mode.IDLE))
    assert (batch.requests, batch.tokens) == (0, 0)
    assert not batch.has_padding


def test_a_batch_of_embeddings_alone_loads() -> None:
    config = Config.of(max_running_requests=4, max_total_tokens_target=64)
    runner = EagerTargetRunner(config, SingleRank(), device="cpu", debug=True)
    embeddings = torch.linspace(1, 2, 6 * 3).reshape(6, 3)
    live = LiveBatch(
        mode=Mode.EXTEND,
        batch_size=2,
        input_embeds=embeddings,
        positions=torch.arange(1, 7),
        req_pool_indices=torch.tensor([3, 1]),
        seq_lens=torch.tensor([4, 2]),
        extend_seq_lens=torch.tensor([4, 2]),
        extend_prefix_lens=torch.tensor([0, 0]),
    )
    batch = runner.load(live)
    assert batch.live_tokens == 6
    assert batch.input_ids is None
    assert batch.input_embeds is embeddings


def assert_untouched(
    runner: Runner, live: LiveBatch, error: type[BatchError | CapacityError]
) -> str:
    before = [slot.clone() for slot in runner.registry.slots]
    with pytest.raises(error) as caught:
        runner.load(live)
    assert all(map(torch.equal, runner.registry.slots, before))
    return f"{caught.value}"


def test_what_does_not_fit_is_refused_before_any_write() -> None:
    runner = dp_runner(tokens=3)
    runner.load(decode_batch(2))
    runner.ranks = Alone(2, 500, 500)
    message = assert_untouched(runner, decode_batch(3), CapacityError)
    assert "U711" in message
    assert "'decode' needs 500 requests, but the static buffers hold" in message
    assert "max_running_requests" in message
    assert "engine.yaml" in message


def test_a_live_value_outside_its_range_is_refused_before_any_write() -> None:
    runner = dp_runner(tokens=3)
    message = assert_untouched(runner, decode_batch(7), BatchError)
    assert message == (
        "U712: Mode 'decode': requests is 7, outside [1, 6]; the upper end is "
        "max_running_requests = 6 (specs/sglang/modes/decode.yaml:7). Nothing was written."
    )


def test_a_bound_that_follows_from_others_shows_the_parameters_behind_it() -> None:
    runner = dp_runner(tokens=3)
    too_long = LiveBatch(mode=Mode.EXTEND, batch_size=2, input_ids=torch.ones(17))
    assert (
        "tokens is 17, outside [1, 16]; the upper end is prefill_limit = 16 with "
        "max_total_tokens_target = 64, chunked_prefill_size = 16, max_prefill_tokens = 16384, "
        "enable_dynamic_chunking = false, pp_size = 1 (specs/sglang/modes/extend.yaml:8)"
    ) in assert_untouched(runner, too_long, BatchError)


def test_a_relation_that_does_not_hold_shows_what_it_relates() -> None:
    runner = dp_runner(tokens=3)
    too_short = LiveBatch(mode=Mode.EXTEND, batch_size=4, input_ids=torch.ones(3))
    assert (
        "requests * token_per_request <= tokens does not hold with requests = 4, "
        "token_per_request = 1, tokens = 3 (specs/sglang/modes/extend.yaml:10)"
    ) in assert_untouched(runner, too_short, BatchError)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"seq_lens": None}, "U713"),
        ({"seq_lens": torch.ones(3)}, "U714"),
        ({"seq_lens": torch.ones(3, dtype=torch.int64, device="meta")}, "U715"),
        ({"seq_lens": torch.ones(4, dtype=torch.int64)}, "U716"),
        ({"positions": torch.ones(3, 1, dtype=torch.int64)}, "U716"),
        ({"mode": Mode.TARGET_VERIFY}, "U717"),
    ],
)
def test_a_wrong_source_is_refused_before_any_write(changes: dict[str, object], code: str) -> None:
    runner = dp_runner(tokens=3)
    live = replace(decode_batch(3), **changes)  # type: ignore[arg-type]  # wrong on purpose
    assert assert_untouched(runner, live, BatchError).startswith(code)


def test_a_source_inside_the_buffers_is_refused_unless_it_is_the_slots_own_head() -> None:
    runner = dp_runner(tokens=5)
    head = runner.registry.seq_lens[:3]
    head.copy_(torch.tensor([7, 8, 9]))
    batch = runner.load(replace(decode_batch(3), seq_lens=head))
    assert batch.seq_lens is not None
    assert batch.seq_lens.tolist() == [7, 8, 9, 1, 1]
    shifted = runner.registry.seq_lens[1:4]
    message = assert_untouched(runner, replace(decode_batch(3), seq_lens=shifted), BatchError)
    assert message.startswith("U718")


def test_modes_are_those_whose_conditions_hold() -> None:
    served = eager_target.served_modes(Config.of())
    assert {Mode.DECODE, Mode.EXTEND, Mode.IDLE} == WRITTEN_DOWN.intersection(served)
    assert [each for each in Mode if each in served] == list(served)
    assert eager_draft.served_modes(Config.of()) == ()


def test_a_mode_is_called_as_in_the_spec_whatever_other_modes_there_are() -> None:
    assert Mode("target_verify") is Mode.TARGET_VERIFY
    assert all(each.value == each.name.lower() for each in Mode)
    assert pickle.loads(pickle.dumps(Mode.IDLE)) is Mode.IDLE
