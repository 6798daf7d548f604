"""How large the demo's engine is."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """`steps` draft steps keep `topk` branches; one verify checks `draft_tokens` of the tree.

    `candidates`: numbers of draft tokens that rounds may choose among, the largest of them
    `draft_tokens`; empty if all rounds are alike.
    """

    steps: int
    topk: int
    draft_tokens: int
    frozen_kv: bool = False
    candidates: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        grown = 1 + self.topk + (self.steps - 1) * self.topk**2
        if not 1 <= self.draft_tokens <= grown:
            raise ValueError(
                f"{self.steps} steps of top-{self.topk} grow {grown} tree tokens, "
                f"which cannot give {self.draft_tokens} draft tokens."
            )

    def of_length(self, draft_tokens: int) -> Speculation:
        """A round in which a chain has `draft_tokens`, the last token of the sequence included."""
        return replace(self, steps=draft_tokens - 1, draft_tokens=draft_tokens)

    @property
    def chosen_length(self) -> int | None:
        """What a batch says of its number of draft tokens: nothing if all rounds are alike."""
        return self.draft_tokens if self.candidates else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Requests and tokens of one engine, and how it serves them.

    `buckets`: numbers of requests that graphs are captured with, empty for none; `mixes`: decodes
    join the chunks of prompts; `splits`: prompts run layer by layer beside decodes; `block`: tokens
    of a diffusion block, 0 for none. `ranks`: data-parallel ranks, each padded to multiples of
    `alignment`, its own tensor-parallel ranks.
    """

    max_running: int = 8
    chunk: int = 64
    context: int = 160
    page_size: int = 8
    speculation: Speculation | None = None
    block: int = 0
    buckets: tuple[int, ...] = ()
    mixes: bool = False
    splits: bool = False
    ranks: int = 1
    alignment: int = 1

    @property
    def window(self) -> int:
        """Slots that a sequence may need past its own tokens while drafts are in flight."""
        if self.speculation is None:
            return 0
        drafted = self.speculation.steps * self.speculation.topk
        return max(drafted, 2 * self.speculation.draft_tokens)

    @property
    def row_width(self) -> int:
        """Columns of the request table."""
        return self.context + self.window

    @property
    def pages(self) -> int:
        """Pages of the pool, without the reserved one: enough for every running request."""
        return self.max_running * -(-self.row_width // self.page_size)

    @property
    def pool_tokens(self) -> int:
        return self.pages * self.page_size

    @property
    def pool_slots(self) -> int:
        """Slots of the pool with those of the reserved page, which padding reads and writes."""
        return self.pool_tokens + self.page_size
