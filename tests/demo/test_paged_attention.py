from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.attention import PAGED_ATTENTION, PaddingError, plan_attention
from ullage_demo.batches import Window, window_batch
from ullage_demo.model import build_draft, build_reference, build_target, route_through_pool
from ullage_demo.scenarios import Demo, damage_page, notices_a_corrupted_page
from ullage_demo.seam import present
from ullage_demo.sizes import Sizes
from ullage_demo.worker import Worker, target_worker
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode

PROMPTS = [request.prompt for request in make_requests(3, seed=21, prompt=(5, 19))]


def dense(model: LlamaForCausalLM, tokens: tuple[int, ...]) -> Tensor:
    with torch.inference_mode():
        logits: Tensor = model(input_ids=torch.tensor([tokens]), use_cache=False).logits
        return logits[0]


def admit(worker: Worker) -> list[int]:
    return [worker.table.admit(len(prompt) + 4) for prompt in PROMPTS]


def extend(worker: Worker, windows: list[Window]) -> tuple[Tensor, ...]:
    logits = worker.forward(window_batch(Mode.EXTEND, worker.table, windows))
    return torch.split(logits, [len(window.tokens) for window in windows])


@pytest.mark.parametrize("alignment", [1, 3])
def test_paged_attention_equals_dense_attention(demo: Demo, alignment: int) -> None:
    worker = target_worker(Sizes(alignment=alignment))
    windows = [Window(row, 0, p) for row, p in zip(admit(worker), PROMPTS, strict=True)]
    for prompt, logits in zip(PROMPTS, extend(worker, windows), strict=True):
        torch.testing.assert_close(logits, dense(demo.reference.model, prompt))


@pytest.mark.parametrize("alignment", [1, 3])
def test_a_prompt_in_chunks_equals_the_prompt_at_once(demo: Demo, alignment: int) -> None:
    worker = target_worker(Sizes(alignment=alignment))
    rows = admit(worker)
    cuts = [2, 4, 3]
    first = [Window(row, 0, p[:n]) for row, p, n in zip(rows, PROMPTS, cuts, strict=True)]
    rest = [Window(row, n, p[n:]) for row, p, n in zip(rows, PROMPTS, cuts, strict=True)]
    extend(worker, first)
    for prompt, cut, logits in zip(PROMPTS, cuts, extend(worker, rest), strict=True):
        torch.testing.assert_close(logits, dense(demo.reference.model, prompt)[cut:])


def test_sequences_lie_scattered_in_the_pool() -> None:
    worker = target_worker(Sizes())
    (row, *_) = admit(worker)
    pages = worker.table.pages(row)
    assert list(pages) != list(range(pages[0], pages[0] + len(pages)))


def test_what_the_padding_slot_holds_reaches_no_live_row(demo: Demo) -> None:
    worker = target_worker(Sizes(alignment=3))
    for stored in (*worker.pool.keys, *worker.pool.values):
        stored[0] = 1e4
    windows = [Window(row, 0, p) for row, p in zip(admit(worker), PROMPTS, strict=True)]
    for prompt, logits in zip(PROMPTS, extend(worker, windows), strict=True):
        torch.testing.assert_close(logits, dense(demo.reference.model, prompt))


def test_a_corrupted_page_changes_tokens(demo: Demo) -> None:
    assert notices_a_corrupted_page(demo, make_requests(1, seed=5)[0]).passed


def test_damage_stays_within_its_page() -> None:
    worker = target_worker(Sizes())
    for stored in worker.pool.keys:
        stored.fill_(3.0)
    damage_page(worker, 2)
    size = worker.table.page_size
    changed = (worker.pool.keys[0] < 0).all(dim=(1, 2)).nonzero().flatten().tolist()
    assert changed == list(range(2 * size, 3 * size))


def test_a_padded_length_of_zero_is_refused() -> None:
    worker = target_worker(Sizes(alignment=4))
    live = window_batch(Mode.DECODE, worker.table, [Window(admit(worker)[0], 0, (9,))])
    batch = worker.runner.load(live)
    plan_attention(batch, worker.pool, worker.table)
    present(batch.seq_lens, "seq_lens")[batch.live_requests :] = 0
    with pytest.raises(PaddingError, match="padded length must be 1 or more"):
        plan_attention(batch, worker.pool, worker.table)


def test_routing_the_served_model_leaves_the_reference_alone() -> None:
    target = build_target()
    reference = build_reference(target)
    draft = build_draft(target, noise=0.1)
    route_through_pool(target)
    assert target.config._attn_implementation == PAGED_ATTENTION
    assert reference.config._attn_implementation == "sdpa"
    assert draft.config._attn_implementation != PAGED_ATTENTION


def test_the_draft_is_near_the_target_and_not_the_target() -> None:
    target = build_target()
    draft = build_draft(target, noise=0.03)
    ours, theirs = dense(build_reference(target), PROMPTS[0]), dense(draft, PROMPTS[0])
    assert not torch.equal(ours, theirs)
    assert (ours.argmax(dim=-1) == theirs.argmax(dim=-1)).float().mean() > 0.3
