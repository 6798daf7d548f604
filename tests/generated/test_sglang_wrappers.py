"""FlashInfer's objects over the buffers of SGLang's runners."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import torch
from torch import Tensor

from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetBatch,
    DecodeGraphTargetRunner,
    DraftGraphDraftRunner,
    EagerTargetRunner,
    FlashinferDecode,
    FlashinferDraftDecode,
    FlashinferGraphDecode,
    FlashinferGraphMla,
    FlashinferGraphPrefill,
    FlashinferGraphTree,
    FlashinferMla,
    FlashinferMlaDraft,
    FlashinferSecondGraphDecode,
    FlashinferSecondGraphPrefill,
    LiveBatch,
    Mode,
)
from ullage_runtime.errors import WrapperError
from ullage_runtime.ranks import SingleRank


class Recorder:
    """A class of FlashInfer, which keeps what it is made of and planned with."""

    def __init__(self, **arguments: object) -> None:
        self.arguments = arguments
        self.planned: dict[str, object] = {}

    def plan(self, **arguments: object) -> None:
        self.planned = arguments

    def run(self, q: Tensor, *caches: Tensor) -> Tensor:
        return q


CLASSES = (
    "BatchDecodeWithPagedKVCacheWrapper",
    "BatchPrefillWithPagedKVCacheWrapper",
    "BatchPrefillWithRaggedKVCacheWrapper",
    "BatchMLAPagedAttentionWrapper",
)


@pytest.fixture(autouse=True)
def flashinfer(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("flashinfer")
    vars(library).update({name: type(name, (Recorder,), {}) for name in CLASSES})
    monkeypatch.setitem(sys.modules, "flashinfer", library)


def config_of(**more: object) -> Config:
    if "attention_backend" not in more:
        more |= {"attention_backend": "flashinfer"}
    return Config.from_arguments(
        {
            "max_running_requests": 6,
            "max_total_tokens_target": 96,
            "context_length": 24,
            "request_pool_size": 6,
            "enable_decode_graph": True,
            "capture_requests": [4, 6],
            "attention_heads": 5,
            "value_head_size": 3,
            "multiprocessors": 5,
            **more,
        }
    )


def live(mode: Mode, rows: int, width: int = 1) -> LiveBatch:
    tokens = torch.arange(1, rows * width + 1)
    return LiveBatch(
        mode=mode,
        batch_size=rows,
        input_ids=tokens,
        positions=tokens,
        out_cache_loc=tokens,
        req_pool_indices=torch.arange(rows),
        seq_lens=torch.arange(9, rows + 9),
    )


def decoding(config: Config) -> DecodeGraphTargetBatch:
    return DecodeGraphTargetRunner(config, SingleRank(), device="cpu").load(live(Mode.DECODE, 3))


def made(wrapper: object) -> dict[str, object]:
    """What the recorder was made of."""
    recorder = getattr(wrapper, "made", None)
    assert isinstance(recorder, Recorder)
    return recorder.arguments


def view(tensor: object) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Where a tensor lies and how it is seen."""
    assert isinstance(tensor, Tensor)
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride()


def test_a_graph_decodes_over_the_padded_rows_of_its_batch() -> None:
    config = config_of()
    batch = decoding(config)
    wrapper = FlashinferGraphDecode(batch, config, use_tensor_cores=True)
    arguments = made(wrapper)
    assert type(wrapper.made).__name__ == "BatchDecodeWithPagedKVCacheWrapper"
    assert (arguments["use_cuda_graph"], arguments["use_tensor_cores"]) == (True, True)
    assert batch.flashinfer_kv_indptr is not None
    assert batch.flashinfer_kv_indices is not None
    assert view(arguments["paged_kv_indptr_buffer"]) == view(batch.flashinfer_kv_indptr)
    assert view(arguments["paged_kv_last_page_len_buffer"])[1] == (4,)
    indices = batch.flashinfer_kv_indices
    assert view(arguments["paged_kv_indices_buffer"]) == view(indices.view(-1))
    assert view(arguments["float_workspace_buffer"]) == view(batch.flashinfer_graph_workspace)


def test_a_plan_has_the_heads_of_the_configuration() -> None:
    config = config_of()
    wrapper = FlashinferGraphDecode(decoding(config), config, use_tensor_cores=False)
    indptr = torch.zeros(5, dtype=torch.int32)
    wrapper.plan(
        indptr=indptr,
        indices=indptr,
        last_page_len=indptr,
        head_dim=64,
        page_size=1,
        q_data_type=torch.bfloat16,
        kv_data_type=torch.bfloat16,
        sm_scale=0.5,
    )
    assert isinstance(wrapper.made, Recorder)
    assert wrapper.made.planned["num_qo_heads"] == 5
    assert wrapper.made.planned["indptr"] is indptr
    assert wrapper.run(indptr, (indptr, indptr)) is indptr


def test_a_verify_has_its_mask_in_one_axis_and_a_block_has_none() -> None:
    config = config_of()
    batch = decoding(config)
    masked = made(FlashinferGraphTree(batch, config))
    assert batch.flashinfer_custom_mask is not None
    assert view(masked["custom_mask_buf"]) == view(batch.flashinfer_custom_mask.view(-1))
    assert view(masked["mask_indptr_buf"]) == view(batch.flashinfer_mask_indptr)
    plain = made(FlashinferGraphPrefill(batch, config))
    assert masked.keys() - plain.keys() == {"custom_mask_buf", "mask_indptr_buf"}


