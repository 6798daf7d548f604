"""A spec that is derived and proved within a second, for tests of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_ENGINE = """\
ullage: 1
engine: tank
doc: A small engine with a draft model.

axes:
  requests: {unit: requests, doc: rows of the batch}
  tokens: {unit: tokens, doc: token positions}

workers:
  target: {doc: the served model}
  draft: {when: drafts, doc: the model that proposes}

families:
  decode: a fixed number of tokens for each request

parameters:
  max_requests: {type: int, range: [1, 512], unit: requests, default: 24, doc: most requests}
  max_tokens: {type: int, range: [1, 2^16], unit: tokens, default: 1000, doc: most tokens}
  tp_size: {type: int, range: [1, 64], default: 1, doc: ranks}
  policy: {type: enum, choices: [first, longest], default: first, doc: who goes first}
  drafts: {type: bool, default: false, doc: whether a draft model proposes}
  width:
    {type: int, range: [1, 16], unit: tokens/requests, when: drafts, default: 4,
     doc: tokens that a verify checks}

constraints:
  - that: max_requests * one <= max_tokens
    else: every running request brings at least one token

definitions:
  one: {value: 1, unit: tokens/requests, doc: one token for each request}
  step: width if drafts else one
"""

_TRANSFORMS = """\
transforms:
  pad_tokens:
    doc: attention wants whole tiles
    tokens: align_up(tokens, tp_size)
"""

_SLOTS = """\
slots:
  input_ids: {shape: [tokens], dtype: int64, source: batch.input_ids, range: [0, 99]}
  positions: {shape: [3, tokens], dtype: int64, source: batch.positions, range: [0, 2^31 - 1]}
  seq_lens: {shape: [requests], dtype: int32, source: batch.seq_lens, range: [0, 2^16]}
  seq_lens_host:
    {shape: [requests], dtype: int32, device: host, source: batch.seq_lens_host,
     range: [0, 2^16], optional: true}
  real_tokens: {shape: [1], dtype: int32, value: live_tokens, range: [0, 2^16]}

readers:
  embedding: {reads: {input_ids: {rows: padded, range: [0, 99]}}}
  rotary: {reads: {positions: {rows: padded, fill: 0}}}
  attention: {reads: {seq_lens: {rows: live}, seq_lens_host: {rows: live}}}
  routing: {reads: {real_tokens: {rows: live}}}
"""

_DECODE = """\
mode: decode
doc: one step of every running request
family: decode
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
axes:
  requests: requests
  tokens: requests * step
pipeline: [pad_tokens]
"""

_EXTEND = """\
mode: extend
doc: prompts, or chunks of them
when: worker == target
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
  tokens: {range: [1, max_tokens], seen_in: "batch.input_ids[0]"}
  where:
    - requests * one <= tokens
axes: {requests: requests, tokens: tokens}
pipeline: [pad_tokens]
"""

_EAGER = """\
runner: eager
doc: launches every mode without a graph
workers: [target, draft]
modes: all
slots: all
values: {output: logits}
steps:
  - {do: load}
  - {step: plan, readers: [attention]}
  - {step: forward, gives: output, readers: [embedding, rotary, routing]}
  - {do: slice, takes: [output], gives: output}
"""

_AUDIT = """\
audit: stated
doc: the sizes that the engine states
quoted_from: the engine's own runner
formulas:
  - {runner: eager, worker: draft, axis: requests, formula: max_requests, expect: proved}
  - runner: eager
    worker: target
    axis: tokens
    formula: max_tokens
    expect: overflows
"""

TANK: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    "slots.yaml": _SLOTS,
    "modes/decode.yaml": _DECODE,
    "modes/extend.yaml": _EXTEND,
    "runners/eager.yaml": _EAGER,
    "audits/stated.yaml": _AUDIT,
}


def write_tank(folder: Path, changes: Mapping[str, tuple[str, str]] | None = None) -> Path:
    """Writes the spec to `folder`/tank; `changes` replace one text by another in some files."""
    root = folder / "tank"
    for path, text in TANK.items():
        old, new = (changes or {}).get(path, ("", ""))
        assert not old or text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((text.replace(old, new) if old else text).encode())
    return root
