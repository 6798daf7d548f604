"""A small engine in which one switch decides whether batches are padded, and so what needs room."""

from __future__ import annotations

from collections.abc import Mapping

_ENGINE = """\
ullage: 1
engine: flume
axes:
  rows: {doc: rows of the batch}
workers:
  main: {doc: the only process}
parameters:
  most: {type: int, range: [2, 64], default: 6, doc: most rows of a batch}
  together: {type: bool, default: false, doc: batches are padded}
transforms:
  fours: {when: together, rows: "align_up(rows, 4)"}
"""

_SLOTS = """\
slots:
  ids: {shape: [rows], dtype: int64, source: batch.ids}
  lengths:
    {shape: [rows], dtype: {accelerator: int16, cpu: int32}, source: batch.lengths,
     casts_from: [int16], when: together, otherwise: carried, range: [0, 99]}
  marks:
    {shape: [rows], dtype: int32, device: host, source: batch.marks, optional: true, modes: [pour],
     when: together, otherwise: carried}
readers:
  kernel:
    reads:
      ids: {rows: padded, fill: 5}
      lengths: {rows: padded, fill: 1}
  marker: {modes: [pour], reads: {marks: {rows: live}}}
"""

_MODE = """\
mode: NAME
live: {rows: {range: [1, most], seen_in: batch.size}}
axes: {rows: rows}
pipeline: [fours]
"""

_RUNNER = """\
runner: plain
workers: [main]
modes: [pour, drop]
slots: all
steps:
  - {do: load}
  - {step: run, readers: [kernel, marker]}
warm_up: {step: settle, modes: [pour]}
"""

FLUME: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "slots.yaml": _SLOTS,
    "modes/pour.yaml": _MODE.replace("NAME", "pour"),
    "modes/drop.yaml": _MODE.replace("NAME", "drop"),
    "runners/plain.yaml": _RUNNER,
}
