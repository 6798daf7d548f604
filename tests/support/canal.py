"""Runners that take turns, and some that run beside each other on streams of their own."""

from __future__ import annotations

from support.specs import Files

_ENGINE = """\
ullage: 1
engine: canal
doc: Prompts and decode batches on two streams, with a draft model.

axes:
  requests: {unit: requests, doc: rows of the batch}
  tokens: {unit: tokens, doc: token positions}

workers:
  target: {doc: the served model}
  draft: {when: drafts, doc: the model that proposes}

parameters:
  max_requests: {type: int, range: [1, 512], unit: requests, default: 24, doc: most requests}
  max_tokens: {type: int, range: [1, 2^16], unit: tokens, default: 300, doc: most prompt tokens}
  graph_rows: {type: int, range: [1, 64], unit: requests, default: 8, doc: rows of a graph}
  drafts: {type: bool, default: false, doc: whether a draft model proposes}
  streams: {type: bool, default: false, doc: whether prompts run beside decode batches}
  overlap:
    {type: bool, default: true, when: streams, doc: whether prompts also run beside each other}
  wide: {type: bool, default: false, doc: whether there is a table}

definitions:
  one: {value: 1, unit: tokens/requests, doc: one token for each request}
"""

_SLOTS = """\
slots:
  input_ids: {shape: [tokens], dtype: int64, source: batch.input_ids, range: [0, 99]}
  lengths: {shape: [requests], dtype: int32, source: batch.lengths, range: [0, 2^16]}
  table:
    {shape: [requests, 70], dtype: int32, source: batch.table, when: wide, optional: true,
     range: [0, 99]}
  host_lengths:
    {shape: [requests], dtype: int32, device: host, source: batch.host_lengths, optional: true,
     range: [0, 2^16]}

readers:
  embedding: {reads: {input_ids: {rows: padded, range: [0, 99]}}}
  attention: {reads: {lengths: {rows: padded, fill: 1}, table: {rows: live}}}
"""

_CONCURRENT = """\
concurrent:
  - {runners: [eager, graph], when: streams, doc: prompts and decode batches on two streams}
  - runners: [prompt_target, graph]
    when: overlap if streams else false
    doc: a captured prompt beside replayed batches
"""

_DECODE = """\
mode: decode
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
axes: {requests: requests, tokens: requests * one}
"""

_EXTEND = """\
mode: extend
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
  tokens: {range: [1, max_tokens], seen_in: "batch.input_ids[0]"}
  where: [requests * one <= tokens]
axes: {requests: requests, tokens: tokens}
"""

_STEPS = """\
workers: [target, draft]
slots: all
values: {output: logits}
steps:
  - {do: load}
  - {step: forward, gives: output, readers: [embedding, attention]}
  - {do: slice, takes: [output], gives: output}
"""

_EAGER = f"""\
runner: eager
modes: all
{_STEPS}"""

_GRAPH = f"""\
runner: graph
modes: [decode]
accepts: [requests <= graph_rows]
fallback: eager
{_STEPS}"""

_PROMPT = f"""\
runner: prompt
modes: [extend]
accepts: [tokens <= 32]
fallback: eager
{_STEPS}"""

CANAL: Files = {
    "engine.yaml": _ENGINE,
    "slots.yaml": _SLOTS,
    "concurrent.yaml": _CONCURRENT,
    "modes/decode.yaml": _DECODE,
    "modes/extend.yaml": _EXTEND,
    "runners/eager.yaml": _EAGER,
    "runners/graph.yaml": _GRAPH,
    "runners/prompt.yaml": _PROMPT,
}
