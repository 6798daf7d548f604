"""FlashInfer's kernels behind the wrappers that the specs declare, and in the demo."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ullage_demo.options import MODES
from ullage_demo.place import AttentionLibrary, Place
from ullage_demo.scenarios import SCENARIOS
from ullage_demo.setting import Demo, build_demo
from ullage_generated.sglang import (
    AttentionBackend,
    Config,
    DecodeGraphTargetCapacities,
    DraftGraphDraftCapacities,
    EagerTargetRunner,
    FlashinferDraftDecode,
    FlashinferGraphMla,
    FlashinferGraphTree,
    FlashinferMla,
    FlashinferPrefill,
    FlashinferRagged,
    SpeculativeAlgorithm,
)
from ullage_runtime.ranks import SingleRank

pytest.importorskip("flashinfer")

HEAD = 64
CPU = Place(head_dim=HEAD)
DEVICE = Place(device="cuda", library=AttentionLibrary.FLASHINFER, head_dim=HEAD)
KEY_COUNTS = (3, 70, 1, 129)
QUERY_COUNTS = (3, 20, 1, 4)
SLOTS = 4096
TOLERANCE = 3e-3
"""Of attention over normal values in half precision."""


@pytest.fixture(scope="module")
def demo() -> Demo:
    return build_demo(8, place=CPU, student=DEVICE)


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_on_the_device_agrees_with_the_cpu_step_by_step(demo: Demo, mode: str) -> None:
    outcome = SCENARIOS[mode](demo)
    for check in outcome.checks:
        print(mode, check.claim, check.detail)
    assert [check for check in outcome.checks if not check.passed] == []
    assert any(check.claim.endswith("agrees with the first") for check in outcome.checks)


def config(**settings: object) -> Config:
    """Of an engine whose layers attend by FlashInfer, with the multiprocessors of this device."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    known: dict[str, object] = {
        "max_running_requests": 4,
        "max_total_tokens_target": SLOTS,
        "context_length": 512,
        "attention_backend": AttentionBackend.FLASHINFER,
        "attention_heads": 4,
        "key_heads": 2,
        "value_head_size": HEAD,
        "multiprocessors": processors,
    }
    return Config.of(**(known | settings))  # type: ignore[arg-type]


def offsets(counts: tuple[int, ...]) -> Tensor:
    return torch.tensor([0, *accumulate(counts)], dtype=torch.int32)


def normal(*shape: int, dtype: torch.dtype = torch.float16) -> Tensor:
    return torch.randn(shape, device="cuda", dtype=dtype)


@dataclass(frozen=True)
class Cache:
    """A pool and which of its slots hold the keys of each request."""

    keys: Tensor
    values: Tensor
    slots: Tensor

    @property
    def paged(self) -> tuple[Tensor, Tensor]:
        return self.keys[:, None], self.values[:, None]

    def attend(self, query: Tensor, causal: bool) -> Tensor:
        """What torch makes of it in single precision, a request at a time."""
        outputs = []
        requests = zip(query.split(QUERY_COUNTS), self.slots.long().split(KEY_COUNTS), strict=True)
        for queries, slots in requests:
            seen = torch.ones(queries.shape[0], slots.shape[0], device="cuda", dtype=torch.bool)
            outputs.append(
                scaled_dot_product_attention(
                    queries.float().transpose(0, 1),
                    self.keys[slots].float().transpose(0, 1),
                    self.values[slots].float().transpose(0, 1),
                    attn_mask=seen.tril(slots.shape[0] - queries.shape[0]) if causal else seen,
                    enable_gqa=True,
                ).transpose(0, 1)
            )
        return torch.cat(outputs)


def cache() -> Cache:
    slots = torch.randperm(SLOTS, device="cuda")[: sum(KEY_COUNTS)].to(torch.int32)
    return Cache(normal(SLOTS, 2, HEAD), normal(SLOTS, 2, HEAD), slots)


