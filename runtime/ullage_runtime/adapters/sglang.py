"""SGLang's `ForwardBatch` in front of the runners that are generated for SGLang.

`SglangLoader(runner, LiveBatch).load(forward_batch)` is what `fill_from` and `extract_buffer` of
SGLang's own registry are together. SGLang is not imported: a batch is known by its attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, Generic, Protocol, TypeVar

from torch import Tensor

from ullage_runtime.adapters.batches import BatchAdapter, ModeLoader, Naming, Runner
from ullage_runtime.errors import BatchError
from ullage_runtime.slots import LiveT


class ForwardMode(Protocol):
    """A member of SGLang's enum of modes."""

    @property
    def name(self) -> str: ...


class ForwardBatch(Protocol):
    """SGLang's batch, as far as it is not read by the names of the spec."""

    @property
    def forward_mode(self) -> ForwardMode: ...


class ProxyTensors(Protocol):
    """What the previous pipeline rank computed, which SGLang hands on beside the batch."""

    @property
    def tensors(self) -> Mapping[str, Tensor]: ...


ForwardBatchT = TypeVar("ForwardBatchT", bound=ForwardBatch)

MODES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "DECODE": ("decode",),
        "EXTEND": ("extend",),
        "MIXED": ("mixed",),
        "IDLE": ("idle",),
        "SPLIT_PREFILL": ("split_prefill",),
        "TARGET_VERIFY": ("target_verify", "adaptive_verify"),
        "DLLM_EXTEND": ("dllm_extend",),
    }
)
"""The modes of the spec that a forward mode may be; a configuration serves one of them at most."""

NAMING: Final = Naming(
    sources=MappingProxyType(
        {
            "ngram_column_starts": "ngram_embedding_info.column_starts",
            "ngram_req_lens": "ngram_embedding_info.req_lens",
            "ngram_out_column_starts": "ngram_embedding_info.out_column_starts",
            "ngram_out_req_lens": "ngram_embedding_info.out_req_lens",
            "ngram_skip_update": "ngram_embedding_info.skip_token_table_update",
            "request_ids": "rids_int",
            "bootstrap_rooms": "bootstrap_room_ids_int",
            "dllm_input_state": "dllm_input_preparation_state",
            "adaptive_draft_tokens": "spec_info.draft_token_num",
        }
    ),
    fields=MappingProxyType(
        {
            "requests": "batch_size",
            "global_num_tokens": "global_num_tokens_gpu",
            "global_num_tokens_for_logprob": "global_num_tokens_for_logprob_gpu",
        }
    ),
)
"""Where a `ForwardBatch` has other names than `specs/sglang`."""

PROXIES: Final[Mapping[str, str]] = MappingProxyType(
    {"pipeline_hidden_states": "hidden_states", "pipeline_residual": "residual"}
)
"""Fields of the live batch, each with its key among the proxies."""


class SglangLoader(Generic[ForwardBatchT, LiveT]):
    """Loads forward batches with one of the target's runners."""

    def __init__(self, runner: Runner[LiveT], live: type[LiveT]) -> None:
        """`live`: the class `LiveBatch` of the package that the runner is from."""
        adapter: BatchAdapter[ForwardBatchT, LiveT] = BatchAdapter(runner, live, NAMING)
        self._title = type(runner).__name__
        self._by_name = {name: adapter.of(mode) for name, mode in _served(runner.modes).items()}
        self._by_mode: dict[ForwardMode, ModeLoader[ForwardBatchT]] = {}

    def load(
        self, forward_batch: ForwardBatchT, pp_proxy_tensors: ProxyTensors | None = None
    ) -> ForwardBatchT:
        """The batch with its slots in the static buffers, at the padded shape.

        Raises BatchError (U717) for a forward mode that the runner does not serve, and what
        `load` of the runner does.
        """
        loader = self._by_mode.get(forward_batch.forward_mode)
        if loader is None:
            loader = self._loader(forward_batch.forward_mode)
        if pp_proxy_tensors is None:
            return loader.load(forward_batch)
        return loader.load(forward_batch, _proxies(pp_proxy_tensors.tensors))

    def _loader(self, mode: ForwardMode) -> ModeLoader[ForwardBatchT]:
        loader = self._by_name.get(mode.name)
        if loader is None:
            problem = f"serves only {', '.join(self._by_name)}"
            raise BatchError("U717", mode.name, self._title, problem, place=f"{__name__}.MODES")
        return self._by_mode.setdefault(mode, loader)


def _served(modes: tuple[Enum, ...]) -> Mapping[str, Enum]:
    """The mode of the runner that each forward mode is."""
    by_name = {mode.value: mode for mode in modes}
    return {
        forward: by_name[name]
        for forward, names in MODES.items()
        for name in names
        if name in by_name
    }


def _proxies(tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    return {field: tensors[key] for field, key in PROXIES.items() if key in tensors}
