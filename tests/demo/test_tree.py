from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ullage_demo.sizes import Speculation
from ullage_demo.tree import ROOT, DraftTree, TreeGrowth

#        5
#       / \
#      7   8
#     / \   \
#    9   7   9
TREE = DraftTree(
    tokens=(5, 7, 8, 9, 7, 9), parents=(ROOT, 0, 0, 1, 1, 2), depths=(0, 1, 1, 2, 2, 2)
)


def probabilities(generator: torch.Generator, rows: int) -> Tensor:
    return (3 * torch.randn(rows, 20, generator=generator)).softmax(dim=-1)


def grow(seed: int, topk: int, steps: int) -> TreeGrowth:
    generator = torch.Generator().manual_seed(seed)
    growth = TreeGrowth(4, topk)
    growth.start(probabilities(generator, 1)[0])
    for _ in range(steps - 1):
        growth.advance(probabilities(generator, topk))
    return growth


def test_each_token_sees_itself_and_its_ancestors() -> None:
    seen = [row.nonzero().flatten().tolist() for row in TREE.ancestors()]
    assert seen == [[0], [0, 1], [0, 2], [0, 1, 3], [0, 1, 4], [0, 2, 5]]


def test_the_longest_path_that_the_target_agrees_with_is_accepted() -> None:
    accepted = TREE.accept([8, 1, 9, 1, 1, 6])
    assert (accepted.rows, accepted.tokens, accepted.drafts) == ((0, 2, 5), (8, 9, 6), 2)


def test_a_token_counts_only_below_the_accepted_parent() -> None:
    accepted = TREE.accept([8, 9, 7, 1, 1, 1])
    assert (accepted.rows, accepted.tokens) == ((0, 2), (8, 7))


def test_with_no_agreement_only_the_target_s_token_is_gained() -> None:
    accepted = TREE.accept([3, 3, 3, 3, 3, 3])
    assert (accepted.rows, accepted.tokens, accepted.drafts) == ((0,), (3,), 0)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4), st.data())
def test_a_grown_tree_holds_the_parent_of_every_token_before_it(
    seed: int, topk: int, steps: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(2, 1 + topk + (steps - 1) * topk**2))
    tree = grow(seed, topk, steps).finish(size)
    assert len(tree.tokens) == size
    assert tree.parents[0] == ROOT
    for node in range(1, size):
        assert 0 <= tree.parents[node] < node
        assert tree.depths[node] == tree.depths[tree.parents[node]] + 1 <= steps
    siblings = list(zip(tree.parents, tree.tokens, strict=True))
    assert len(set(siblings)) == len(siblings)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
def test_a_branch_sees_one_draft_row_of_each_step(seed: int, topk: int, steps: int) -> None:
    visible = grow(seed, topk, steps).visible()
    assert visible.shape == (topk, steps * topk)
    assert (visible.reshape(topk, steps, topk).sum(dim=-1) == 1).all()
    assert torch.equal(visible[:, -topk:], torch.eye(topk, dtype=torch.bool))


def test_a_chain_takes_the_likeliest_token_each_time() -> None:
    generator = torch.Generator().manual_seed(3)
    likeliest = [int(probabilities(generator, 1)[0].argmax()) for _ in range(3)]
    chain = grow(3, 1, 3).finish(4)
    assert chain.tokens == (4, *likeliest)
    assert chain.parents == (ROOT, 0, 1, 2)


def test_more_draft_tokens_than_a_tree_grows_are_refused() -> None:
    with pytest.raises(ValueError, match="2 steps of top-2 grow 7 tree tokens"):
        Speculation(steps=2, topk=2, draft_tokens=8)