@dataclass
class Slots:
    """As many of a batch's slots as wrappers take, each as large as the configuration says."""

    flashinfer_workspace: Tensor | None = None
    flashinfer_graph_workspace: Tensor | None = None
    flashinfer_draft_workspace: Tensor | None = None
    flashinfer_kv_indptr: Tensor | None = None
    flashinfer_qo_indptr: Tensor | None = None
    flashinfer_last_page_len: Tensor | None = None
    flashinfer_kv_indices: Tensor | None = None
    flashinfer_mask_indptr: Tensor | None = None
    flashinfer_custom_mask: Tensor | None = None
    flashinfer_draft_kv_indptr: Tensor | None = None
    flashinfer_draft_last_page_len: Tensor | None = None
    flashinfer_draft_kv_indices: Tensor | None = None
    mla_workspace: Tensor | None = None
    mla_kv_indptr: Tensor | None = None
    mla_qo_indptr: Tensor | None = None
    mla_kv_indices: Tensor | None = None
    mla_kv_lens: Tensor | None = None


def counts(*shape: int) -> Tensor:
    return torch.full(shape, -7, dtype=torch.int32, device="cuda")


def bytes_of(count: int) -> Tensor:
    return torch.full((count,), 0xA5, dtype=torch.uint8, device="cuda")


def eager_workspace(settings: Config) -> int:
    """As planned for the eager runner."""
    slot = EagerTargetRunner(settings, SingleRank(), device="cuda").registry.flashinfer_workspace
    assert slot is not None
    return slot.numel()


def latent_workspace(settings: Config) -> int:
    """The same for latent attention."""
    slot = EagerTargetRunner(settings, SingleRank(), device="cuda").registry.mla_workspace
    assert slot is not None
    return slot.numel()


@pytest.mark.parametrize("causal", [True, False])
def test_prefill_equals_torch(causal: bool) -> None:
    settings, pool = config(), cache()
    query = normal(sum(QUERY_COUNTS), 4, HEAD)
    wrapper = FlashinferPrefill(
        Slots(flashinfer_workspace=bytes_of(eager_workspace(settings))), settings
    )
    wrapper.plan(
        qo_indptr=offsets(QUERY_COUNTS),
        paged_kv_indptr=offsets(KEY_COUNTS),
        paged_kv_indices=pool.slots,
        paged_kv_last_page_len=torch.ones(4, dtype=torch.int32),
        head_dim_qk=HEAD,
        page_size=1,
        causal=causal,
        q_data_type=torch.float16,
        kv_data_type=torch.float16,
        sm_scale=HEAD**-0.5,
    )
    output = wrapper.run(query, pool.paged)
    assert (output.float() - pool.attend(query, causal)).abs().max() < TOLERANCE


def test_ragged_prefill_equals_paged() -> None:
    settings = config()
    workspace = Slots(flashinfer_workspace=bytes_of(eager_workspace(settings)))
    rows = sum(QUERY_COUNTS)
    query, keys, values = normal(rows, 4, HEAD), normal(rows, 2, HEAD), normal(rows, 2, HEAD)
    ragged, paged = FlashinferRagged(workspace, settings), FlashinferPrefill(workspace, settings)
    ragged.plan(
        qo_indptr=offsets(QUERY_COUNTS),
        kv_indptr=offsets(QUERY_COUNTS),
        head_dim_qk=HEAD,
        causal=True,
        q_data_type=torch.float16,
        kv_data_type=torch.float16,
        sm_scale=HEAD**-0.5,
    )
    given = ragged.run(query, keys, values)
    paged.plan(
        qo_indptr=offsets(QUERY_COUNTS),
        paged_kv_indptr=offsets(QUERY_COUNTS),
        paged_kv_indices=torch.arange(rows, dtype=torch.int32, device="cuda"),
        paged_kv_last_page_len=torch.ones(4, dtype=torch.int32),
        head_dim_qk=HEAD,
        page_size=1,
        causal=True,
        q_data_type=torch.float16,
        kv_data_type=torch.float16,
        sm_scale=HEAD**-0.5,
    )
    expected = paged.run(query, (keys[:, None], values[:, None]))
    assert (given.float() - expected.float()).abs().max() < TOLERANCE


