"""An engine for the generated SGLang runners that notes what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor

from ullage_generated.sglang import Config, EagerTargetBatch, LiveBatch, Mode
from ullage_runtime.ranks import Gathered, SingleRank


def two_ranks(*, joined: bool = False) -> Config:
    """A small configuration of two ranks that agree on counts; `joined`: one came later."""
    return Config.of(
        elastic_world_expanded=joined,
        enable_dp_attention=True,
        tp_size=2,
        attn_dp_size=2,
        max_running_requests=6,
        max_total_tokens_target=64,
        chunked_prefill_size=16,
        idle_ranks_pad_alike=True,
    )


def decode_batch(requests: int) -> LiveBatch:
    """A decode batch in which every source has other values."""
    return LiveBatch(
        mode=Mode.DECODE,
        batch_size=requests,
        input_ids=torch.arange(1, requests + 1),
        positions=torch.arange(11, requests + 11),
        req_pool_indices=torch.arange(1, requests + 1),
        seq_lens=torch.arange(12, requests + 12),
        out_cache_loc=torch.arange(21, requests + 21),
    )


class Recorder:
    """An engine that notes what is asked of it; `facts` are the ones that hold."""

    def __init__(self, *facts: str) -> None:
        self.facts = facts
        self.calls: list[str] = []
        self.batches: list[EagerTargetBatch] = []
        self.logits = torch.empty(0)

    def _ask(self, fact: str) -> bool:
        self.calls.append(f"{fact}?")
        return fact in self.facts

    def _call(self, name: str, batch: LiveBatch | EagerTargetBatch, *values: str) -> str:
        self.calls.append(f"{name}({', '.join(('batch', *values))})")
        if isinstance(batch, LiveBatch):
            self.calls[-1] = self.calls[-1].replace("batch", "live")
        else:
            self.batches.append(batch)
        return name

    @contextmanager
    def _within(self, name: str) -> Iterator[None]:
        self.calls.append(f"enter {name}")
        yield
        self.calls.append(f"leave {name}")

    def needs_metadata(self, batch: EagerTargetBatch, /) -> bool:
        return self._ask("needs_metadata")

    def decode_context_parallel(self, batch: EagerTargetBatch, /) -> bool:
        return self._ask("decode_context_parallel")

    def context_parallel(self, batch: EagerTargetBatch, /) -> bool:
        return self._ask("context_parallel")

    def last_pipeline_rank(self, batch: EagerTargetBatch, /) -> bool:
        return self._ask("last_pipeline_rank")

    def piecewise_platform(self, batch: EagerTargetBatch, /) -> bool:
        return self._ask("piecewise_platform")

    def timer(self, batch: EagerTargetBatch, /) -> AbstractContextManager[object]:
        return self._within(f"timer {batch.mode.category}")

    def stream_backend(self, batch: EagerTargetBatch, /) -> AbstractContextManager[object]:
        return self._within("stream_backend")

    def piecewise(self, batch: EagerTargetBatch, /) -> AbstractContextManager[object]:
        return self._within("piecewise")

    def choose_stream_backend(self, batch: LiveBatch, /) -> None:
        self._call("choose_stream_backend", batch)

    def collect_inputs(self, batch: LiveBatch, /) -> str:
        self._call("collect_inputs", batch)
        return "inputs"

    def plan_decode_context(self, batch: EagerTargetBatch, /) -> None:
        self._call("plan_decode_context", batch)

    def prepare_model(self, batch: EagerTargetBatch, /) -> None:
        self._call("prepare_model", batch)

    def plan_attention(self, batch: EagerTargetBatch, /) -> None:
        self._call("plan_attention", batch)

    def drop_plan(self, batch: EagerTargetBatch, /) -> None:
        self._call("drop_plan", batch)

    def split_context(self, batch: EagerTargetBatch, /) -> str:
        self._call("split_context", batch)
        return "shards"

    def clear_context(self, batch: EagerTargetBatch, /) -> None:
        self._call("clear_context", batch)

    def forward(self, batch: EagerTargetBatch, inputs: str, /) -> Tensor:
        self._call("forward", batch, inputs)
        self.logits = torch.arange(1.0, batch.tokens + 1)
        return self.logits

    def forward_sharded(self, batch: EagerTargetBatch, inputs: str, shards: str, /) -> str:
        self._call("forward_sharded", batch, inputs, shards)
        return "hidden"

    def gather_context(self, batch: EagerTargetBatch, hidden: str, /) -> str:
        self._call("gather_context", batch, hidden)
        return "gathered"

    def compute_logits(self, batch: EagerTargetBatch, hidden: str, /) -> Tensor:
        self._call("compute_logits", batch, hidden)
        return torch.arange(1.0, batch.requests + 1)

    def pass_hidden_on(self, batch: EagerTargetBatch, hidden: str, /) -> Tensor:
        self._call("pass_hidden_on", batch, hidden)
        return torch.arange(1.0, batch.tokens + 1)

    def autotune(self, batch: EagerTargetBatch, /) -> None:
        self._call("autotune", batch)


def brought(collective: str, tokens: int, requests: int | None = None) -> tuple[int, ...]:
    """What another rank brings to an exchange, as many requests as tokens if none are given."""
    if collective == "mlp_sync_tokens":
        return int(tokens == 0), tokens
    if collective in ("mlp_sync_counts", "late_counts"):
        return (tokens,)
    rows = tokens if requests is None else requests
    return tokens, rows, rows


class Peers(SingleRank):
    """The second of two ranks, whose peer brings `tokens` rows."""

    count = 2

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.entered: list[str] = []

    def gather(self, *values: int, collective: str = "") -> Gathered:
        self.entered.append(collective)
        return values, brought(collective, self.tokens)

    def sum_of(self, *values: int, collective: str = "") -> tuple[int, ...]:
        return tuple(map(sum, zip(*self.gather(*values, collective=collective), strict=True)))
