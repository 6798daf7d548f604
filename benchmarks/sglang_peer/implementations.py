"""Who loads a batch: SGLang in its two settings, a bare floor, and runners that are generated."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from sglang_peer.batches import (
    CACHE_SLOTS,
    PLAIN,
    REQUEST_ROWS,
    VOCABULARY,
    Contents,
    ForwardBatch,
)
from sglang_peer.cases import CAPTURED_ROWS, CAPTURED_TOKENS, MAX_REQUESTS, MAX_TOKENS, Case
from sglang_peer.registries import Registry
from sglang_peer.stubs import fast_path
from ullage_generated.sglang import (
    Config,
    DecodeGraphTargetRunner,
    EagerTargetRunner,
    LiveBatch,
    PrefillGraphTargetRunner,
)
from ullage_runtime.adapters.sglang import SglangLoader
from ullage_runtime.load_plan import with_fields
from ullage_runtime.native.writer import LibraryWriter
from ullage_runtime.ranks import SingleRank
from ullage_runtime.torch_writer import TorchWriter


class Implementation(Protocol):
    """Loads the batches of one case."""

    @property
    def name(self) -> str: ...

    @property
    def computes(self) -> bool:
        """Whether it writes the token counts of ranks, even if there is one."""
        ...

    def setting(self) -> AbstractContextManager[None]:
        """What has to hold while it is measured."""
        ...

    def fill(self, batch: ForwardBatch) -> None:
        """Write the batch into static buffers. What graphs need of SGLang."""
        ...

    def view(self, batch: ForwardBatch) -> ForwardBatch:
        """The batch that was filled, with the buffers for its slots. What eager steps need too."""
        ...


class Sglang:
    """SGLang's own registry."""

    computes = False

    def __init__(self, registry: Registry, case: Case, *, fast: bool) -> None:
        self.name = "sglang-fast" if fast else "sglang"
        self._fast = fast
        self._fill = registry.fill_from
        self._extract = registry.extract_buffer
        self._padded = {"padded_bs": case.padded_requests, "padded_num_tokens": case.padded_tokens}
        self._rows = {"raw_bs": case.requests, "raw_num_tokens": case.tokens, **self._padded}

    def setting(self) -> AbstractContextManager[None]:
        return fast_path(self._fast)

    def fill(self, batch: ForwardBatch) -> None:
        self._fill(batch, **self._rows)

    def view(self, batch: ForwardBatch) -> ForwardBatch:
        return self._extract(forward_batch_template=batch, **self._padded)


@dataclass(frozen=True, slots=True)
class _Copies:
    """What the floor does for one shape."""

    names: list[str]
    heads: list[Tensor]
    host: list[tuple[str, Tensor]]
    tails: list[tuple[Tensor, Any]]
    views: dict[str, object]


class Floor:
    """The same buffers and rules without any check: slices kept, one copy for all, no replace."""

    name = "floor"
    computes = False

    def __init__(self, registry: Registry, case: Case) -> None:
        self._slots = [registry.get_slot(name) for name in registry.slot_names()]
        self._buffers = {slot.name: slot.buffer.clone() for slot in self._slots}
        self._case = case
        self._kept: dict[tuple[object, ...], _Copies] = {}
        self._copies = _Copies([], [], [], [], {})

    def setting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def fill(self, batch: ForwardBatch) -> None:
        key = (batch.batch_size, batch.input_ids.shape[0], batch.mrope_positions is None)
        copies = self._kept.get(key)
        if copies is None:
            copies = self._kept[key] = self._worked_out(batch)
        for tail, value in copies.tails:
            tail.fill_(value)
        given = batch.__dict__
        torch._foreach_copy_(copies.heads, [given[name] for name in copies.names])
        for name, head in copies.host:
            head.copy_(given[name])
        self._copies = copies

    def view(self, batch: ForwardBatch) -> ForwardBatch:
        return with_fields(batch, self._copies.views)

    def _worked_out(self, batch: ForwardBatch) -> _Copies:
        case = self._case
        made = _Copies([], [], [], [], {"batch_size": case.padded_requests})
        for slot in self._slots:
            buffer = self._buffers[slot.name]
            if slot.axis == "none":
                made.views[slot.name] = buffer
            elif getattr(batch, slot.name) is not None:
                of_requests = slot.axis == "bs"
                live = case.requests if of_requests else case.tokens
                padded = case.padded_requests if of_requests else case.padded_tokens
                self._add(made, slot, buffer, live, padded)
        return made

    def _add(self, made: _Copies, slot: Any, buffer: Tensor, live: int, padded: int) -> None:
        fills = {"zero": 0, "fill_sentinel": slot.pad_value}
        made.views[slot.name] = buffer[..., :padded]
        if padded > live and slot.padding_policy.value in fills:
            made.tails.append((buffer[..., live:padded], fills[slot.padding_policy.value]))
        if slot.device is not None and slot.device.type == "cpu":
            made.host.append((slot.name, buffer[..., :live]))
        else:
            made.names.append(slot.name)
            made.heads.append(buffer[..., :live])


