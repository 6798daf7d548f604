"""The least engine that a hazard needs, and what the compiler says about it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.specs import Files
from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.diagnostics.render import render_text
from ullage.place import Place

_ENGINE = """\
ullage: 1
engine: hazard
axes:
  requests: {unit: requests}
  tokens: {unit: tokens}
workers:
  target: {doc: the served model}
parameters:
  rows: {type: int, range: [1, 64], unit: requests, default: 8}
definitions:
  one: {value: 1, unit: tokens/requests}
transforms:
  pad: {requests: "align_up(requests, 4)", tokens: "align_up(tokens, 4)"}
"""

_DECODE = """\
mode: decode
live: {requests: {range: [1, rows], seen_in: batch.size}}
axes: {requests: requests, tokens: requests * one}
pipeline: [pad]
"""

_EAGER = """\
runner: eager
workers: [target]
modes: all
slots: all
steps:
  - {do: load}
  - {step: forward, readers: [kernel]}
"""

ENGINE, DECODE, EAGER, SLOTS = "engine.yaml", "decode.yaml", "eager.yaml", "slots.yaml"

LEAST: Files = {ENGINE: _ENGINE, DECODE: _DECODE, EAGER: _EAGER}
"""One axis pair, one padded mode, one runner whose only step has the reader `kernel`."""


def spec(slots: str, others: Files | None = None) -> Files:
    """The least engine with the text of its slots and readers; `others` replace whole files."""
    return {**LEAST, **(others or {}), SLOTS: slots}


@dataclass(frozen=True, slots=True)
class Hazard:
    """A spec that must be refused: with which code, and what stands at the places it names.

    `at` is the text at the main place, `beside` what stands at the related ones, in their order.
    """

    code: str
    at: str
    beside: tuple[str, ...]
    files: Files = field(repr=False)


def analysed(folder: Path, files: Files) -> Analysis:
    """All that the compiler finds out. Raises DiagnosticError."""
    for path, text in files.items():
        (folder / path).write_text(text)
    before = Path.cwd()
    os.chdir(folder)
    try:
        return analyse(Path())
    finally:
        os.chdir(before)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The errors of a spec, and the message as the command line shows it."""

    errors: tuple[Diagnostic, ...]
    text: str
    sources: Mapping[str, str]

    def at(self, place: Place) -> str:
        """What stands at a place."""
        line = self.sources[place.file].splitlines()[place.line - 1]
        return line[place.column - 1 : place.column - 1 + place.width]


def refusal(folder: Path, files: Files) -> Refusal:
    """What the compiler says of a spec that it refuses; of one that it takes, nothing."""
    try:
        analysed(folder, files)
    except DiagnosticError as error:
        errors = tuple(each for each in error.diagnostics if each.severity == "error")
        return Refusal(errors, render_text(errors, error.sources), error.sources)
    return Refusal((), "", {})


def check(hazard: Hazard, folder: Path) -> str:
    """Asserts that the hazard is refused for its one reason; the message that a user sees."""
    found = refusal(folder, hazard.files)
    assert [each.code for each in found.errors] == [hazard.code], found.text
    error = found.errors[0]
    assert found.at(error.place) == hazard.at, found.text
    assert tuple(found.at(place) for place, _ in error.related) == hazard.beside, found.text
    return found.text
