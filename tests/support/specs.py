"""A small spec that uses most of the language, and what loading and resolving a spec says.

Tests about one rule change one line of `MINI` with `edited` and look at the problems found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from ullage.diagnostics.diagnostic import DiagnosticError
from ullage.diagnostics.render import render_text
from ullage.spec.check import ResolvedSpec, resolve
from ullage.spec.load import load_spec
from ullage.spec.model import Spec
from ullage.text.sources import load_sources, shown_name

Files = Mapping[str, str]
"""The texts of a spec folder by path."""

_ENGINE = """\
ullage: 1
engine: mini
doc: A small engine.

axes:
  requests: {unit: requests, doc: rows of the batch}
  tokens: {unit: tokens, doc: token positions}

workers:
  target: {doc: the served model}
  draft: {when: speculative, doc: the model that proposes}

families:
  decode: a fixed number of tokens for each request
  idle: no work on this rank

parameters:
  max_requests: {type: int, range: [1, 512], unit: requests, default: 24, doc: most requests}
  pool_tokens: {type: int, range: [2, 2^20], unit: tokens, per: worker, default: 4096}
  context: {type: int, range: [1, 2^16], unit: tokens, default: 2048}
  algorithm: {type: enum, choices: [none, chain, tree], default: none}
  widths: {type: list, range: [1, 16], unit: tokens/requests, default: [2, 4]}
  width:
    {type: int, range: [1, 16], unit: tokens/requests, varies: widths, when: speculative,
     default: 4}
  tp_size: {type: int, range: [1, 64], default: 1}
  sync: {type: bool, default: false}

constraints:
  - that: max_requests * one <= pool_tokens
    when: worker == target
    else: the pool holds a token for each request

definitions:
  rows: align_up(max_requests, tp_size)
  step: width if speculative else one
  one: {value: 1, unit: tokens/requests, doc: one token for each request}
  speculative: algorithm in [chain, tree]

ranks: tp_size
"""

_TRANSFORMS = """\
transforms:
  sync_rows:
    doc: all ranks take the largest aligned token count
    when: sync
    arguments: [per_request]
    collective: {op: all_gather_max, group: dp}
    let:
      padded: max_ranks(align_up(tokens, tp_size))
    requests: padded // per_request
    tokens: padded
"""

_SLOTS = """\
slots:
  input_ids:
    {shape: [tokens], dtype: int64, source: batch.input_ids, range: [0, 2^31 - 1]}
  lengths:
    {shape: [requests], dtype: {accelerator: int32, cpu: int64}, source: batch.lengths,
     casts_from: [int64], range: [0, context], optional: true, modes: [decode]}
  indices:
    {shape: [sum_requests(length)], dtype: int32, source: batch.indices, modes: [decode],
     range: [0, pool_tokens], on_overflow: refuse_config}
  token_count: {shape: [1], dtype: int32, value: live_tokens, range: [0, 2^31 - 1]}

carried:
  embeddings: {source: batch.embeddings, doc: in place of token ids}

readers:
  attention:
    doc: reads one padded slot
    modes: [decode]
    reads:
      lengths: {rows: padded, fill: 1}
      indices: {rows: live}
  embedding:
    reads: {input_ids: {rows: padded, range: [0, 99]}}
"""

_DECODE = """\
mode: decode
doc: one step of every running request
family: decode
category: decode
live:
  requests: {range: [1, max_requests], seen_in: batch.size}
  length: {per: requests, range: [1, context], seen_in: assumed, doc: tokens of a request}
  where:
    - sum_requests(length) <= pool_tokens
axes:
  requests: requests
  tokens: requests * step
pipeline:
  - sync_rows(per_request=step)
"""

_IDLE = """\
mode: idle
doc: waits for the ranks that decode
when: worker == target
family: idle
live: {}
axes: {requests: 0, tokens: 0}
pipeline:
  - sync_rows(per_request=step)
peers: [decode]
"""

_EAGER = """\
runner: eager
doc: launches every mode without a graph
workers: [target, draft]
modes: all
slots: all
facts:
  planned: the attention plan of this batch is made already
  last_rank: this rank holds the output head
contexts:
  timer: device time
values:
  hidden: hidden states
  output: logits
steps:
  - {do: load}
  - {step: plan, when: not planned, modes: [decode], readers: [attention]}
  - within: [{context: timer, when: sync}]
    steps:
      - {step: forward, gives: hidden, readers: [embedding]}
      - {step: logits, when: last_rank, takes: [hidden], gives: output}
      - {step: pass_on, when: not last_rank, takes: [hidden], gives: output}
  - {do: slice, takes: [output], gives: output}
warm_up: {step: autotune, modes: [decode]}
slack:
  tokens: idle ranks take as many
"""

_AUDIT = """\
audit: stated
doc: the sizes that the engine states
quoted_from: the engine's own eager runner
let:
  wide: rows * step
formulas:
  - {runner: eager, axis: requests, formula: rows, expect: proved}
  - runner: eager
    worker: target
    axis: tokens
    formula: wide
    expect: {idle: wastes, else: proved}
    when: sync
"""

MINI: Files = {
    "engine.yaml": _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    "slots.yaml": _SLOTS,
    "modes/decode.yaml": _DECODE,
    "modes/idle.yaml": _IDLE,
    "runners/eager.yaml": _EAGER,
    "audits/stated.yaml": _AUDIT,
}


def edited(path: str, *changes: tuple[str, str], files: Files = MINI) -> Files:
    """The files where, in one of them, each first text is replaced by its second."""
    text = files[path]
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        text = text.replace(old, new)
    return {**files, path: text}


def with_file(path: str, text: str, files: Files = MINI) -> Files:
    """The files and one more, whose text may be indented."""
    return {**files, path: dedent(text)}


def write_spec(folder: Path, files: Files) -> Path:
    """Writes the files below `folder`/mini, and answers that folder."""
    root = folder / "mini"
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    return root


def loaded(folder: Path, files: Files = MINI) -> Spec:
    """The spec that the files make. Raises DiagnosticError."""
    return load_spec(load_sources(write_spec(folder, files)))


def resolved(folder: Path, files: Files = MINI) -> ResolvedSpec:
    """The resolved spec that the files make. Raises DiagnosticError."""
    sources = load_sources(write_spec(folder, files))
    return resolve(load_spec(sources), sources.texts)


def golden_name(rule: str) -> str:
    """The golden file with what is shown when `rule` is broken."""
    return f"spec/{re.sub(r'[^a-z0-9]+', '_', rule.lower())}.txt"


def problems_of(folder: Path, files: Files) -> str:
    """What is wrong with the files, as the command line shows it; empty if they make a spec."""
    try:
        resolved(folder, files)
    except DiagnosticError as error:
        shown = render_text(error.diagnostics, error.sources)
        return shown.replace(f"{shown_name(folder / 'mini', Path.cwd())}/", "mini/")
    return ""