def test_all_draft_steps_plan_into_one_store_of_keys() -> None:
    """Each step has a row of it, and the steps run in any order after all were planned."""
    steps, branches = 3, 2
    settings = config(
        speculative_algorithm=SpeculativeAlgorithm.EAGLE,
        speculative_num_steps=steps,
        speculative_eagle_topk=branches,
        speculative_num_draft_tokens=4,
        max_total_tokens_draft=SLOTS,
        request_pool_size=4,
        enable_decode_graph=True,
        capture_requests=(4,),
    )
    planned = DraftGraphDraftCapacities.of(settings).flashinfer_draft_workspace_0
    assert planned is not None
    rows, width = 4 * branches, 200
    slots = Slots(
        flashinfer_draft_workspace=bytes_of(planned),
        flashinfer_draft_kv_indptr=counts(steps, rows + 1),
        flashinfer_draft_last_page_len=counts(rows),
        flashinfer_draft_kv_indices=counts(steps, rows, width),
    )
    keys, values, query = normal(SLOTS, 2, HEAD), normal(SLOTS, 2, HEAD), normal(rows, 4, HEAD)
    wrappers = [
        FlashinferDraftDecode(slots, settings, step, use_tensor_cores=False)
        for step in range(steps)
    ]
    listed: list[list[Tensor]] = []
    for step, wrapper in enumerate(wrappers):
        lengths = tuple(5 + 3 * row + step for row in range(rows))
        seen = [torch.randperm(SLOTS, device="cuda")[:length].to(torch.int32) for length in lengths]
        listed.append(seen)
        wrapper.plan(
            indptr=offsets(lengths),
            indices=torch.cat(seen),
            last_page_len=torch.ones(rows, dtype=torch.int32),
            head_dim=HEAD,
            page_size=1,
            q_data_type=torch.float16,
            kv_data_type=torch.float16,
            sm_scale=HEAD**-0.5,
        )
    for step in reversed(range(steps)):
        output = wrappers[step].run(query, (keys[:, None], values[:, None]))
        for row, chosen in enumerate(listed[step]):
            expected = scaled_dot_product_attention(
                query[row][:, None].float(),
                keys[chosen.long()].float().transpose(0, 1),
                values[chosen.long()].float().transpose(0, 1),
                enable_gqa=True,
            )[:, 0]
            assert (output[row].float() - expected).abs().max() < TOLERANCE


def graph_settings(requests: int, width: int, heads: int = 32, key_heads: int = 8) -> Config:
    return config(
        max_running_requests=requests,
        request_pool_size=requests,
        enable_decode_graph=True,
        capture_requests=(requests,),
        speculative_algorithm=SpeculativeAlgorithm.EAGLE,
        speculative_num_steps=width - 1,
        speculative_eagle_topk=1,
        speculative_num_draft_tokens=width,
        max_total_tokens_draft=SLOTS,
        attention_heads=heads,
        key_heads=key_heads,
    )


def plan_verify(settings: Config, requests: int, width: int, workspace: int) -> None:
    """Plan a verify of `requests` times `width` tokens over that many bytes."""
    each = 8
    slots = Slots(
        flashinfer_graph_workspace=bytes_of(workspace),
        flashinfer_kv_indptr=counts(requests + 1),
        flashinfer_qo_indptr=counts(requests + 1),
        flashinfer_last_page_len=counts(requests),
        flashinfer_kv_indices=counts(requests, each),
        flashinfer_mask_indptr=counts(requests + 1),
        flashinfer_custom_mask=bytes_of(requests * width * each).view(requests * width, each),
    )
    on_device = torch.arange(requests + 1, dtype=torch.int32, device="cuda")
    FlashinferGraphTree(slots, settings).plan(
        qo_indptr=on_device * width,
        paged_kv_indptr=on_device * each,
        paged_kv_indices=torch.arange(requests * each, dtype=torch.int32, device="cuda"),
        paged_kv_last_page_len=torch.ones(requests, dtype=torch.int32, device="cuda"),
        head_dim_qk=HEAD,
        page_size=1,
        custom_mask=torch.ones(requests * width * each, dtype=torch.bool, device="cuda"),
        q_data_type=torch.float16,
        kv_data_type=torch.float16,
        sm_scale=HEAD**-0.5,
    )


