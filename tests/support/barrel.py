"""A small engine unlike SGLang: one axis, one worker, buckets, names that Python uses itself."""

from __future__ import annotations

from collections.abc import Mapping

_ENGINE = """\
ullage: 1
engine: barrel
doc: 'A store''s \\\\"barrel\\": one axis, no draft.'

axes:
  rows: {doc: 'rows \u00d7 columns, said \"\"\"plainly\"\"\"'}

workers:
  main: {doc: the only process}

families:
  serving: what users wait for

parameters:
  ranks: {type: int, range: [1, 8], default: 1, doc: how many processes}
  input: {type: int, range: [1, 64], default: 12, doc: most rows of a batch}
  buckets:
    {type: list, range: [1, 128], default: [4, 8, 2 * input], doc: row counts to pad to}
  half: {type: int, range: [1, 4], default: 2, doc: what to halve by}
  window: {type: int, range: [1, 16], default: "min(input, 4) // half", doc: rows}
  depths: {type: list, range: [1, 8], when: deep, default: [2, 6], doc: depths in use}
  depth: {type: int, range: [1, 8], when: deep, varies: depths, default: 2, doc: present depth}
  validate: {type: enum, choices: [never, none, always], default: none, doc: when to look}
  deep: {type: bool, default: false, doc: more than one layer}
  pages: {type: int, range: [1, 512], default: 96, doc: pages of the pool}
  page: {type: int, range: [1, 16], doc: "elements of a page, which each engine has to say"}

constraints:
  - that: 2 * input <= max(buckets)
    else: some bucket holds every batch
  - that: window <= input and (not deep or validate != never)
    else: "a window is part of a batch; and: deep ones are looked at"
  - that: input // half >= 1
    else: half of a batch is something

definitions:
  usable: "[b for b in buckets if b <= 2 * input or b == max(buckets)]"
  layers: depth if deep else 1
  listed: validate in [none, always]
  role: worker

ranks: ranks
"""

_TRANSFORMS = """\
transforms:
  doubled:
    doc: each row comes twice
    in_batch: true
    rows: rows * 2
  agree:
    doc: every rank makes room for the largest count
    when: ranks > 1
    collective: {op: all_gather, group: world}
    let:
      largest: max_ranks(rows)
      unused: rows + 1
    rows: largest
  pad: {rows: "next_in(rows, buckets)"}
"""

_SLOTS = """\
slots:
  mode: {shape: [rows], dtype: int64, source: batch.mode, range: [0, 9], doc: named like a field}
  weights:
    {shape: [rows, width_of_weights], dtype: float32, source: batch.info.weights,
     modes: [serving], doc: two dimensions}
  square:
    {shape: [rows, rows], dtype: {accelerator: int16, cpu: int64}, source: batch.square,
     casts_from: [int64], modes: [serving], optional: true, range: [-4, 900]}
  flags: {shape: [rows], dtype: bool, source: batch.flags, when: deep, range: [0, 1]}
  hints:
    {shape: [rows], dtype: int32, source: batch.hints, when: deep, modes: [serving],
     optional: true, device: host}
  cells:
    {shape: ["sum_requests(length)"], dtype: int32, source: batch.cells, modes: [serving],
     range: [0, 99]}
  table:
    {shape: ["sum_requests(cdiv(size, page))"], dtype: int32, source: batch.table,
     modes: [fill], range: [0, pages]}
  constant: {shape: [3], dtype: int8, source: batch.constant, modes: [serving]}
  count: {shape: [1], dtype: int32, value: live_rows * layers, range: [0, 2^20]}
  is_full: {shape: [2], dtype: bool, value: live_rows == padded_rows}

carried:
  extra: {source: batch.extra, doc: whatever else there is}

readers:
  kernel:
    reads:
      mode: {rows: padded, fill: 7}
      flags: {rows: padded, fill: true}
      count: {rows: live}
  looker:
    modes: [serving]
    reads:
      weights: {rows: padded, fill: 1}
      square: {rows: padded, fill: -3}
      cells: {rows: live}
"""

_SERVE = """\
mode: serve
doc: one step
family: serving
live:
  rows: {range: [1, input], seen_in: ["batch.mode[0]", batch.size]}
  length: {per: rows, range: [1, 8], seen_in: batch.lengths, doc: cells of a row}
  where:
    - sum_requests(length) <= 4 * input
axes: {rows: rows}
pipeline: [agree, pad]
peers: []
"""

_REST = """\
mode: rest
doc: nothing to do
live: {}
axes: {rows: 0}
pipeline: [agree, pad]
peers: []
"""

_FILL = """\
mode: fill
doc: fills pages
live:
  rows: {range: [1, window], seen_in: batch.size}
  size: {per: rows, range: [1, 64], seen_in: assumed}
  extra_rows: {range: [0, 3], seen_in: batch.more}
  where:
    - sum_requests(size) <= pages * page
axes: {rows: rows * layers + extra_rows}
pipeline: []
peers: []
"""

_TWIN = """\
mode: twin
doc: every row has a twin
when: deep
family: serving
live:
  rows: {range: [1, input], seen_in: batch.size}
  length: {per: rows, range: [1, 8], seen_in: batch.lengths, doc: cells of a row}
axes: {rows: rows}
pipeline: [doubled, pad]
peers: []
"""

_RUNNER = """\
runner: plain
doc: runs what comes
workers: [main]
modes: all
slots: all
facts:
  ready: everything is set up
  loud: somebody listens
contexts:
  quiet: no output
steps:
  - {step: announce, when: loud}
  - {step: warn, padded: true, when: loud or deep}
  - {do: load}
  - {step: look, when: ready and listed, readers: [kernel, looker]}
  - {step: look_away, when: not ready}
  - {step: finish, within: [quiet, {context: quiet, when: deep and ready}]}
"""

BARREL: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    "slots.yaml": _SLOTS.replace("width_of_weights", "half"),
    "modes/serve.yaml": _SERVE,
    "modes/rest.yaml": _REST,
    "modes/fill.yaml": _FILL,
    "modes/twin.yaml": _TWIN,
    "runners/plain.yaml": _RUNNER,
}
