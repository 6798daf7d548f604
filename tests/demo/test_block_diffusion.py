from __future__ import annotations

import pytest
import torch

from ullage_demo.batches import Window
from ullage_demo.block_diffusion import (
    BlockDecoder,
    Canvas,
    Denoising,
    block_causal_mask,
    denoise_densely,
    reveal,
)
from ullage_demo.model import MASK_TOKEN, VOCABULARY
from ullage_demo.scenarios import Demo
from ullage_demo.schedule import Request
from ullage_demo.sizes import Sizes
from ullage_demo.worker import target_worker
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode

REQUESTS = make_requests(4, seed=31, prompt=(3, 21), new_tokens=(5, 20))


def test_the_surest_masks_are_revealed_and_nothing_else() -> None:
    logits = torch.zeros(4, VOCABULARY)
    logits[0, 9], logits[1, 5], logits[2, 6], logits[3, 7] = 9.0, 2.0, 4.0, 3.0
    assert reveal([1, MASK_TOKEN, MASK_TOKEN, MASK_TOKEN], logits, 2) == [1, MASK_TOKEN, 6, 7]


def test_a_mask_is_never_revealed_as_a_mask() -> None:
    logits = torch.zeros(1, VOCABULARY)
    logits[0, MASK_TOKEN], logits[0, 3] = 9.0, 1.0
    assert reveal([MASK_TOKEN], logits, 1) == [3]


def test_attention_is_open_within_a_block_and_causal_between_blocks() -> None:
    assert block_causal_mask(4, 2)[0, 0].int().tolist() == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
    ]


def test_a_canvas_ends_with_its_last_block() -> None:
    canvas = Denoising(4, 2).canvas(Request((5, 6, 7), 3))
    assert canvas == [5, 6, 7, *[MASK_TOKEN] * 5]


@pytest.mark.parametrize(("block", "reveals"), [(4, 1), (8, 3)])
@pytest.mark.parametrize("alignment", [1, 3])
@pytest.mark.slow
def test_paged_blocks_equal_the_dense_schedule(
    demo: Demo, block: int, reveals: int, alignment: int
) -> None:
    denoising = Denoising(block, reveals)
    worker = target_worker(Sizes(block=block, page_size=block, max_running=3, alignment=alignment))
    outputs = BlockDecoder(worker, denoising, 3).serve(REQUESTS)
    assert outputs == [denoise_densely(demo.reference.model, each, denoising) for each in REQUESTS]
    assert set(worker.runner.statistics) == {Mode.DLLM_EXTEND}


def test_a_block_whose_masks_stay_in_the_pool_changes_tokens(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance = BlockDecoder._advance

    def advance_without_a_last_pass(
        self: BlockDecoder, canvas: Canvas, window: Window, logits: torch.Tensor
    ) -> None:
        advance(self, canvas, window, logits)
        if MASK_TOKEN not in canvas.tokens[canvas.start : canvas.start + 8]:
            canvas.start += 8

    monkeypatch.setattr(BlockDecoder, "_advance", advance_without_a_last_pass)
    denoising = Denoising(8, 3)
    worker = target_worker(Sizes(block=8, page_size=8, max_running=3))
    outputs = BlockDecoder(worker, denoising, 3).serve(REQUESTS)
    assert outputs != [denoise_densely(demo.reference.model, each, denoising) for each in REQUESTS]