@pytest.mark.parametrize(("requests", "width"), [(256, 4), (64, 8), (48, 4)])
def test_the_workspace_of_graphs_is_what_the_planner_takes_and_no_byte_more(
    requests: int, width: int
) -> None:
    settings = graph_settings(requests, width)
    capacities = DecodeGraphTargetCapacities.of(settings)
    planned = capacities.flashinfer_graph_workspace_0
    assert planned is not None
    plan_verify(settings, requests, width, planned)
    with pytest.raises(RuntimeError, match="Increase the workspace buffer size"):
        plan_verify(settings, requests, width, planned - 1)


def test_the_constant_of_sglang_does_not_hold_320_verifies_of_8_tokens() -> None:
    """32 query and 8 key heads of 64. With heads of 128 it does not hold 192 of 4 tokens."""
    settings = graph_settings(320, 8)
    planned = DecodeGraphTargetCapacities.of(settings).flashinfer_graph_workspace_0
    assert planned is not None
    assert planned > 384 << 20
    with pytest.raises(RuntimeError, match="Increase the workspace buffer size"):
        plan_verify(settings, 320, 8, 384 << 20)


LATENT, ROTARY = 512, 64


def latent_slots(workspace: int) -> Slots:
    """For four requests of up to 200 keys."""
    return Slots(
        mla_workspace=bytes_of(workspace),
        mla_kv_indptr=counts(5),
        mla_qo_indptr=counts(5),
        mla_kv_indices=counts(4, 200),
        mla_kv_lens=counts(4),
    )


def plan_latent(wrapper: FlashinferMla | FlashinferGraphMla, chosen: Tensor, scale: float) -> None:
    """A token of each request against keys in the slots `chosen`."""
    wrapper.plan(
        qo_indptr=torch.arange(5, dtype=torch.int32),
        kv_indptr=offsets(KEY_COUNTS),
        kv_indices=chosen,
        kv_len_arr=torch.tensor(KEY_COUNTS, dtype=torch.int32),
        head_dim_kpe=ROTARY,
        page_size=1,
        causal=False,
        sm_scale=scale,
        q_data_type=torch.bfloat16,
        kv_data_type=torch.bfloat16,
    )


@pytest.mark.parametrize("in_graph", [False, True])
def test_latent_attention_equals_torch_over_the_planned_workspace(in_graph: bool) -> None:
    settings = config(attention_backend=AttentionBackend.FLASHINFER_MLA, attention_heads=16)
    planned, made = latent_workspace(settings), FlashinferGraphMla if in_graph else FlashinferMla
    wrapper = made(latent_slots(planned), settings)
    latent = normal(SLOTS, 1, LATENT, dtype=torch.bfloat16)
    rotary = normal(SLOTS, 1, ROTARY, dtype=torch.bfloat16)
    chosen = torch.randperm(SLOTS, device="cuda")[: sum(KEY_COUNTS)].to(torch.int32)
    scale = (128 + ROTARY) ** -0.5
    plan_latent(wrapper, chosen, scale)
    without = normal(4, 16, LATENT, dtype=torch.bfloat16)
    turned = normal(4, 16, ROTARY, dtype=torch.bfloat16)
    output = wrapper.run(without, turned, latent, rotary)
    for row, at in enumerate(chosen.long().split(KEY_COUNTS)):
        content, place = latent[at, 0].float(), rotary[at, 0].float()
        scores = without[row].float() @ content.T + turned[row].float() @ place.T
        expected = (scores * scale).softmax(-1) @ content
        assert (output[row].float() - expected).abs().max() < 0.03
    with pytest.raises(RuntimeError, match="Increase the workspace buffer size"):
        plan_latent(made(latent_slots(planned - 1), settings), chosen, scale)
