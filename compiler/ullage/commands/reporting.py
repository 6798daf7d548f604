"""How a command ends: its exit code, and its diagnostics in the format that was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum, StrEnum
from typing import Final

from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.diagnostics.frame import printable
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
        return _failed(str(error))
    except BrokenPipeError:
        discard_unread()
        return Exit.OK
    except OSError as error:
        named = f": {error.filename}" if error.filename else ""
        return _failed(f"error[U912]: {error.strerror or error}{named}")
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _failed(message: str) -> Exit:
    with suppress(OSError):  # there may be no room for it either
        sys.stderr.write(f"ullage: {printable(message)}\n")
    discard_unread()
    return Exit.FAILED


@contextmanager
def leaving_allowed() -> Iterator[None]:
    """Writing that ends early, and without a failure, where the reader has seen enough.

    For commands whose exit code says more than that they came to their end.
    """
    try:
        yield
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        discard_unread()


def discard_unread() -> None:
    """What can be written no more goes nowhere; the interpreter flushes into it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def refuse(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], output: Format) -> Exit:
    """Write errors, as all that a command has to say, and answer the exit code they mean."""
    found = tuple(diagnostics)
    with leaving_allowed():
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
    narrow = not (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=narrow) + "\n")


def json_of(diagnostics: Iterable[Diagnostic]) -> Json:
    """The diagnostics as part of a JSON document."""
    return records(diagnostics)
