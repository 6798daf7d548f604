"""One scenario for each way to serve: set up, serve, check."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ullage_demo.adaptive import DRAFT_NOISE, adaptive
from ullage_demo.batches import Window, window_batch
from ullage_demo.block_diffusion import BlockDecoder, Denoising, denoise_densely
from ullage_demo.checks import (
    Check,
    accepts_some,
    equals_generate,
    equals_schedule,
    saw_modes,
    stands_alone,
    varies,
)
from ullage_demo.eagle_draft import EagleDrafter
from ullage_demo.frozen_kv import FrozenKVDrafter
from ullage_demo.graphs import graph, graph_verify
from ullage_demo.plain import SplitPrefill, run_step
from ullage_demo.report import Outcome, rows_of
from ullage_demo.runners import Role
from ullage_demo.schedule import Request, Step
from ullage_demo.setting import Demo, build_scheduler
from ullage_demo.sizes import Sizes, Speculation
from ullage_demo.speculation import SpeculativeDecoder
from ullage_demo.student import agrees
from ullage_demo.worker import Worker, draft_worker, target_worker
from ullage_demo.workload import make_requests
from ullage_generated.sglang import Mode
from ullage_runtime.errors import BatchError, CapacityError

CHAIN = Speculation(steps=3, topk=1, draft_tokens=4)
TREE = Speculation(steps=3, topk=4, draft_tokens=8)
FROZEN = Speculation(steps=3, topk=3, draft_tokens=6, frozen_kv=True)
EAGLE_MODES = (Mode.EXTEND, Mode.TARGET_VERIFY, Mode.EAGLE_DRAFT, Mode.DRAFT_EXTEND)
FROZEN_MODES = (Mode.EXTEND, Mode.TARGET_VERIFY, Mode.FROZEN_KV_DRAFT)
DENOISING = Denoising(block=8, reveals=2)


def plain(demo: Demo) -> Outcome:
    """Continuous batching with chunked and mixed prefill, and a pause in which nobody waits."""
    sizes = Sizes(mixes=True, alignment=demo.alignment)
    requests = make_requests(demo.requests, seed=5, pause_before_last=30 + 3 * demo.requests)
    worker = target_worker(sizes, place=demo.place, student=demo.student)
    scheduler = build_scheduler(requests, worker.table, sizes)
    outputs = scheduler.serve(lambda step: run_step(worker, step))
    return Outcome(
        rows=rows_of("plain", Role.TARGET.value, worker.runner),
        checks=(
            equals_generate(demo.reference, requests, outputs),
            saw_modes(worker.runner.statistics, (Mode.EXTEND, Mode.MIXED, Mode.DECODE, Mode.IDLE)),
            varies(demo.reference, requests),
            stands_alone(demo.reference.model, worker.model),
            notices_a_corrupted_page(demo, requests[0]),
            *agrees(worker),
        ),
    )


def split(demo: Demo) -> Outcome:
    """Prefill a layer at a time, with decode steps in between.

    PD-multiplexing serves batches in place, which is why none is padded here.
    """
    sizes = Sizes(splits=True)
    requests = make_requests(demo.fewer, seed=7)
    worker = target_worker(sizes, place=demo.place, student=demo.student)
    scheduler = build_scheduler(requests, worker.table, sizes)
    outputs = scheduler.serve(SplitPrefill(worker, scheduler, layers_at_once=1).run_step)
    return Outcome(
        rows=rows_of("split prefill", Role.TARGET.value, worker.runner),
        checks=(
            equals_generate(demo.reference, requests, outputs),
            saw_modes(worker.runner.statistics, (Mode.SPLIT_PREFILL, Mode.DECODE)),
            *agrees(worker),
        ),
    )


def chain(demo: Demo) -> Outcome:
    """A chain of drafts: top-k 1."""
    return _speculative(demo, "chain", CHAIN)


def tree(demo: Demo) -> Outcome:
    """A tree of drafts: top-k on the token axis."""
    return _speculative(demo, "tree", TREE)


def frozen(demo: Demo) -> Outcome:
    """A tree of drafts from the target's own pool: top-k on the request axis."""
    return _speculative(demo, "frozen KV", FROZEN)


