"""A small engine, some of whose buffers are written by steps of its own rather than by load."""

from __future__ import annotations

from collections.abc import Mapping

_ENGINE = """\
ullage: 1
engine: ladle
axes:
  rows: {doc: rows of the batch}
workers:
  main: {doc: the only process}
parameters:
  most: {type: int, range: [2, 64], default: 6, doc: most rows of a batch}
  classes: {type: int, range: [1, 99], default: 3, doc: scores of a row}
  masked: {type: bool, default: true, doc: the planner masks rows}
transforms:
  fours: {rows: "align_up(rows, 4)"}
"""

_SLOTS = """\
slots:
  ids: {shape: [rows], dtype: int64, source: batch.ids}
  scores:
    {shape: [rows, classes], dtype: float32,
     written_by: run, lifetime: runner, doc: what the model says}
  table:
    {shape: [2, rows], dtype: int32, written_by: {step: plan, rows: live}, modes: [pour],
     range: [0, 9]}
  picked: {shape: [rows], dtype: float32, source: batch.picked, range: [0, 1], lifetime: runner}
  mask:
    {shape: [rows], dtype: int8, written_by: {step: plan, rows: live}, when: masked}
readers:
  kernel:
    reads:
      mask: {rows: padded, fill: 1}
      ids: {rows: padded, fill: 5}
  looker: {modes: [pour], reads: {table: {rows: padded, fill: 7}}}
  sampler:
    reads:
      scores: {rows: padded, range: [0, 1]}
  picker: {modes: [pour], reads: {picked: {rows: live, from: second}}}
  chooser:
    reads:
      picked: {rows: padded, fill: 1}
      scores: {rows: live, from: plain}
"""

_POUR = """\
mode: pour
live: {rows: {range: [1, most], seen_in: batch.size}}
axes: {rows: rows}
pipeline: [fours]
"""

_DROP = """\
mode: drop
live: {rows: {range: [1, 2 * most], seen_in: batch.size}}
axes: {rows: rows}
pipeline: [fours]
"""

_RUNNER = """\
runner: plain
workers: [main]
modes: [pour, drop]
slots: [ids, scores, table, mask]
values: {output: scores of the batch}
steps:
  - {do: load}
  - {step: plan}
  - {step: run, gives: output, readers: [kernel, looker]}
  - {step: sample, takes: [output], readers: [sampler, picker]}
"""

_CHOOSE = """\
mode: choose
live: {rows: {range: [1, most], seen_in: batch.size}}
axes: {rows: rows}
pipeline: [fours]
"""

_CHOOSER = """\
runner: second
workers: [main]
modes: [choose]
slots: [ids, picked]
steps:
  - {do: load}
  - {step: choose, readers: [chooser]}
"""

LADLE: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "slots.yaml": _SLOTS,
    "modes/pour.yaml": _POUR,
    "modes/drop.yaml": _DROP,
    "modes/choose.yaml": _CHOOSE,
    "runners/plain.yaml": _RUNNER,
    "runners/second.yaml": _CHOOSER,
}
