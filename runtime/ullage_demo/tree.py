"""Trees of draft tokens: how they grow, which part is verified, and what the target accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

ROOT = -1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed token below candidate `parent`, or below the root.

    `score`: the product of the draft's probabilities along the path; `path`: the branch rows
    that computed its ancestors, oldest first.
    """

    token: int
    parent: int
    depth: int
    score: float
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftTree:
    """Tokens to verify, the root first; every parent stands before its children."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]

    def ancestors(self) -> Tensor:
        """bool [tokens, tokens]: each row sees itself and its ancestors, nothing else."""
        seen = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                seen[node] |= seen[parent]
        return seen

    def accept(self, predictions: Sequence[int]) -> Accepted:
        """Walk down while the target's `predictions`, one a row, name a child."""
        rows = [0]
        while (child := self._child(rows[-1], predictions[rows[-1]])) is not None:
            rows.append(child)
        return Accepted(
            rows=tuple(rows),
            tokens=(*(self.tokens[row] for row in rows[1:]), predictions[rows[-1]]),
        )

    def _child(self, parent: int, token: int) -> int | None:
        for node, (above, drafted) in enumerate(zip(self.parents, self.tokens, strict=True)):
            if above == parent and drafted == token:
                return node
        return None


@dataclass(frozen=True, slots=True)
class Accepted:
    """Tree rows on the accepted path, the root first; their tokens, and the target's next one."""

    rows: tuple[int, ...]
    tokens: tuple[int, ...]

    @property
    def drafts(self) -> int:
        return len(self.rows) - 1


class TreeGrowth:
    """Grows one request's tree: each step keeps the `topk` likeliest of its new candidates.

    Branch j of draft step i is computed as draft row i * topk + j of the request.
    """

    def __init__(self, root: int, topk: int) -> None:
        self._root = root
        self._topk = topk
        self._steps = 0
        self._candidates: list[Candidate] = []
        self._frontier: list[int] = []

    @property
    def frontier(self) -> list[Candidate]:
        """The branches that the next draft step computes; [topk] after `start`."""
        return [self._candidates[index] for index in self._frontier]

    def start(self, probabilities: Tensor) -> None:
        """The first branches, from the draft's distribution after the root: [vocabulary]."""
        self._frontier = self._add(probabilities, ROOT, 1.0, 0, ())

    def visible(self) -> Tensor:
        """For each branch, the draft rows that it sees, its own included: bool [topk, rows]."""
        seen = torch.zeros(self._topk, (self._steps + 1) * self._topk, dtype=torch.bool)
        for branch, candidate in enumerate(self.frontier):
            seen[branch, [*candidate.path, self._row(branch)]] = True
        return seen

    def advance(self, probabilities: Tensor) -> None:
        """One step deeper, from the distribution after each branch: [topk, vocabulary]."""
        added: list[int] = []
        for branch, index in enumerate(self._frontier):
            above = self._candidates[index]
            path = (*above.path, self._row(branch))
            added += self._add(probabilities[branch], index, above.score, above.depth, path)
        self._steps += 1
        self._frontier = sorted(added, key=self._rank)[: self._topk]

    def finish(self, size: int) -> DraftTree:
        """The root and the `size` - 1 likeliest candidates.

        A child is never likelier than its parent and always younger, so parents are in it too.
        """
        chosen = sorted(sorted(range(len(self._candidates)), key=self._rank)[: size - 1])
        place = {index: node for node, index in enumerate(chosen, 1)} | {ROOT: 0}
        picked = [self._candidates[index] for index in chosen]
        return DraftTree(
            tokens=(self._root, *(each.token for each in picked)),
            parents=(ROOT, *(place[each.parent] for each in picked)),
            depths=(0, *(each.depth for each in picked)),
        )

    def _row(self, branch: int) -> int:
        return self._steps * self._topk + branch

    def _rank(self, index: int) -> tuple[float, int]:
        return -self._candidates[index].score, index

    def _add(
        self, probabilities: Tensor, parent: int, score: float, depth: int, path: tuple[int, ...]
    ) -> list[int]:
        likeliest = probabilities.topk(self._topk)
        first = len(self._candidates)
        for probability, token in zip(
            likeliest.values.tolist(), likeliest.indices.tolist(), strict=True
        ):
            self._candidates.append(Candidate(token, parent, depth + 1, score * probability, path))
        return list(range(first, len(self._candidates)))
