"""The console script. Whatever it needs is imported inside, where an interrupt ends quietly."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Final

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code; `arguments` are those of the process if None."""
    given = list(sys.argv[1:] if arguments is None else arguments)
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
    from ullage.commands.app import app

    app(args=arguments, prog_name="ullage")
    return 0


def _survive_narrow_encodings() -> None:
    """A stream that cannot encode a character shows its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
