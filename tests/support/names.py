"""An engine whose author has names for everything that generated code is made of."""

from __future__ import annotations

from collections.abc import Mapping

_ENGINE = """\
ullage: 1
engine: names
axes:
  count: {unit: requests}
  padded: {unit: tokens}
workers:
  batch: {doc: a worker}
  engine: {when: "torch == tensor", doc: another}
families:
  live: a family
parameters:
  torch: {type: enum, choices: [tensor, mode, name, value], default: mode}
  config: {type: enum, choices: [mro, config2], default: mro}
  of: {type: int, range: [1, 8], unit: requests, default: 3}
  present: {type: int, range: [1, 4], per: worker, default: 2}
  print: {type: list, range: [1, 9], when: dataclass, default: [1, 5]}
  list: {type: int, range: [1, 9], when: dataclass, varies: print, default: 1}
  dataclass: {type: bool, default: true}
  self_: {type: int, range: [1, 9], default: 4}
  defaults: {type: int, range: [0, 9], default: self_ // 2}
constraints:
  - {that: "self_ != 2 or dataclass", else: "ends with a quote\\" and a backslash \\\\"}
definitions:
  rows: present + 1
  cached_property: list if dataclass else 1
  one: {value: 1, unit: tokens/requests}
ranks: 1
"""

_TRANSFORMS = """\
transforms:
  pad:
    when: dataclass
    arguments: [ranks]
    collective: {op: all_gather_max, group: config}
    let: {extents: "max_ranks(padded * ranks)", live_rows: extents}
    padded: live_rows
"""

_SLOTS = """\
slots:
  config_slot: {shape: [count], dtype: int64, source: batch.views}
  views: {shape: [padded], dtype: int64, source: batch.problem, range: [0, 99]}
  copy: {shape: [padded, present], dtype: float32, source: batch.copy, optional: true}
  extents: {shape: [count], dtype: int64, source: batch.mode, when: dataclass}
  slots: {shape: [1], dtype: int64, value: live_count * cached_property}
carried:
  arenas: {source: batch.arenas}
readers:
  nullcontext:
    reads: {views: {rows: padded, fill: cached_property}, extents: {rows: padded, fill: 3}}
"""

_MODE = """\
mode: load
doc: "{{ not }} {% a %} template, but 'quoted' \\"twice\\""
family: live
category: inside
live:
  copy: {range: [1, of], seen_in: batch.config}
  live: {range: [1, 5], seen_in: "batch.views[0]"}
  where: [live <= 5]
axes: {count: copy, padded: copy * one}
pipeline: [pad(ranks=1)]
"""

_RUNNER = """\
runner: runner
workers: [batch, engine]
modes: all
slots: all
facts: {batch: a fact, pad: another}
contexts: {nullcontext: a context}
values: {engine: an engine, output: logits}
steps:
  - {step: execute, gives: engine, when: pad}
  - {do: load, when: dataclass}
  - within: [{context: nullcontext, when: batch}]
    steps:
      - {step: live, gives: output, readers: [nullcontext]}
      - {step: config, takes: [output], gives: output, when: cached_property > 1}
  - {do: slice, takes: [output], gives: output}
warm_up: {step: warm_up, modes: [load]}
"""

NAMES: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    "slots.yaml": _SLOTS,
    "modes/load.yaml": _MODE,
    "runners/runner.yaml": _RUNNER,
}