class Generated:
    """The runner that Ullage generates for such batches, behind its adapter for SGLang.

    With the library that is built for the device, or by torch's operations.
    """

    computes = True

    def __init__(
        self, case: Case, device: torch.device, contents: Contents, *, by_torch: bool = False
    ) -> None:
        self.name = "ullage-torch" if by_torch else "ullage"
        runner = runner_of(case, device, contents)
        if by_torch:
            runner.plans.recipes.writer = TorchWriter(runner.registry.regions.addresses)
        loader: SglangLoader[ForwardBatch, LiveBatch] = SglangLoader(runner, LiveBatch)
        self._load = loader.load
        self._loaded: ForwardBatch = None

    def setting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def fill(self, batch: ForwardBatch) -> None:
        self._loaded = self._load(batch)

    def view(self, batch: ForwardBatch) -> ForwardBatch:
        return self._loaded


def loads_by_library(device: torch.device) -> bool:
    """Whether a runner on this device has a library to load through."""
    case = Case("eager", False, 1, 1, 1, 1)
    return isinstance(runner_of(case, device, PLAIN).plans.recipes.writer, LibraryWriter)


def runner_of(
    case: Case, device: torch.device, contents: Contents
) -> EagerTargetRunner | DecodeGraphTargetRunner | PrefillGraphTargetRunner:
    """The generated runner that such batches are for."""
    config, ranks = config_of(case, contents), SingleRank()
    match case.kind:
        case "eager":
            return EagerTargetRunner(config, ranks, device=device)
        case "decode":
            return DecodeGraphTargetRunner(config, ranks, device=device)
        case "prefill":
            return PrefillGraphTargetRunner(config, ranks, device=device)


def config_of(case: Case, contents: Contents) -> Config:
    """A configuration in which a runner pads as the case says, with buffers as large as SGLang's.

    Vocabulary and width are small: they size buffers of logits and states, which nobody loads.
    """
    arguments: dict[str, object] = {
        "max_running_requests": MAX_REQUESTS,
        "request_pool_size": REQUEST_ROWS,
        "max_total_tokens": CACHE_SLOTS,
        "chunked_prefill_size": MAX_TOKENS,
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "mamba_extra_buffer": contents.mamba,
        "is_encoder_decoder": contents.encoder,
    }
    if case.width > 1:
        arguments |= {
            "speculative_algorithm": "ngram",
            "speculative_num_draft_tokens": case.width,
        }
    if case.kind == "decode":
        rows = list(CAPTURED_ROWS.values())
        arguments |= {"enable_decode_graph": True, "capture_requests": rows}
    if case.kind == "prefill":
        # Of the kinds of prefill graphs, the one whose static buffers are all in SGLang's registry.
        arguments |= {"enable_prefill_graph": True, "prefill_graph_backend": "piecewise"}
        arguments |= {"capture_tokens": list(CAPTURED_TOKENS), "is_multimodal": contents.mrope}
    return Config.from_arguments(arguments)
