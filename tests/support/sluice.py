"""Specs with graph runners before the eager one: who takes a batch, and what is left to whom.

In `SLUICE` a runner takes all that fits; in `WEIR` the engine is asked, and there are three.
"""

from __future__ import annotations

from support.specs import Files, edited, with_file

_ENGINE = """\
ullage: 1
engine: sluice
doc: An engine whose decode batches run in captured graphs where they fit.
ranks: dp_size

axes:
  requests: {unit: requests, doc: rows of the batch}
  tokens: {unit: tokens, doc: token positions}

workers:
  target: {doc: the served model}

parameters:
  max_requests: {type: int, range: [1, 512], unit: requests, default: 24, doc: most requests}
  max_prompts: {type: int, range: [1, 8], unit: requests, default: 4, doc: most prompts}
  max_tokens: {type: int, range: [1, 2^16], unit: tokens, default: 64, doc: most prompt tokens}
  dp_size: {type: int, range: [1, 8], default: 1, doc: ranks that agree on rows}
  sync: {type: bool, default: dp_size > 1, doc: whether ranks pad to the same rows}
  cuda_graph: {type: bool, default: true, doc: whether decode batches run in graphs}
  sizes:
    {type: list, range: [1, 512], unit: requests, when: cuda_graph, default: [1, 2, 4, 8, 16],
     doc: rows of graphs}
  row_multiple: {type: int, range: [1, 8], default: 1, doc: rows of a graph come in these}

definitions:
  captured:
    {value: "[size for size in sizes if size % row_multiple == 0]", when: cuda_graph,
     doc: rows of the graphs that are captured}
  one: {value: 1, unit: tokens/requests, doc: one token for each request}
"""

_TRANSFORMS = """\
transforms:
  sync_rows:
    doc: all ranks take the largest count
    when: sync
    collective: {op: all_gather_max, group: dp}
    let: {rows: max_ranks(requests)}
    requests: rows
    tokens: rows * one
  bucket:
    doc: a graph has as many rows as it was captured with
    requests: next_in(requests, captured)
    tokens: next_in(requests, captured) * one
"""

_SLOTS = """\
slots:
  input_ids: {shape: [tokens], dtype: int64, source: batch.input_ids, range: [0, 99]}
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens, range: [0, 2^16]}

readers:
  embedding: {reads: {input_ids: {rows: padded, range: [0, 99]}}}
  attention: {reads: {seq_lens: {rows: padded, fill: 1}}}
"""

_DECODE = """\
mode: decode
doc: one token for each running request
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
axes: {requests: requests, tokens: requests * one}
pipeline: [sync_rows]
"""

_IDLE = """\
mode: idle
doc: waits for ranks that decode
when: sync
live: {}
axes: {requests: 0, tokens: 0}
pipeline: [sync_rows]
peers: [decode]
"""

_EXTEND = """\
mode: extend
doc: prompts
live:
  requests: {range: [1, max_prompts], seen_in: batch.size}
  tokens: {range: [1, max_tokens], seen_in: "batch.input_ids[0]"}
  where: [requests * one <= tokens]
axes: {requests: requests, tokens: tokens}
peers: []
"""

_GRAPH = """\
runner: decode_graph
doc: replays a graph
when: cuda_graph
workers: [target]
modes: [decode, idle]
slots: all
pipeline: [bucket]
accepts:
  - requests <= max(captured)
exclusive: true
fallback: eager
values: {output: logits}
steps:
  - {do: load}
  - {step: replay, gives: output, readers: [embedding, attention]}
  - {do: slice, takes: [output], gives: output}
"""

_EAGER = """\
runner: eager
doc: launches every mode without a graph
workers: [target]
modes: all
slots: all
values: {output: logits}
steps:
  - {do: load}
  - {step: forward, gives: output, readers: [embedding, attention]}
  - {do: slice, takes: [output], gives: output}
"""

SLUICE: Files = {
    "engine.yaml": _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    "slots.yaml": _SLOTS,
    "modes/decode.yaml": _DECODE,
    "modes/extend.yaml": _EXTEND,
    "modes/idle.yaml": _IDLE,
    "runners/decode_graph.yaml": _GRAPH,
    "runners/eager.yaml": _EAGER,
}

_PROMPT_GRAPH = """\
runner: prompt_graph
doc: replays a graph of prompts
workers: [target]
modes: [decode, extend]
slots: all
pipeline: [pad_tokens]
accepts:
  - live_tokens <= 16 or calm
  - not embeds and tokens <= most_graph_tokens
fallback: eager
facts: {embeds: embeddings stand in for token ids, calm: nobody waits}
steps:
  - {do: load}
  - {step: replay, readers: [embedding, attention]}
"""

_CAPTURE = """\
mode: capture
doc: a graph is captured with each number of rows
when: cuda_graph
live:
  requests: {range: [1, "max(captured)"], seen_in: batch.size}
axes: {requests: requests, tokens: requests * one}
peers: []
"""

WEIR: Files = with_file(
    "runners/prompt_graph.yaml",
    _PROMPT_GRAPH,
    files=edited(
        "transforms.yaml",
        ("transforms:\n", "transforms:\n  pad_tokens: {tokens: 'align_up(tokens, 4)'}\n"),
        files=edited(
            "engine.yaml",
            ("engine: sluice", "engine: weir"),
            (
                "  dp_size:",
                "  most_graph_tokens: {type: int, range: [1, 64], unit: tokens, default: 24}\n"
                "  dp_size:",
            ),
            files=edited(
                "runners/decode_graph.yaml",
                (
                    "fallback: eager",
                    "fallback: prompt_graph\n"
                    "promises: {decode: cuda_graph and max(captured) >= requests and not embeds}",
                ),
                ("exclusive: true", "facts: {embeds: embeddings stand in for token ids}"),
                ("requests <= max(captured)", "not embeds\n  - requests <= max(captured)"),
                ("modes: [decode, idle]", "modes: [decode, capture]\naccepts_all: [capture]"),
                files=with_file(
                    "modes/capture.yaml",
                    _CAPTURE,
                    files=edited(
                        "runners/eager.yaml",
                        ("modes: all", "modes: [decode, extend, idle]"),
                        files=SLUICE,
                    ),
                ),
            ),
        ),
    ),
)
