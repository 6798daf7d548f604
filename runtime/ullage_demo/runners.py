"""The runners of the demo's models: what stands behind the seam is decided here, and only here."""

from __future__ import annotations

from enum import Enum

from ullage_demo.pass_through import PassThroughRunner
from ullage_demo.seam import Runner
from ullage_demo.sizes import Sizes
from ullage_runtime.integers import align_up
from ullage_runtime.ranks import Ranks


class Role(Enum):
    """Which model a runner serves."""

    TARGET = "target"
    DRAFT = "draft"


def build_runner(
    role: Role, sizes: Sizes, *, alignment: int = 1, ranks: Ranks | None = None
) -> Runner:
    """The runner of one model: every extent that its modes can reach fits.

    `alignment` pads each batch more than it needs; `ranks` are kept in step by MLP-sync.
    """
    rows, width, ragged = _extents(role, sizes)
    requests = align_up(rows, alignment)
    tokens = max(requests * width, align_up(ragged, alignment))
    return PassThroughRunner(requests, tokens, alignment=alignment, ranks=ranks)


def _extents(role: Role, sizes: Sizes) -> tuple[int, int, int]:
    """Most rows, most tokens a row of the fixed-width modes, most tokens of the ragged ones."""
    running, speculation = sizes.max_running, sizes.speculation
    if speculation is None:
        return running, max(1, sizes.block), sizes.chunk
    if role is Role.TARGET:
        return running, speculation.draft_tokens, sizes.chunk
    if speculation.frozen_kv:
        return running * speculation.topk, 1, 0
    return running, max(speculation.topk, speculation.draft_tokens), sizes.chunk
