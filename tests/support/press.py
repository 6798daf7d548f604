"""Objects of a vendor's library: over slots, over rows of slots, in one axis, and over none."""

from __future__ import annotations

from support.specs import Files

_ENGINE = """\
ullage: 1
engine: press
doc: Attention by objects of a library.

axes:
  requests: {unit: requests, doc: rows of the batch}
  tokens: {unit: tokens, doc: token positions}

workers:
  main: {doc: the served model}
  helper: {when: helped, doc: a model that proposes}

parameters:
  max_requests: {type: int, range: [1, 64], unit: requests, default: 6, doc: most requests}
  max_tokens: {type: int, range: [1, 2^12], unit: tokens, per: worker, default: 40, doc: most}
  backend: {type: enum, choices: [plain, paged], default: paged, doc: who computes attention}
  layers: {type: int, range: [1, 8], when: fancy, default: 3, doc: layers of the model}
  columns: {type: int, range: [1, 64], default: 5, doc: columns of the tables}
  heads: {type: int, range: [1, 64], default: 8, doc: heads of this rank}
  marks: {type: int, range: [0, 9], default: 2, doc: which marks there are}
  helped: {type: bool, default: true, doc: whether there is a helper}
  lengths: {type: list, range: [1, 8], default: "[2, 6]", doc: what a round may last}
  length: {type: int, range: [1, 8], varies: lengths, default: 2, doc: what this round lasts}

definitions:
  one: {value: 1, unit: tokens/requests, doc: one token for each request}
  one_request: {value: 1, unit: requests}
  fancy: backend == paged
"""

_SLOTS = """\
transforms:
  align: {requests: "align_up(requests, 4)", tokens: "align_up(requests, 4) * one"}

slots:
  input_ids: {shape: [tokens], dtype: int64, source: batch.input_ids, range: [0, 99]}
  workspace: {shape: [64], dtype: uint8, when: fancy, written_by: forward}
  marks: {shape: [requests], dtype: int32, source: batch.marks, optional: true, range: [0, 9]}
  mode: {shape: [requests], dtype: int32, written_by: plan, modes: [decode], range: [0, 9]}

slot_groups:
  tables:
    when: fancy
    written_by: plan
    slots:
      offsets: {shape: [requests + one_request], dtype: int32, range: [0, 2^20]}
      table: {shape: [requests, columns], dtype: int32, range: [0, 2^20]}
      layer_offsets: {shape: [layers, requests + one_request], dtype: int32, range: [0, 2^20]}
      layer_table: {shape: [layers, requests, columns], dtype: int32, range: [0, 2^20]}
      token_table: {shape: [requests, tokens], dtype: int32, range: [0, 2^20]}
"""

_WRAPPERS = """\
wrappers:
  attention:
    doc: a token of each request against its keys
    library: press_kernels.paged.Attention
    when: fancy
    make:
      workspace: workspace
      offsets: offsets
      table: {slot: table, flat: true}
      graph: true
      narrow: heads < 4
      rounds: upper(length)
      number: 3
      layout: {text: 'heads "first"'}
    plan:
      heads: heads
      batch: {given: tensor}
      scale: {given: float}
      dtype: {given: dtype}
      max: {given: int}
      causal: {given: bool}
    run: {query: tensor, cache: tensors, self_: float}

  layer_attention:
    doc: the same for one layer
    library: press_kernels.paged.Attention
    when: fancy and heads > 1
    each: {layer: layers}
    make:
      offsets: {slot: layer_offsets, at: layer}
      table: {slot: layer_table, at: layer, flat: true}
      config: {given: tensors}
      layout: {text: NHD}
    plan:
      offsets: {slot: layer_offsets, at: layer}
      marks: {slot: marks}
    run: {query: tensor}

  mode:
    library: press_kernels.Sampler
    each: {part: heads}
    when: backend == paged or heads > 1
    make: {bias: {given: tensor}, count: marks + 1}
    plan: {modes: mode}
    run: {}
"""

_DECODE = """\
mode: decode
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
axes: {requests: requests, tokens: requests * one}
pipeline: [align]
"""

_PROMPT = """\
mode: prompt
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
  tokens: {range: [1, max_tokens], seen_in: "batch.input_ids[0]"}
axes: {requests: requests, tokens: tokens}
"""

_EAGER = """\
runner: eager
workers: [main, helper]
modes: all
slots: all
values: {output: logits}
steps:
  - {do: load}
  - {step: plan}
  - {step: forward, gives: output}
"""

PRESS: Files = {
    "engine.yaml": _ENGINE,
    "slots.yaml": _SLOTS,
    "wrappers.yaml": _WRAPPERS,
    "modes/decode.yaml": _DECODE,
    "modes/prompt.yaml": _PROMPT,
    "runners/eager.yaml": _EAGER,
}
