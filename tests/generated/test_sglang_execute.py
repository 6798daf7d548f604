"""The order in which the generated SGLang runners call the engine, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from support.sglang_engine import Peers, Recorder
from ullage_generated.sglang import (
    Config,
    EagerTargetBatch,
    EagerTargetRunner,
    LiveBatch,
    Mode,
)
from ullage_runtime.errors import BatchError, DebugError
from ullage_runtime.ranks import SingleRank


def runner(*, tokens: int = 0, debug: bool = False, **arguments: object) -> EagerTargetRunner:
    small = {"max_running_requests": 8, "max_total_tokens_target": 64, "chunked_prefill_size": 16}
    if tokens:
        small |= {"enable_dp_attention": True, "tp_size": 2, "attn_dp_size": 2}
    config = Config.from_arguments({**small, **arguments})
    ranks = Peers(tokens) if tokens else SingleRank()
    return EagerTargetRunner(config, ranks, device="cpu", debug=debug)


def batch_of(mode: Mode, rows: int, width: int = 1, **fields: object) -> LiveBatch:
    """A batch of `rows` requests with `width` tokens each."""
    tokens = rows * width
    extends = "extending" in mode.families
    live = LiveBatch(
        mode=mode,
        batch_size=rows,
        input_ids=torch.arange(1, tokens + 1),
        positions=torch.arange(3, tokens + 3),
        out_cache_loc=torch.arange(5, tokens + 5),
        req_pool_indices=torch.arange(1, rows + 1),
        seq_lens=torch.arange(9, rows + 9),
        extend_seq_lens=torch.full((rows,), width) if extends else None,
        extend_prefix_lens=torch.arange(2, rows + 2) if extends else None,
    )
    return replace(live, **fields)  # type: ignore[arg-type]  # the fields of one case


DECODE = batch_of(Mode.DECODE, 3)
EXTEND = batch_of(Mode.EXTEND, 2, 4)
IDLE = LiveBatch(mode=Mode.IDLE)


def calls(live: LiveBatch, engine: Recorder, served: EagerTargetRunner) -> list[str]:
    served.execute(live, engine)
    return engine.calls


def test_a_decode_batch_is_loaded_planned_and_run() -> None:
    assert calls(DECODE, Recorder("needs_metadata"), runner()) == [
        "collect_inputs(live)",
        "needs_metadata?",
        "prepare_model(batch)",
        "plan_attention(batch)",
        "enter timer decode",
        "forward(batch, inputs)",
        "leave timer decode",
    ]


def test_a_batch_whose_plan_is_made_is_not_planned_again() -> None:
    assert calls(DECODE, Recorder(), runner()) == [
        "collect_inputs(live)",
        "needs_metadata?",
        "enter timer decode",
        "forward(batch, inputs)",
        "leave timer decode",
    ]
    assert "plan_attention(batch)" not in calls(EXTEND, Recorder(), runner())


def test_an_extend_batch_clears_what_context_parallelism_left() -> None:
    assert calls(EXTEND, Recorder("needs_metadata"), runner()) == [
        "collect_inputs(live)",
        "needs_metadata?",
        "decode_context_parallel?",
        "prepare_model(batch)",
        "plan_attention(batch)",
        "context_parallel?",
        "clear_context(batch)",
        "enter timer extend",
        "piecewise_platform?",
        "forward(batch, inputs)",
        "leave timer extend",
    ]


def test_decode_context_parallelism_gathers_before_planning() -> None:
    engine = Recorder("needs_metadata", "decode_context_parallel")
    order = calls(EXTEND, engine, runner())
    assert order[2:6] == [
        "decode_context_parallel?",
        "plan_decode_context(batch)",
        "prepare_model(batch)",
        "plan_attention(batch)",
    ]


def test_the_last_rank_of_context_parallelism_gathers_before_its_logits() -> None:
    engine = Recorder("needs_metadata", "context_parallel", "last_pipeline_rank")
    assert calls(EXTEND, engine, runner())[5:] == [
        "context_parallel?",
        "split_context(batch)",
        "enter timer extend",
        "forward_sharded(batch, inputs, shards)",
        "last_pipeline_rank?",
        "gather_context(batch, hidden)",
        "compute_logits(batch, gathered)",
        "leave timer extend",
    ]


def test_other_ranks_of_context_parallelism_pass_their_hidden_states_on() -> None:
    engine = Recorder("context_parallel", "piecewise_platform")
    assert calls(EXTEND, engine, runner())[2:] == [
        "context_parallel?",
        "split_context(batch)",
        "enter timer extend",
        "forward_sharded(batch, inputs, shards)",
        "last_pipeline_rank?",
        "pass_hidden_on(batch, hidden)",
        "leave timer extend",
    ]


def test_a_piecewise_platform_runs_extends_inside_of_its_context() -> None:
    order = calls(EXTEND, Recorder("piecewise_platform"), runner())
    assert order[-6:] == [
        "enter timer extend",
        "piecewise_platform?",
        "enter piecewise",
        "forward(batch, inputs)",
        "leave piecewise",
        "leave timer extend",
    ]


def test_a_verify_is_timed_under_its_own_category() -> None:
    served = runner(speculative_algorithm="ngram", speculative_num_draft_tokens=4)
    live = batch_of(Mode.TARGET_VERIFY, 2, 4)
    order = calls(live, Recorder("needs_metadata"), served)
    assert "enter timer target_verify" in order
    assert order.index("plan_attention(batch)") < order.index("enter timer target_verify")


def test_a_padded_idle_batch_is_planned_without_being_asked() -> None:
    engine = Recorder("needs_metadata")
    assert calls(IDLE, engine, runner(tokens=5)) == [
        "collect_inputs(live)",
        "plan_attention(batch)",
        "enter timer idle",
        "forward(batch, inputs)",
        "leave timer idle",
    ]
    assert {batch.requests for batch in engine.batches} == {5}


def test_an_idle_batch_without_rows_drops_the_plan() -> None:
    assert calls(IDLE, Recorder("needs_metadata"), runner()) == [
        "collect_inputs(live)",
        "drop_plan(batch)",
        "enter timer idle",
        "forward(batch, inputs)",
        "leave timer idle",
    ]


def test_multiplexed_decodes_run_on_the_live_batch_and_under_their_own_backend() -> None:
    served = runner(enable_pdmux=True)
    before = [slot.clone() for slot in served.registry.slots]
    engine = Recorder("needs_metadata")
    assert calls(DECODE, engine, served) == [
        "choose_stream_backend(live)",
        "collect_inputs(live)",
        "needs_metadata?",
        "prepare_model(batch)",
        "plan_attention(batch)",
        "enter timer decode",
        "enter stream_backend",
        "forward(batch, inputs)",
        "leave stream_backend",
        "leave timer decode",
    ]
    assert all(batch.input_ids is DECODE.input_ids for batch in engine.batches)
    assert all(map(torch.equal, served.registry.slots, before))


def test_multiplexed_extends_have_no_stream_of_their_own() -> None:
    order = calls(EXTEND, Recorder(), runner(enable_pdmux=True))
    assert "choose_stream_backend(live)" not in order
    assert "enter stream_backend" not in order


def test_a_mode_that_the_runner_does_not_serve_reaches_no_step() -> None:
    engine, served = Recorder("needs_metadata"), runner()
    listed = ", ".join(mode.value for mode in served.modes)
    with pytest.raises(BatchError, match=f"eager serves only {listed} ") as caught:
        served.execute(batch_of(Mode.EAGLE_DRAFT, 2), engine)
    assert caught.value.code == "U717"
    assert engine.calls == []


def test_outputs_are_cut_to_live_rows() -> None:
    served = runner(tokens=7)
    engine = Recorder()
    assert served.execute(DECODE, engine).tolist() == [1.0, 2.0, 3.0]
    assert engine.logits.shape == (7,)
    assert served.execute(EXTEND, engine).shape == (8,)
    assert served.execute(IDLE, engine).shape == (0,)


def test_each_batch_enters_the_collective_of_its_mode_once() -> None:
    served = runner(tokens=7)
    ranks = served.ranks
    assert isinstance(ranks, Peers)
    for live in (DECODE, EXTEND, IDLE):
        served.execute(live, Recorder())
    assert ranks.entered == ["mlp_sync_rows", "mlp_sync_tokens", "mlp_sync_rows"]


def test_counts_of_late_layers_are_gathered_once_all_ranks_are_padded() -> None:
    served = runner(tokens=7, gathers_late_counts=True)
    ranks = served.ranks
    assert isinstance(ranks, Peers)
    for live in (DECODE, EXTEND, IDLE):
        served.execute(live, Recorder())
    rounds = ("mlp_sync_rows", "mlp_sync_tokens", "mlp_sync_rows")
    assert ranks.entered == [name for each in rounds for name in (each, "late_counts")]


def test_the_warm_up_runs_once_on_the_largest_batch_of_the_first_mode_that_applies() -> None:
    served, engine = runner(), Recorder()
    served.warm_up(engine)
    served.warm_up(engine)
    assert engine.calls == ["autotune(batch)"]
    assert engine.batches[0].mode is Mode.DECODE
    assert engine.batches[0].requests == served.capacities.requests
    verifying, engine = runner(speculative_algorithm="ngram"), Recorder()
    verifying.warm_up(engine)
    assert engine.batches[0].mode is Mode.TARGET_VERIFY
    assert engine.batches[0].tokens == 8 * 4


def test_the_warm_up_takes_the_engines_own_batch_if_it_gives_one() -> None:
    served, engine = runner(), Recorder()
    served.warm_up(engine, batch_of(Mode.DECODE, 4))
    assert engine.batches[0].requests == 4


def test_padded_steps_are_compared_with_unpadded_ones() -> None:
    class Leaking(Recorder):
        def forward(self, batch: EagerTargetBatch, inputs: str, /) -> Tensor:
            padding = batch.requests - batch.live_requests
            return super().forward(batch, inputs) + padding

    served = runner(tokens=7, debug=True)
    assert served.execute_compared(DECODE, Recorder()).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(DebugError, match="padded and eager steps differ") as caught:
        served.execute_compared(DECODE, Leaking())
    assert caught.value.code == "U731"


class Allocations(TorchDispatchMode):
    """Fails the test when an operation returns memory that is not in `known`."""

    def __init__(self, known: set[int]) -> None:
        super().__init__()
        self.known = known
        self.operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        self.operations += 1
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor):
                assert tensor.untyped_storage().data_ptr() in self.known, func
        return result


def test_nothing_is_allocated_once_a_shape_was_seen() -> None:
    served = runner(tokens=7)
    batches = [DECODE, EXTEND, replace(DECODE, batch_size=2, **heads(DECODE, 2))]
    for live in batches:
        served.load(live)
    known = {slot.untyped_storage().data_ptr() for slot in served.registry.slots}
    with Allocations(known) as allocations:
        for live in batches:
            served.load(live)
    assert allocations.operations > 0


def heads(live: LiveBatch, rows: int) -> dict[str, Tensor | None]:
    names = ("input_ids", "positions", "out_cache_loc", "req_pool_indices", "seq_lens")
    tensors = {name: getattr(live, name) for name in names}
    return {name: tensor[:rows].clone() for name, tensor in tensors.items()}