def diffusion(demo: Demo) -> Outcome:
    """Blocks of masks, revealed step by step."""
    sizes = Sizes(
        block=DENOISING.block,
        page_size=DENOISING.block,
        max_running=4,
        alignment=demo.alignment,
    )
    requests = make_requests(demo.fewer, seed=9)
    worker = target_worker(sizes, place=demo.place, student=demo.student)
    outputs = BlockDecoder(worker, DENOISING, sizes.max_running).serve(requests)
    expected = [denoise_densely(demo.reference.model, request, DENOISING) for request in requests]
    return Outcome(
        rows=rows_of("diffusion", Role.TARGET.value, worker.runner),
        checks=(
            equals_schedule(expected, outputs),
            saw_modes(worker.runner.statistics, (Mode.DLLM_EXTEND,)),
            *agrees(worker),
        ),
    )


SCENARIOS: Mapping[str, Callable[[Demo], Outcome]] = {
    "plain": plain,
    "split": split,
    "chain": chain,
    "adaptive": adaptive,
    "tree": tree,
    "frozen": frozen,
    "diffusion": diffusion,
    "graph": graph,
    "graph_verify": graph_verify,
}


def _speculative(demo: Demo, name: str, speculation: Speculation) -> Outcome:
    sizes = Sizes(speculation=speculation, max_running=6, alignment=demo.alignment)
    requests = make_requests(demo.fewer, seed=6)
    target = target_worker(sizes, place=demo.place, student=demo.student)
    draft = draft_worker(target, sizes, DRAFT_NOISE)
    drafter = (FrozenKVDrafter if speculation.frozen_kv else EagleDrafter)(draft)
    decoder = SpeculativeDecoder(target, drafter, speculation)
    outputs = build_scheduler(requests, target.table, sizes).serve(decoder.run_step)
    modes = FROZEN_MODES if speculation.frozen_kv else EAGLE_MODES
    seen = target.runner.statistics | draft.runner.statistics
    return Outcome(
        rows=(
            *rows_of(name, Role.TARGET.value, target.runner),
            *rows_of(name, Role.DRAFT.value, draft.runner),
        ),
        checks=(
            equals_generate(demo.reference, requests, outputs),
            accepts_some(decoder.acceptance.rate),
            saw_modes(seen, modes),
            *agrees(target, draft),
        ),
    )


def notices_a_corrupted_page(demo: Demo, request: Request) -> Check:
    """A damaged page of the pool changes the tokens, so equality could have failed."""
    sizes = Sizes(max_running=2)
    worker = target_worker(sizes, place=demo.place)
    scheduler = build_scheduler([request], worker.table, sizes)

    def run_then_damage(step: Step) -> None:
        run_step(worker, step)
        if step.mode is Mode.EXTEND:
            damage_page(worker, worker.table.pages(step.sequences[0].row)[0])

    (output,) = scheduler.serve(run_then_damage)
    expected = demo.reference.continuation(request).tokens
    changed = sum(ours != theirs for ours, theirs in zip(output, expected, strict=True))
    return Check(
        "a corrupted page changes tokens",
        changed > 0,
        f"{changed} of {len(expected)} tokens changed",
    )


def damage_page(worker: Worker, page: int) -> None:
    """Turn the signs of a page's keys and values in every layer."""
    size = worker.table.page_size
    slots = slice(page * size, (page + 1) * size)
    for stored in (*worker.pool.keys, *worker.pool.values):
        stored[slots] = -stored[slots]


def refuse_oversized() -> tuple[Check, str]:
    """Serve one request more than the engine is configured for; the check, and what a user sees."""
    worker = target_worker(Sizes())
    rows = worker.runner.config.max_running_requests + 1
    live = window_batch(Mode.DECODE, worker.table, [Window(0, 5, (7,)) for _ in range(rows)])
    claim = "an oversized batch is refused"
    try:
        worker.forward(live)
    except (BatchError, CapacityError) as error:
        return Check(claim, True, f"{rows} requests raise {type(error).__name__}"), str(error)
    return Check(claim, False, f"{rows} requests were served"), ""
