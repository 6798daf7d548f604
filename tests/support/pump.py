"""A small engine with SGLang's traits: two workers, speculation, padding over ranks, an audit."""

from __future__ import annotations

from collections.abc import Mapping

_ENGINE = """\
ullage: 1
engine: pump
axes:
  requests: {unit: requests}
  tokens: {unit: tokens}
workers:
  target: {doc: the served model}
  draft: {when: speculative, doc: the model that proposes tokens}
families:
  steady: a fixed number of tokens for each request
parameters:
  max_requests: {type: int, range: [1, 64], unit: requests, default: 8}
  pool: {type: int, range: [1, 2^20], unit: tokens, per: worker, default: 4096}
  chunk: {type: int, range: [1, 2^16], unit: tokens, default: 512}
  tp_size: {type: int, range: [1, 16], default: 1}
  dp_size: {type: int, range: [1, 16], default: 1}
  sync: {type: bool, default: false}
  speculative: {type: bool, default: false}
  topk: {type: int, range: [1, 8], when: speculative, default: 2}
  draft_tokens:
    {type: int, range: [2, 16], unit: tokens/requests, when: speculative, default: 4}
constraints:
  - that: tp_size % dp_size == 0
    else: every data-parallel rank has as many tensor-parallel ones
  - that: max_requests * one <= pool
    else: the pool holds a token for each running request
definitions:
  one: {value: 1, unit: tokens/requests}
  attn_tp_size: tp_size // dp_size
  width: draft_tokens if speculative else one
  limit: min(chunk, pool)
ranks: dp_size
"""

_TRANSFORMS = """\
transforms:
  expand_topk: {requests: requests * topk, tokens: tokens * topk}
  sync_rows:
    when: sync
    arguments: [per_request]
    collective: {op: all_gather_max, group: dp}
    requests: max_ranks(align_up(tokens, attn_tp_size) // per_request)
    tokens: max_ranks(align_up(tokens, attn_tp_size))
  sync_tokens:
    when: sync
    collective: {op: all_gather_max, group: dp}
    tokens: max_ranks(align_up(tokens, attn_tp_size))
"""

_SLOTS = """\
slots:
  input_ids: {shape: [tokens], dtype: int64, source: batch.input_ids, range: [0, 999]}
  lengths: {shape: [requests], dtype: int32, source: batch.lengths, range: [0, 2^20]}
  starts:
    {shape: [requests * one + one * requests], dtype: int32, source: batch.starts,
     modes: [extend], range: [0, 2^20]}
  live_count: {shape: [1], dtype: int32, value: live_tokens, range: [0, 2^20]}
readers:
  embedding: {reads: {input_ids: {rows: padded, range: [0, 999]}}}
  planner: {reads: {lengths: {rows: padded, fill: 1}}}
  masker: {reads: {lengths: {rows: padded, range: [1, 2^20]}}}
  extender: {modes: [extend], reads: {starts: {rows: live}}}
  counter: {reads: {live_count: {rows: live}}}
"""

_DECODE = """\
mode: decode
when: worker == target
family: steady
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
axes: {requests: requests, tokens: requests * width}
pipeline:
  - sync_rows(per_request=width)
"""

_IDLE = """\
mode: idle
when: worker == target
live: {}
axes: {requests: 0, tokens: 0}
pipeline:
  - sync_rows(per_request=width)
peers: [decode]
"""

_EXTEND = """\
mode: extend
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
  tokens: {range: [1, limit], seen_in: "batch.input_ids[0]"}
  where:
    - requests * one <= tokens
axes: {requests: requests, tokens: tokens}
pipeline: [sync_tokens]
peers: []
"""

_PROPOSE = """\
mode: propose
when: worker == draft
family: steady
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
axes: {requests: requests, tokens: requests * one}
pipeline:
  - expand_topk
  - sync_rows(per_request=one)
peers: []
"""

_RUNNER = """\
runner: eager
workers: [target, draft]
modes: all
slots: all
steps:
  - {do: load}
  - {step: forward, readers: [embedding, planner, masker, extender, counter]}
"""

_AUDIT = """\
audit: stated
quoted_from: the engine's own eager runner
let:
  rows: max_requests * (topk if worker == draft else 1)
  decoded: max_requests * width if worker == target else rows * one
  positions: max(decoded, limit)
  padded: align_up(rows * one, attn_tp_size) if sync else rows * one
formulas:
  - runner: eager
    worker: draft
    axis: requests
    formula: padded // one
    expect: proved
  - runner: eager
    worker: target
    axis: tokens
    formula: align_up(positions, attn_tp_size) if sync else positions
    expect: proved
  - runner: eager
    worker: draft
    axis: tokens
    formula: align_up(positions, attn_tp_size) if sync else positions
    expect: proved
  - runner: eager
    slot: starts
    formula: 2 * min(max_requests * one, limit)
    expect: proved
"""

PUMP: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    "slots.yaml": _SLOTS,
    "modes/decode.yaml": _DECODE,
    "modes/idle.yaml": _IDLE,
    "modes/extend.yaml": _EXTEND,
    "modes/propose.yaml": _PROPOSE,
    "runners/eager.yaml": _RUNNER,
    "audits/stated.yaml": _AUDIT,
}
