"""Seeded requests of uneven lengths."""

from __future__ import annotations

import random

from ullage_demo.model import MASK_TOKEN
from ullage_demo.schedule import Request


def make_requests(
    count: int,
    *,
    seed: int = 0,
    prompt: tuple[int, int] = (3, 50),
    new_tokens: tuple[int, int] = (6, 24),
    pause_before_last: int = 0,
) -> list[Request]:
    """`prompt` and `new_tokens`: ranges of lengths, both ends included.

    `pause_before_last`: the last quarter arrives only at that step.
    """
    generator = random.Random(seed)
    late = count - count // 4
    return [
        Request(
            prompt=tuple(generator.randrange(1, MASK_TOKEN) for _ in range(length)),
            new_tokens=generator.randint(*new_tokens),
            arrival=pause_before_last if number >= late else 0,
        )
        for number in range(count)
        for length in (generator.randint(*prompt),)
    ]
