"""How a command ends: its exit code, and its diagnostics in the format that was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Final

from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.diagnostics.render import records, render_github, render_text, summary

Json = str | int | Sequence["Json"] | Mapping[str, "Json"] | None

# What is wrong with files, but not with how they are read and written.
_NOT_IO: Final = frozenset({"U901", "U910"})


class Exit(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    FOUND = 1  # diagnostics about a spec, configuration, batch, drift or audit
    FAILED = 2  # usage, input and output
    INTERRUPTED = 130  # as a shell reports SIGINT


class Format(StrEnum):
    """How results and diagnostics are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


class UsageError(Exception):
    """An argument that means nothing here; the message names what would."""


def guarded(action: Callable[[], Exit], output: Format = Format.TEXT) -> Exit:
    """Run a command; whatever goes wrong becomes a message and an exit code, not a traceback."""
    try:
        code = action()
        sys.stdout.flush()
        return code
    except DiagnosticError as error:
        return refuse(error.diagnostics, error.sources, output)
    except UsageError as error:
        sys.stderr.write(f"ullage: {error}\n")
        return Exit.FAILED
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        named = f": {error.filename}" if error.filename else ""
        sys.stderr.write(f"ullage: error[U912]: {error.strerror or error}{named}\n")
        return Exit.FAILED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _reader_left() -> Exit:
    """Whoever read the output has seen enough; the interpreter must not flush into it at exit."""
    for stream in (sys.stdout, sys.stderr):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return Exit.OK


def refuse(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], output: Format) -> Exit:
    """Write errors, as all that a command has to say, and answer the exit code they mean."""
    found = tuple(diagnostics)
    if output is Format.JSON:
        write_json({"diagnostics": json_of(found)})
    else:
        write_diagnostics(found, sources, output)
    return exit_code(found)


def write_diagnostics(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], output: Format
) -> None:
    """Text on the error stream with a summary; workflow commands where the runner reads them."""
    found = tuple(diagnostics)
    if not found:
        return
    if output is Format.GITHUB:
        sys.stdout.write(render_github(found))
    elif output is Format.TEXT:
        sys.stdout.flush()
        sys.stderr.write(f"{render_text(found, sources)}\n{summary(found)}\n")


def exit_code(diagnostics: Iterable[Diagnostic]) -> Exit:
    """OK without errors; FAILED if all of them are about reading and writing files."""
    codes = {found.code for found in diagnostics if found.severity == "error"}
    if not codes:
        return Exit.OK
    return Exit.FAILED if all(map(_is_io, codes)) else Exit.FOUND


def _is_io(code: str) -> bool:
    return code.startswith("U9") and code not in _NOT_IO


def write_json(document: Json) -> None:
    """One JSON document on the standard output."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def json_of(diagnostics: Iterable[Diagnostic]) -> Json:
    """The diagnostics as part of a JSON document."""
    return records(diagnostics)
