"""The console script. Whatever it needs is imported inside, where an interrupt ends quietly."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ullage.commands.reporting import Exit

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code; `arguments` are those of the process if None."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _survive_closed_streams()
    _survive_narrow_encodings()
    try:
        return _run(given)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0


def _run(arguments: list[str]) -> int:
    from ullage.commands import compile as command
    from ullage.commands.reporting import guarded

    request = command.plain_request(arguments)
    if request is not None:
        return guarded(lambda: command.run(request))
    return guarded(lambda: _other(arguments))


def _other(arguments: list[str]) -> Exit:
    """Any other command line, help and wrong usage included."""
    from ullage.commands.app import app
    from ullage.commands.reporting import Exit, discard_unread

    output = sys.stdout
    try:
        app(args=arguments, prog_name="ullage")
    except SystemExit as leaving:
        if sys.stdout is not output:  # the library puts aside what nobody reads any more
            raise BrokenPipeError from None
        return Exit(leaving.code) if isinstance(leaving.code, int) else Exit.OK
    except BrokenPipeError:  # commands see to their own, so this was a word on wrong usage
        discard_unread()
        return Exit.FAILED
    return Exit.OK


def _survive_closed_streams() -> None:
    """A stream that the caller has closed takes what is written to it nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # to the end


def _survive_narrow_encodings() -> None:
    """A stream that cannot encode a character shows its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
