"""What the demo holds itself to: exact equality with transformers, and proof that it can fail."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from transformers import LlamaForCausalLM

from ullage_demo.schedule import Request
from ullage_generated.sglang import Mode


@dataclass(frozen=True, slots=True)
class Check:
    """One claim about a run, whether it held, and the numbers behind it."""

    claim: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Continuation:
    """Tokens of the library's greedy `generate`, and its smallest lead of best over second."""

    tokens: tuple[int, ...]
    smallest_gap: float


class Reference:
    """The library's own greedy `generate`, one request at a time; answers are kept."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        self.model = model
        self._known: dict[tuple[tuple[int, ...], int], Continuation] = {}

    def continuation(self, request: Request) -> Continuation:
        key = request.prompt, request.new_tokens
        if key not in self._known:
            self._known[key] = self._generate(request)
        return self._known[key]

    @torch.inference_mode()
    def lead(self, tokens: Sequence[int], ahead: int, behind: int) -> float:
        """By how much the logit of `ahead` exceeds that of `behind` after `tokens`."""
        logits = self.model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1]
        return float(logits[ahead] - logits[behind])

    def _generate(self, request: Request) -> Continuation:
        prompt = torch.tensor([request.prompt])
        generated = self.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            max_new_tokens=request.new_tokens,
            return_dict_in_generate=True,
            output_logits=True,
        )
        best = torch.cat(generated.logits).topk(2).values
        return Continuation(
            tokens=tuple(generated.sequences[0, len(request.prompt) :].tolist()),
            smallest_gap=float((best[:, 0] - best[:, 1]).min()),
        )


def equals_generate(
    reference: Reference, requests: Sequence[Request], outputs: Sequence[tuple[int, ...]]
) -> Check:
    """Every token of every request is the one that `generate` chooses."""
    claim = "tokens equal generate"
    known = [reference.continuation(request) for request in requests]
    for number, (request, expected, output) in enumerate(
        zip(requests, known, outputs, strict=True)
    ):
        if output != expected.tokens:
            difference = describe_difference(reference, request, expected.tokens, output)
            return Check(claim, False, f"request {number}: {difference}")
    gap = min(each.smallest_gap for each in known)
    total = sum(len(each.tokens) for each in known)
    return Check(claim, True, f"{len(known)} requests, {total} tokens, smallest lead {gap:.1e}")


def describe_difference(
    reference: Reference,
    request: Request,
    expected: tuple[int, ...],
    output: tuple[int, ...],
) -> str:
    """Where two continuations part, and by how much the reference preferred its own token."""
    if len(output) != len(expected):
        return f"{len(output)} tokens instead of {len(expected)}"
    pairs = zip(expected, output, strict=True)
    place = next(index for index, (ours, theirs) in enumerate(pairs) if ours != theirs)
    before = [*request.prompt, *expected[:place]]
    lead = reference.lead(before, expected[place], output[place])
    return (
        f"token {place} is {output[place]} instead of {expected[place]}, which leads by {lead:.1e}"
    )


def equals_schedule(
    expected: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]
) -> Check:
    """Every token of every request is the one of the dense denoising schedule."""
    wrong = [
        number
        for number, (ours, theirs) in enumerate(zip(outputs, expected, strict=True))
        if ours != theirs
    ]
    tokens = sum(len(each) for each in expected)
    detail = f"{len(expected)} requests, {tokens} tokens"
    return Check(
        "tokens equal the dense denoising",
        not wrong,
        f"{detail}, different in requests {wrong}" if wrong else detail,
    )


def saw_modes(seen: Mapping[Mode, object], expected: Collection[Mode]) -> Check:
    """The run went through every mode that it is there to show."""
    missing = [mode.value for mode in expected if mode not in seen]
    listed = ", ".join(mode.value for mode in expected)
    return Check(
        "went through its modes",
        not missing,
        f"without {', '.join(missing)}" if missing else listed,
    )


def accepts_some(rate: float, low: float = 0.2, high: float = 0.8) -> Check:
    """Drafts are neither always right nor useless, so both paths of a verify are taken."""
    return Check(
        "drafts partly accepted",
        low <= rate <= high,
        f"acceptance {rate:.0%}, wanted {low:.0%} to {high:.0%}",
    )


def varies(reference: Reference, requests: Sequence[Request]) -> Check:
    """The expected tokens are not one token over and over, which anything would equal."""
    outputs = [reference.continuation(request).tokens for request in requests]
    share = min(len(set(output)) / len(output) for output in outputs)
    return Check(
        "expected tokens vary",
        share > 0.5,
        f"in every request at least {share:.0%} of the tokens are distinct",
    )


def stands_alone(reference: LlamaForCausalLM, served: LlamaForCausalLM) -> Check:
    """The reference has its own configuration and does not attend through the paged pool."""
    ours = reference.config._attn_implementation
    theirs = served.config._attn_implementation
    apart = reference.config is not served.config and ours != theirs
    return Check("reference stands alone", apart, f"it attends by {ours}, the served by {theirs}")
