"""Block diffusion: a block of masks is revealed over several steps, the most confident first.

Attention is causal between blocks and open within one. A finished block is computed once more,
so that later blocks read keys and values of its tokens and not of its masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from ullage_demo.batches import Window, window_batch
from ullage_demo.model import MASK_TOKEN
from ullage_demo.schedule import Request
from ullage_demo.worker import Worker
from ullage_generated.sglang import Mode


@dataclass(frozen=True, slots=True)
class Denoising:
    """`block` tokens a step and request, of which each step reveals `reveals`."""

    block: int
    reveals: int

    def canvas(self, request: Request) -> list[int]:
        """The prompt, then masks up to the end of the last block."""
        length = -(-request.length // self.block) * self.block
        return [*request.prompt, *[MASK_TOKEN] * (length - len(request.prompt))]


def reveal(tokens: Sequence[int], logits: Tensor, count: int) -> list[int]:
    """Replace the `count` masks whose best token is likeliest; `logits`: [block, vocabulary]."""
    allowed = logits.clone()
    allowed[:, MASK_TOKEN] = -torch.inf
    best = allowed.softmax(dim=-1).max(dim=-1)
    masked = [place for place, token in enumerate(tokens) if token == MASK_TOKEN]
    masked.sort(key=lambda place: (-float(best.values[place]), place))
    revealed = list(tokens)
    for place in masked[:count]:
        revealed[place] = int(best.indices[place])
    return revealed


@dataclass(slots=True, eq=False)
class Canvas:
    """A request in progress; all blocks before `start` are final and cached."""

    number: int
    request: Request
    row: int
    tokens: list[int]
    start: int = 0

    @property
    def finished(self) -> bool:
        return self.start >= len(self.tokens)

    @property
    def output(self) -> tuple[int, ...]:
        return tuple(self.tokens[len(self.request.prompt) : self.request.length])


class BlockDecoder:
    """Serves requests a block step at a time; prompts take one step for each full block."""

    def __init__(self, worker: Worker, denoising: Denoising, max_running: int) -> None:
        self._worker = worker
        self._denoising = denoising
        self._max_running = max_running

    def serve(self, requests: Sequence[Request]) -> list[tuple[int, ...]]:
        """The requests' outputs, in order."""
        waiting = list(enumerate(requests))[::-1]
        running: list[Canvas] = []
        outputs: dict[int, tuple[int, ...]] = {}
        while waiting or running:
            while waiting and len(running) < self._max_running:
                running.append(self._admit(*waiting.pop()))
            self._step(running)
            for canvas in [each for each in running if each.finished]:
                running.remove(canvas)
                self._worker.table.release(canvas.row)
                outputs[canvas.number] = canvas.output
        return [outputs[number] for number in range(len(requests))]

    def _admit(self, number: int, request: Request) -> Canvas:
        tokens = self._denoising.canvas(request)
        return Canvas(number, request, self._worker.table.admit(len(tokens)), tokens)

    def _step(self, running: Sequence[Canvas]) -> None:
        block = self._denoising.block
        windows = [
            Window(each.row, each.start, tuple(each.tokens[each.start : each.start + block]))
            for each in running
        ]
        logits = self._worker.forward(window_batch(Mode.DLLM_EXTEND, self._worker.table, windows))
        blocks = logits.reshape(len(running), block, -1).unbind()
        for canvas, window, rows in zip(running, windows, blocks, strict=True):
            self._advance(canvas, window, rows)

    def _advance(self, canvas: Canvas, window: Window, logits: Tensor) -> None:
        if MASK_TOKEN in window.tokens:
            revealed = reveal(window.tokens, logits, self._denoising.reveals)
            canvas.tokens[window.start : window.stop] = revealed
        else:
            canvas.start = window.stop


@torch.inference_mode()
def denoise_densely(
    reference: LlamaForCausalLM, request: Request, denoising: Denoising
) -> tuple[int, ...]:
    """The same schedule for one request: unbatched, without a cache, under a dense mask."""
    tokens = denoising.canvas(request)
    block = denoising.block
    for start in range(0, len(tokens), block):
        stop = start + block
        while MASK_TOKEN in tokens[start:stop]:
            logits = reference(
                input_ids=torch.tensor([tokens[:stop]]),
                attention_mask=block_causal_mask(stop, block),
                use_cache=False,
            ).logits[0, start:]
            tokens[start:stop] = reveal(tokens[start:stop], logits, denoising.reveals)
    return tuple(tokens[len(request.prompt) : request.length])


def block_causal_mask(length: int, block: int) -> Tensor:
    """Which keys each query sees: bool [1, 1, length, length]."""
    number = torch.arange(length) // block
    return (number[None, :] <= number[:, None])[None, None]
