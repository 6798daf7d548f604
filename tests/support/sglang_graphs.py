"""The buffers of SGLang's graph runners in some configurations, followed by hand from its rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from support.sglang_table import ROOT, Buffer, Row
from ullage.configuration.given import Plain

DATA = ROOT / "tests" / "data" / "sglang_graph_runners.json"

GRAPH_NAMES = {
    "pool": "request_pool_size",
    "hidden": "hidden_size",
    "vocab": "vocab_size",
    "decode_cfg": "capture_requests",
    "prefill_cfg": "capture_tokens",
    "enc_fill": "max_source_positions",
    "draft_recurrent_hidden": "draft_hidden_size",
    "draft_input_hidden": "draft_input_size",
    "mamba_track": "mamba_extra_buffer",
    "heads_local": "attention_heads",
    "v_dim": "value_head_size",
}
"""The names that the table has for what only graphs and their slots are sized by."""

Given = int | bool | str | list[int]
Slot = tuple[str, list[int], str]


class Tables(TypedDict):
    """What is recorded of the attention backends of one graph runner."""

    runner: str
    worker: str
    bytes: list[int]
    backends: list[list[Slot]]


@dataclass(frozen=True, slots=True)
class GraphRow:
    """One graph runner of the table; `captured` is its capture list, if the table has it."""

    name: str
    runner: str
    worker: str
    inputs: Mapping[str, Given]
    requests: int
    tokens: int
    captured: tuple[int, ...]
    buffers: tuple[Buffer, ...]

    def configuration(self) -> Mapping[str, Plain]:
        """The inputs as parameters of the spec."""
        plain = {name: value for name, value in self.inputs.items() if not isinstance(value, list)}
        base = Row(self.name, self.worker, plain, 0, 0).configuration()
        names = GRAPH_NAMES if self.runner == "prefill_graph" else _without_prompts(self.inputs)
        given: dict[str, Plain] = {
            **base,
            "enable_decode_graph": True,
            "enable_prefill_graph": self.runner == "prefill_graph",
        }
        given |= {names[name]: value for name, value in self.inputs.items() if name in names}
        given["is_encoder_decoder"] = "enc_fill" in self.inputs
        if "front" in self.inputs:
            steps = int(str(self.inputs["steps"]))
            given["mamba_conv_length"] = int(str(self.inputs["front"])) - (steps - 1)
        return given


def _without_prompts(inputs: Mapping[str, Given]) -> Mapping[str, str]:
    """The names without the list of prefill graphs, which not every configuration has."""
    return {name: parameter for name, parameter in GRAPH_NAMES.items() if name != "prefill_cfg"}


@dataclass(frozen=True, slots=True)
class TableRow:
    """The buffers of attention backends for one graph runner, and the bytes of each backend.

    Draft steps and layers have a backend each.
    """

    graphs: GraphRow
    backend: str
    runner: str
    worker: str
    backends: tuple[tuple[Buffer, ...], ...]
    bytes: tuple[int, ...]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(buffer for backend in self.backends for buffer in backend)

    def configuration(self) -> Mapping[str, Plain]:
        return {**self.graphs.configuration(), "attention_backend": self.backend}


DRAFT_STEPS, WHOLE = "draft_graph", "draft_extend_graph"
"""Of the backends of draft steps the table has the bytes alone: each is a whole one, with tables
for all kinds of batches, as the one that catches up with as many requests."""


def table_rows() -> list[TableRow]:
    found = json.loads(DATA.read_text(encoding="utf-8"))
    graphs = {row.name: row for row in graph_rows() if row.runner == "decode_graph"}
    return [
        TableRow(
            graphs[each["id"]],
            each["backend"],
            tables["runner"],
            tables["worker"],
            tuple(map(_buffers, _recorded(each["tables"], tables))),
            tuple(tables["bytes"]),
        )
        for each in found
        for tables in each["tables"]
    ]


def _recorded(all_tables: list[Tables], tables: Tables) -> list[list[Slot]]:
    if tables["runner"] != DRAFT_STEPS:
        return tables["backends"]
    assert tables["backends"] == []
    (whole,) = next(each["backends"] for each in all_tables if each["runner"] == WHOLE)
    return [whole for _ in tables["bytes"]]


def _buffers(slots: Iterable[Slot]) -> tuple[Buffer, ...]:
    return tuple(Buffer(name, tuple(shape), dtype) for name, shape, dtype in slots)


def graph_rows() -> list[GraphRow]:
    found = json.loads(DATA.read_text(encoding="utf-8"))
    return [
        GraphRow(
            each["id"],
            runner["runner"],
            runner["worker"],
            each["inputs"],
            runner["max_bs"],
            runner["max_num_token"],
            tuple(runner.get("capture_bs", ())),
            _buffers(runner["slots"]),
        )
        for each in found
        for runner in each["runners"]
    ]
