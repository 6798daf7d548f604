"""The sizes of SGLang's eager runners in some configurations, followed by hand from its rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from ullage.configuration.given import Plain
from ullage.spec.model import BYTES_OF_DTYPE

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "sglang_eager_runner.json"

# The names that the table has for SGLang's arguments; a width of zero tokens stands for none.
NAMES = {
    "max_running": "max_running_requests",
    "ctx": "context_length",
    "chunk": "chunked_prefill_size",
    "page": "page_size",
    "steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "draft_tokens": "speculative_num_draft_tokens",
    "multi_layer": "enable_multi_layer_eagle",
    "dllm_block": "dllm_block_size",
}
ALGORITHMS = {"EAGLE": "eagle", "FROZEN_KV_MTP": "frozen_kv_mtp", "NGRAM": "ngram"}
DUMMY_POOL = 64  # what the frozen-KV draft worker allocates, since it reads the target's pool


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer as SGLang names it."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * BYTES_OF_DTYPE[self.dtype]


@dataclass(frozen=True, slots=True)
class Row:
    """One eager runner of the table."""

    name: str
    worker: str
    inputs: Mapping[str, int | bool | str]
    requests: int
    tokens: int
    buffers: tuple[Buffer, ...] = ()

    def configuration(self) -> Mapping[str, Plain]:
        """The inputs as parameters of the spec."""
        given: dict[str, Plain] = {
            parameter: self.inputs[name] for name, parameter in NAMES.items() if name in self.inputs
        }
        given["max_total_tokens_target"] = self.inputs["max_total"]
        given["is_encoder_decoder"] = any(each.name == "encoder_lens" for each in self.buffers)
        self._speculation(given)
        self._parallelism(given)
        return given

    def _speculation(self, given: dict[str, Plain]) -> None:
        if "spec" not in self.inputs:
            return
        algorithm = ALGORITHMS[str(self.inputs["spec"])]
        given["speculative_algorithm"] = algorithm
        if algorithm != "ngram":
            own = DUMMY_POOL if algorithm == "frozen_kv_mtp" else self.inputs["max_total"]
            given["max_total_tokens_draft"] = own

    def _parallelism(self, given: dict[str, Plain]) -> None:
        """Zigzag aligns to twice the context-parallel ranks."""
        ranks = max(1, int(self.inputs["cp_align"]) // 2)
        given["attn_cp_size"] = ranks
        given["tp_size"] = ranks * int(self.inputs["attn_tp"])
        given["moe_a2a_backend"] = "deepep" if self.inputs.get("mlp_sync") else "none"


def rows() -> list[Row]:
    return [
        Row(
            row["id"],
            row["worker"],
            row["inputs"],
            row["max_bs"],
            row["max_num_token"],
            tuple(Buffer(name, tuple(shape), dtype) for name, shape, dtype in row["slots"]),
        )
        for row in json.loads(DATA.read_text(encoding="utf-8"))
    ]
