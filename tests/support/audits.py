"""A small spec whose every batch can be enumerated, and audits of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.specs import write_spec
from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.audit.decide import audit
from ullage.audit.model import AuditReport, FormulaReport

_ENGINE = """\
ullage: 1
engine: small
axes:
  requests: {unit: requests}
  tokens: {unit: tokens}
workers:
  target: {doc: the served model}
parameters:
  rows: {type: int, range: [1, 5], unit: requests, default: 3}
  step: {type: int, range: [1, 4], default: 2}
  width: {type: int, range: [1, 3], unit: tokens/requests, default: 1}
  padded: {type: bool, default: false}
  style: {type: enum, choices: [narrow, wide, wider], default: narrow}
constraints:
  - {that: not padded or step != 3, else: rows are padded to a power of two}
definitions:
  one: {value: 1, unit: tokens/requests}
  branches: width if style != narrow else one
"""

_REST = """\
transforms:
  pad:
    when: padded
    requests: align_up(requests, step)
    tokens: align_up(tokens, step)
slots:
  ids: {shape: [tokens], dtype: int64, source: batch.ids, range: [0, 9]}
  grid: {shape: [3, tokens], dtype: int32, device: host, source: batch.grid, range: [0, 9]}
  lengths: {shape: [requests], dtype: int32, source: batch.lengths, range: [0, 9]}
readers:
  embedding:
    reads: {ids: {rows: live}, grid: {rows: live}, lengths: {rows: live}}
"""

_DECODE = """\
mode: decode
live:
  requests: {range: [1, rows], seen_in: batch.size}
axes: {requests: requests, tokens: requests * branches}
pipeline: [pad]
"""

_RUNNER = """\
runner: eager
workers: [target]
modes: all
slots: all
steps:
  - {do: load}
  - {step: forward, readers: [embedding]}
"""

SMALL: Mapping[str, str] = {
    "engine.yaml": _ENGINE,
    "rest.yaml": _REST,
    "decode.yaml": _DECODE,
    "eager.yaml": _RUNNER,
}


@dataclass(frozen=True, slots=True)
class Audited:
    """An analysis with its audit."""

    analysis: Analysis
    report: AuditReport

    def formula(self, audit_name: str, runner: str, target: str) -> FormulaReport:
        """One formula of one audit."""
        found = [
            each
            for each in self.report.of(audit_name)
            if (each.runner, each.target) == (runner, target)
        ]
        assert len(found) == 1, found
        return found[0]


def audited(folder: Path, files: Mapping[str, str]) -> Audited:
    """The audit of the files of a spec."""
    analysis = analyse(write_spec(folder, files))
    return Audited(analysis, audit(analysis))


def stating(*formulas: str, files: Mapping[str, str] = SMALL) -> Mapping[str, str]:
    """The files with one audit of the formulas, each the inside of a flow mapping."""
    lines = [f"  - {{runner: eager, {formula}}}\n" for formula in formulas]
    text = f"audit: stated\nquoted_from: a test\nformulas:\n{''.join(lines)}"
    return {**files, "stated.yaml": text}
