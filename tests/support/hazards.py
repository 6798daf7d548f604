"""The least engine that a hazard needs, and what the compiler says about it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from support.generated import write_package
from support.specs import Files
from ullage.analyse import analyse
from ullage.analysis import Analysis
from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.diagnostics.render import render_text
from ullage.emit.package import emit
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
    `mended` replaces texts of the spec, which is then taken.
    """

    code: str
    at: str
    beside: tuple[str, ...]
    files: Files = field(repr=False)
    mended: Mapping[str, str] = field(repr=False)

    @property
    def right(self) -> Files:
        """The spec without the mistake."""
        files = dict(self.files)
        for old, new in self.mended.items():
            found = [path for path, text in files.items() if old in text]
            assert found, f"{old!r} stands in no file"
            files[found[0]] = files[found[0]].replace(old, new)
        return files


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
    """The message of a hazard, which is refused for its one reason; mended, it is not."""
    found = refusal(folder, hazard.files)
    assert [each.code for each in found.errors] == [hazard.code], found.text
    error = found.errors[0]
    assert found.at(error.place) == hazard.at, found.text
    assert tuple(found.at(place) for place, _ in error.related) == hazard.beside, found.text
    assert refusal(folder, hazard.right).text == ""
    return found.text


def golden_name(hazard: str) -> str:
    """The golden file with the message of a hazard."""
    return f"hazards/{hazard.replace(' ', '_')}.txt"


def imported(folder: Path, name: str, files: Files) -> ModuleType:
    """The package that is generated for a spec, under a name of its own."""
    specs, packages = folder / "specs", folder / "packages"
    specs.mkdir()
    write_package(packages / name, emit(analysed(specs, files)))
    sys.path.insert(0, str(packages))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(packages))