class Beside(SingleRank):
    """One of two ranks, without requests; the other one drafts for 3, with 2 branches each."""

    count = 2

    def gather(self, *values: int, collective: str = "") -> list[tuple[int, ...]]:
        return [values, (6, 3, 3)]


def test_every_draft_step_has_its_row_of_one_slot() -> None:
    config = config_of(
        speculative_algorithm="eagle",
        speculative_num_steps=3,
        speculative_eagle_topk=2,
        speculative_num_draft_tokens=4,
        enable_dp_attention=True,
        tp_size=2,
        attn_dp_size=2,
    )
    runner = DraftGraphDraftRunner(config, Beside(), device="cpu")
    batch = runner.load(LiveBatch(mode=Mode.IDLE_IN_DRAFT))
    slot, offsets = batch.flashinfer_draft_kv_indices, batch.flashinfer_draft_kv_indptr
    assert slot is not None
    assert offsets is not None
    for step in range(3):
        arguments = made(FlashinferDraftDecode(batch, config, step, use_tensor_cores=False))
        assert view(arguments["paged_kv_indptr_buffer"]) == view(offsets[step])
        assert view(arguments["paged_kv_indices_buffer"]) == view(slot[step].view(-1))
        assert view(arguments["paged_kv_last_page_len_buffer"])[1] == (batch.tokens,)
    with pytest.raises(WrapperError, match="U742"):
        FlashinferDraftDecode(batch, config, 3, use_tensor_cores=False)


def test_without_a_graph_there_is_only_room_to_work_in() -> None:
    config = config_of()
    batch = EagerTargetRunner(config, SingleRank(), device="cpu").load(live(Mode.DECODE, 3))
    arguments = made(FlashinferDecode(batch, config, use_tensor_cores=False))
    assert arguments.keys() == {"float_workspace_buffer", "use_tensor_cores"}
    blocks, outputs = 2 * 5 // 5, 5 * 128 * (3 + 1) * 4
    assert view(arguments["float_workspace_buffer"])[1] == (blocks * outputs,)


def test_latent_attention_works_in_a_slot_of_its_own_with_a_graph_and_without() -> None:
    config = config_of(attention_backend="flashinfer_mla")
    room = (2 * 5 * 64 * (2 * 512 + 4),)
    eager = EagerTargetRunner(config, SingleRank(), device="cpu").load(live(Mode.DECODE, 3))
    arguments = made(FlashinferMla(eager, config))
    assert view(arguments.pop("float_workspace_buffer"))[1] == room
    assert arguments == {"backend": "fa2"}
    batch = decoding(config)
    arguments = made(FlashinferGraphMla(batch, config))
    assert view(arguments["kv_len_arr"]) == view(batch.mla_kv_lens)
    assert view(arguments["float_workspace_buffer"])[1] == room
    with pytest.raises(WrapperError, match=r"U741: Wrapper flashinfer_graph_decode .*flashinfer"):
        FlashinferGraphDecode(batch, config, use_tensor_cores=False)


def test_layers_with_a_window_have_offsets_and_keys_of_their_own() -> None:
    config = config_of(sliding_window=8)
    batch = decoding(config)
    assert batch.flashinfer_second_kv_indices is not None
    offsets = view(batch.flashinfer_second_kv_indptr)
    keys = view(batch.flashinfer_second_kv_indices.view(-1))
    decode = made(FlashinferSecondGraphDecode(batch, config, use_tensor_cores=False))
    assert view(decode["paged_kv_indptr_buffer"]) == offsets
    assert view(decode["paged_kv_indices_buffer"]) == keys
    assert view(decode["paged_kv_last_page_len_buffer"])[1] == (4,)
    prefill = made(FlashinferSecondGraphPrefill(batch, config))
    assert view(prefill["qo_indptr_buf"]) == view(batch.flashinfer_second_qo_indptr)
    assert view(prefill["paged_kv_indptr_buf"]) == offsets
    assert view(prefill["paged_kv_indices_buf"]) == keys
    first = made(FlashinferGraphDecode(batch, config, use_tensor_cores=False))
    assert view(first["paged_kv_indices_buffer"]) != keys


def test_without_a_window_or_an_encoder_there_is_no_second_wrapper() -> None:
    config = config_of()
    with pytest.raises(WrapperError, match="U741"):
        FlashinferSecondGraphPrefill(decoding(config), config)


def test_latent_attention_plans_every_draft_step_by_rows_of_its_own() -> None:
    config = config_of(
        attention_backend="flashinfer_mla",
        speculative_algorithm="eagle",
        speculative_num_steps=3,
        speculative_eagle_topk=1,
        speculative_num_draft_tokens=4,
        enable_dp_attention=True,
        tp_size=2,
        attn_dp_size=2,
    )
    runner = DraftGraphDraftRunner(config, Beside(), device="cpu")
    batch = runner.load(LiveBatch(mode=Mode.IDLE_IN_DRAFT))
    slot, offsets, lengths = (
        batch.mla_draft_kv_indices,
        batch.mla_draft_kv_indptr,
        batch.mla_draft_kv_lens,
    )
    assert slot is not None
    assert offsets is not None
    assert lengths is not None
    for step in range(3):
        arguments = made(FlashinferMlaDraft(batch, config, step))
        assert view(arguments["kv_indptr"]) == view(offsets[step])
        assert view(arguments["kv_indices"]) == view(slot[step].view(-1))
        assert view(arguments["kv_len_arr"]) == view(lengths[step])
        assert view(arguments["kv_len_arr"])[1] == (batch.requests,)
        assert view(arguments["qo_indptr"]) == view(batch.mla_draft_qo_indptr)
        assert view(arguments["qo_indptr"])[1] == (batch.requests + 1,)
