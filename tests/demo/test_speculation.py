from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ullage_demo.checks import accepts_some, equals_generate
from ullage_demo.eagle_draft import EagleDrafter
from ullage_demo.frozen_kv import FrozenKVDrafter, expanded_batch
from ullage_demo.paged_kv import KVPool
from ullage_demo.scenarios import CHAIN, FROZEN, TREE
from ullage_demo.schedule import Request, RunningSequence, Scheduler
from ullage_demo.setting import Demo
from ullage_demo.sizes import Sizes, Speculation
from ullage_demo.speculation import SpeculativeDecoder, verify_batch
from ullage_demo.tree import ROOT, DraftTree
from ullage_demo.worker import draft_worker, target_worker
from ullage_demo.workload import make_requests

WHOLE_TREE = Speculation(steps=2, topk=3, draft_tokens=13)
"""Verifies all that it grows, so that the greedy path is always in it."""

REQUESTS = make_requests(4, seed=6, new_tokens=(12, 20))


def serve(
    speculation: Speculation, noise: float = 0.03
) -> tuple[list[tuple[int, ...]], SpeculativeDecoder]:
    sizes = Sizes(speculation=speculation, max_running=3)
    target = target_worker(sizes)
    draft = draft_worker(target, sizes, noise)
    drafter = (FrozenKVDrafter if speculation.frozen_kv else EagleDrafter)(draft)
    decoder = SpeculativeDecoder(target, drafter, speculation)
    scheduler = Scheduler(
        REQUESTS, target.table, sizes.max_running, sizes.chunk, window=sizes.window
    )
    return scheduler.serve(decoder.run_step), decoder


@pytest.mark.parametrize("speculation", [CHAIN, WHOLE_TREE])
def test_a_draft_that_is_the_target_is_always_right(demo: Demo, speculation: Speculation) -> None:
    outputs, decoder = serve(speculation, noise=0.0)
    assert equals_generate(demo.reference, REQUESTS, outputs).passed
    assert decoder.acceptance.rate == 1.0


@pytest.mark.parametrize("speculation", [CHAIN, TREE, FROZEN])
@pytest.mark.slow
def test_a_draft_that_is_always_wrong_costs_no_token(demo: Demo, speculation: Speculation) -> None:
    outputs, decoder = serve(speculation, noise=2.0)
    assert equals_generate(demo.reference, REQUESTS, outputs).passed
    assert decoder.acceptance.rate < 0.1
    assert not accepts_some(decoder.acceptance.rate).passed


def test_a_verify_that_sees_all_drafts_changes_tokens(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(tree: DraftTree) -> Tensor:
        return torch.ones(len(tree.tokens), len(tree.tokens), dtype=torch.bool)

    monkeypatch.setattr(DraftTree, "ancestors", everything)
    outputs, _ = serve(TREE)
    assert not equals_generate(demo.reference, REQUESTS, outputs).passed


def test_an_accepted_path_that_is_not_moved_changes_tokens(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stay(_pool: KVPool, _sources: Tensor, _targets: Tensor) -> None:
        """Leave the keys and values where the verify wrote them."""

    monkeypatch.setattr(KVPool, "move", stay)
    outputs, _ = serve(TREE)
    check = equals_generate(demo.reference, REQUESTS, outputs)
    assert not check.passed
    assert "which leads by" in check.detail


def test_a_frozen_draft_leaves_the_pool_as_it_is() -> None:
    sizes = Sizes(speculation=FROZEN, max_running=2)
    target = target_worker(sizes)
    draft = draft_worker(target, sizes, 0.03)
    generator = torch.Generator().manual_seed(8)
    for stored in (*target.pool.keys, *target.pool.values):
        stored.copy_(torch.randn(stored.shape, generator=generator))
    before = [stored.clone() for stored in (*target.pool.keys, *target.pool.values)]
    FrozenKVDrafter(draft).propose([running(target.table.admit(40))], FROZEN)
    after = [*target.pool.keys, *target.pool.values]
    assert all(torch.equal(old, new) for old, new in zip(before, after, strict=True))


def running(row: int, cached: int = 5) -> RunningSequence:
    tokens = list(range(31, 31 + cached + 1))
    return RunningSequence(Request(tuple(tokens[:-1]), 9), row, tokens, cached)


def test_top_k_widens_the_request_axis_of_a_frozen_draft() -> None:
    live = expanded_batch([running(2), running(1, 7)], [4, 5, 6, 7, 8, 9], 2, 3)
    assert live.batch_size == 2
    assert live.out_cache_loc is None
    assert live.req_pool_indices is not None
    assert live.req_pool_indices.tolist() == [2, 2, 2, 1, 1, 1]
    assert live.positions is not None
    assert live.positions.tolist() == [7, 7, 7, 9, 9, 9]


def test_siblings_of_a_verified_tree_share_a_position() -> None:
    target = target_worker(Sizes(max_running=2))
    tree = DraftTree((35, 7, 8, 9), (ROOT, 0, 0, 2), (0, 1, 1, 2))
    live = verify_batch(target.table, [running(target.table.admit(40))], [tree])
    assert live.positions is not None
    assert live.positions.tolist() == [5, 6, 6, 7]
    assert live.seq_lens is not None
    assert live.seq_lens.tolist() == [5]
