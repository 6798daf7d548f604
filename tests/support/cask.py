"""A small engine whose ranks agree twice, in two groups, and whose batches can be refused."""

from __future__ import annotations

from collections.abc import Mapping

_ENGINE = """\
ullage: 1
engine: cask
axes:
  rows: {doc: rows of the batch}
workers:
  main: {doc: the only process}
parameters:
  most: {type: int, range: [2, 64], default: 8, doc: most rows of a batch}
  spare: {type: int, range: [0, 9], default: 3, doc: rows that are kept free}
  cells: {type: int, range: [2, 999], default: 40, doc: cells of the pool}
  ranks: {type: int, range: [1, 8], default: 2, doc: ranks of each group}
  near: {type: bool, default: true, doc: agree with the near group twice}
constraints:
  - {that: spare < most, else: some row can be used}
definitions:
  usable: most - spare if near else most
  one: 1
ranks: ranks
"""

_TRANSFORMS = """\
transforms:
  first:
    when: near
    collective: {op: all_gather_max, group: near}
    rows: max_ranks(rows)
  second:
    collective: {op: all_gather_max, group: far}
    rows: max_ranks(rows)
  third:
    after: [second]
    arguments: [step]
    collective: {op: all_gather_max, group: near}
    rows: max_ranks(align_up(rows, step))
"""

_SLOTS = """\
slots:
  ids: {shape: [rows], dtype: int64, source: batch.ids, range: [0, 999]}
  table:
    {shape: ["sum_requests(size)"], dtype: int32, source: batch.table, modes: [step],
     range: [0, 999]}
readers:
  kernel: {reads: {ids: {rows: padded, fill: 5}}}
  looker: {modes: [step], reads: {table: {rows: live}}}
"""

_STEP = """\
mode: step
live:
  rows: {range: [one, usable], seen_in: batch.size}
  more: {range: [0, usable - rows], seen_in: batch.more}
  length: {per: rows, range: [1, most], seen_in: batch.lengths}
  size: {per: rows, range: [1, 9], seen_in: assumed, debug_in: batch.sizes}
  depth: {range: [0, most], seen_in: assumed, debug_in: batch.depth, doc: rows that wait}
  width: {range: [0, depth], seen_in: assumed, debug_in: "batch.grid[1]"}
  where:
    - sum_requests(length + 1) <= cells
    - sum_requests(size) <= cells
    - depth + width <= most
    - rows * one + more <= most
axes: {rows: rows + more}
pipeline: [first, second, third(step=4)]
"""

_REST = """\
mode: rest
live: {}
axes: {rows: 0}
pipeline: [first, second, third(step=4)]
peers: [step]
"""

_RUNNER = """\
runner: plain
workers: [main]
modes: all
slots: all
steps:
  - {do: load}
  - {step: run, readers: [kernel, looker]}
warm_up: {step: settle, modes: [step]}
"""

CASK: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "transforms.yaml": _TRANSFORMS,
    "slots.yaml": _SLOTS,
    "modes/step.yaml": _STEP,
    "modes/rest.yaml": _REST,
    "runners/plain.yaml": _RUNNER,
}
