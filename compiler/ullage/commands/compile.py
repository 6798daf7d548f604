"""`ullage compile`: from a specs folder to generated packages, and what changed in them.

A compilation that has nothing to do is only as fast as what it imports, so this module imports
the compiler itself only when the cache has no answer, and the plain form of the command line is
read here, without the command line's library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ullage.cache import cache_of, key_of
from ullage.commands.compiled import Compiled, from_text, to_text
from ullage.commands.reporting import (
    Exit,
    Format,
    Json,
    exit_code,
    json_of,
    write_diagnostics,
    write_json,
)
from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.text.texts import TextSet, read_texts


@dataclass(frozen=True, slots=True)
class Request:
    """What to compile, where to, and how."""

    specs: Path
    out: Path
    check: bool = False
    allow_unproven: bool = False
    use_cache: bool = True
    output: Format = Format.TEXT


def plain_request(arguments: Sequence[str]) -> Request | None:
    """The request of `compile SPECS --out DIR` with plain flags; None for any other form."""
    if not arguments or arguments[0] != "compile":
        return None
    specs: list[str] = []
    out: list[str] = []
    flags: set[str] = set()
    rest = iter(arguments[1:])
    for argument in rest:
        if argument == "--out":
            out.extend(value for value in [next(rest, "-")] if not value.startswith("-"))
        elif argument in ("--check", "--allow-unproven", "--no-cache"):
            flags.add(argument)
        elif argument.startswith("-"):
            return None
        else:
            specs.append(argument)
    if len(specs) != 1 or len(out) != 1:
        return None
    return Request(
        Path(specs[0]),
        Path(out[0]),
        "--check" in flags,
        "--allow-unproven" in flags,
        "--no-cache" not in flags,
    )
