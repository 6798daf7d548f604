"""What each recorded buffer of a backend is in the spec, and its size by SGLang's rules.

The rules are in the names of the audit of backends. A buffer that is recorded under a name that is
missing here would be compared with nothing, which a test does not let pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A recorded buffer: the slots that it holds, and the elements that SGLang gives it."""

    slots: tuple[str, ...]
    elements: str


def _pages(slot: str, rows: str, *modes: str) -> Mapping[str, Part]:
    """FlashAttention has a table for each kind of batch, of which a graph reads one."""
    return {f"{mode}.page_table": Part((slot,), f"{rows} * columns") for mode in modes}


def _flash_attention(rows: str, prefix: str = "") -> Mapping[str, Part]:
    return {
        **_pages(
            f"{prefix}page_table", rows, "decode", "draft_decode", "target_verify", "draft_extend"
        ),
        "decode.cache_seqlens": Part((f"{prefix}cache_seqlens",), rows),
        "decode.cu_seqlens_q+k": Part(
            (f"{prefix}cu_seqlens_q", f"{prefix}cu_seqlens_k"), f"2 * ({rows} + one_request)"
        ),
        "decode.strided_indices": Part(("strided_indices",), "context_pages"),
    }


def _triton(rows: str, requests: str, keys: str) -> Mapping[str, Part]:
    """`rows`: of queries; `requests`: of the pool; `keys`: the slot of the keys."""
    return {
        "kv_indptr": Part(("triton_kv_indptr",), f"{requests} + one_request"),
        "attn_logits": Part(("triton_attn_logits",), f"{rows} * parts * value_head_size"),
        "attn_lse": Part(("triton_attn_lse",), f"{rows} * parts"),
        "num_kv_splits": Part(("triton_num_kv_splits",), rows),
        "kv_indices": Part((keys,), f"{rows} * context_length"),
    }


def _flashinfer(wrapper: int, prefix: str) -> Mapping[str, Part]:
    """What each of its wrappers has; offsets are there twice, and one pair is of the mask."""
    ends = "aligned + one_request"
    masks = "flashinfer_mask_indptr" if wrapper == 0 else f"{prefix}kv_indptr"
    return {
        f"kv_indptr[{wrapper}]": Part((f"{prefix}kv_indptr",), ends),
        f"qo_indptr[{wrapper}]": Part((f"{prefix}qo_indptr",), ends),
        f"cg.qk_indptr[{wrapper}]": Part((masks,), ends),
        f"cg.qo_indptr[{wrapper}]": Part((f"{prefix}qo_indptr",), ends),
        f"cg.kv_indices[{wrapper}]": Part(
            (f"{prefix}kv_indices",), "rows * target_width * context_length"
        ),
    }


_TREES = _pages("page_table", "rows", "draft_topk_normal", "verify_topk_normal")

PARTS: Mapping[str, Mapping[str, Part]] = {
    "decode_graph": {
        **_flash_attention("rows"),
        **_TREES,
        "draft_topk_expand.page_table": Part(
            ("tree_page_table",), "2 * rows * speculative_eagle_topk"
        ),
        "verify_topk_expand.page_table": Part(
            ("tree_page_table",), "rows * target_width * target_width"
        ),
        "verify_mask": Part(("verify_mask",), "rows * target_width * mask_width"),
        **_triton("rows * target_width", "request_pool_size", "triton_kv_indices"),
        "qo_indptr": Part(("triton_qo_indptr",), "pool"),
        "mask_indptr": Part(("triton_mask_indptr",), "pool"),
        **_flashinfer(0, "flashinfer_"),
        **_flashinfer(1, "flashinfer_second_"),
        "kv_last_page_len": Part(("flashinfer_last_page_len",), "aligned"),
        "cg.custom_mask": Part(("flashinfer_custom_mask",), "rows * target_width * context_length"),
        "workspace": Part(("flashinfer_graph_workspace",), "flashinfer_workspace_bytes"),
    },
    "draft_graph": _flash_attention("drafts", "draft_"),
    "draft_extend_graph": _flash_attention("drafts"),
    "multi_layer_graph": _flash_attention("drafts", "layer_"),
    "frozen_kv_graph": _triton(
        "max(captured_branches)",
        "request_pool_size * speculative_eagle_topk",
        "frozen_triton_kv_indices",
    ),
}
"""By runner and recorded name. Draft steps and layers have a backend each, of the same names."""
