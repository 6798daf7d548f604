"""A small engine with tables that are written at the start and then left."""

from __future__ import annotations

from collections.abc import Mapping

_ENGINE = """\
ullage: 1
engine: dipper
axes:
  rows: {doc: rows of the batch}
workers:
  main: {doc: the only process}
parameters:
  most: {type: int, range: [2, 64], default: 6, doc: most rows of a batch}
  context: {type: int, range: [1, 4096], default: 90, doc: places of the longest sequence}
  page: {type: int, range: [1, 64], default: 16, doc: places of a page}
  mirrored: {type: bool, default: true, doc: pages are counted from the end as well}
  depths: {type: list, range: [1, 8], default: [2, 4], doc: what depth takes on}
  depth: {type: int, range: [1, 8], varies: depths, default: 4, doc: drafts of this round}
definitions:
  pages: cdiv(context, page)
transforms:
  fours: {rows: "align_up(rows, 4)"}
"""

_SLOTS = """\
slots:
  ids: {shape: [rows], dtype: int64, source: batch.ids}
  firsts:
    {shape: [pages], dtype: int64, lifetime: once, each: index, value: index * page,
     range: [0, context - 1], doc: the first place of each page}
  counts:
    {shape: [2, pages], dtype: {accelerator: int16, cpu: int32}, lifetime: once, each: index,
     when: mirrored, value: "index + 1 if index < pages else 2 * pages - index"}
  ends: {shape: [3], dtype: int32, device: host, modes: [pour], lifetime: once, value: context}
readers:
  kernel:
    reads:
      ids: {rows: padded, fill: 5}
      firsts: {rows: live}
      counts: {rows: live}
      ends: {rows: live}
"""

_MODE = """\
mode: NAME
live: {rows: {range: [1, most], seen_in: batch.size}}
axes: {rows: rows}
pipeline: [fours]
"""

_RUNNER = """\
runner: NAME
workers: [main]
modes: [MODES]
slots: all
steps:
  - {do: load}
  - {step: run, readers: [kernel]}
"""

DIPPER: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "slots.yaml": _SLOTS,
    "modes/pour.yaml": _MODE.replace("NAME", "pour"),
    "modes/drop.yaml": _MODE.replace("NAME", "drop"),
    "modes/stir.yaml": _MODE.replace("NAME", "stir"),
    "runners/plain.yaml": _RUNNER.replace("NAME", "plain").replace("MODES", "pour, drop"),
    "runners/second.yaml": _RUNNER.replace("NAME", "second").replace("MODES", "stir"),
}
