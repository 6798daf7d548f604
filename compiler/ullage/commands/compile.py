"""`ullage compile`: from a specs folder to generated packages, and what changed in them.

A compilation that has nothing to do is only as fast as what it imports, so this module imports
the compiler itself only when the cache has no answer, and the plain form of the command line is
read here, without the command line's library.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ullage.cache import Cache, cache_of, key_of
from ullage.commands.compiled import Compiled, from_text, to_text
from ullage.commands.naming import Naming, naming_of
from ullage.commands.reporting import (
    Exit,
    Format,
    Json,
    exit_code,
    json_of,
    leaving_allowed,
    refuse,
    write_diagnostics,
    write_json,
)
from ullage.diagnostics.diagnostic import Diagnostic, DiagnosticError
from ullage.emit.output import Changes, write_output
from ullage.place import Place
from ullage.text.texts import read_texts


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


def run(request: Request) -> Exit:
    """Compile, and say what changed; with `check` nothing is written and a difference is an error.

    Unproven capacities are refused unless they are allowed.
    """
    naming = naming_of(request.specs)
    try:
        compiled, texts = _compiled(request, naming)
    except DiagnosticError as error:
        raise naming.error(error) from None
    sources = naming.texts(texts)
    found = naming.diagnostics((*compiled.warnings, *_unproven(compiled, request)))
    code = exit_code(found)
    if code is not Exit.OK:
        return refuse(found, sources, request.output)
    folder = request.out / compiled.engine
    changes = write_output(
        compiled.files, folder, provenance=compiled.provenance, check=request.check
    )
    drift = _drift(request, folder, changes) if request.check else ()
    with leaving_allowed():
        if request.output is Format.JSON:
            write_json(_document(folder, changes, (*found, *drift)))
        else:
            sys.stdout.write(changes.diff if drift else _told(folder, changes))
    with leaving_allowed():
        write_diagnostics((*found, *drift), sources, request.output)
    return exit_code(drift)


def _compiled(request: Request, naming: Naming) -> tuple[Compiled, Mapping[str, str]]:
    """The compilation of the specs, from the cache if it is there, and the texts it is of."""
    cache = cache_of(os.environ) if request.use_cache else None
    key, texts = _identity(request.specs, naming) if cache is not None else (None, {})
    kept = cache.load(key) if cache is not None and key is not None else None
    compiled = None if kept is None else from_text(kept)
    if compiled is not None:
        return compiled, texts
    return _built(request, naming, cache)


def _identity(specs: Path, naming: Naming) -> tuple[str | None, Mapping[str, str]]:
    """The key of a specs folder in the cache and its texts; no key if it cannot be read."""
    try:
        texts = read_texts(specs, naming.stable)
    except DiagnosticError:  # a compilation meets the same errors, and those of the other files
        return None, {}
    return key_of(texts.digest, naming.stable), texts.texts


def _built(
    request: Request, naming: Naming, cache: Cache | None
) -> tuple[Compiled, Mapping[str, str]]:
    with _without_collection():
        from ullage.commands.build import build
        from ullage.commands.progress import progress
        from ullage.memory import Memory

        with progress(request.output is Format.TEXT) as report:
            memory = Memory(cache)
            compiled, sources = build(request.specs, naming.stable, report, memory)
    # The key of what was compiled: somebody may have edited the specs since they were first read.
    key = key_of(sources.digest, naming.stable)
    if cache is not None and key is not None:
        cache.store(key, to_text(compiled))
    return compiled, sources.texts


@contextmanager
def _without_collection() -> Iterator[None]:
    """Without looking for garbage: trees and proofs are kept to the end, and have no cycles.

    Nor are they looked at when the process ends; another compilation in it tidies up first.
    """
    collecting = gc.isenabled()
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


def _unproven(compiled: Compiled, request: Request) -> tuple[Diagnostic, ...]:
    """What is not proved: errors, or warnings if it is allowed."""
    if not request.allow_unproven:
        return compiled.unproven
    return tuple(replace(each, severity="warning") for each in compiled.unproven)


def _drift(request: Request, folder: Path, changes: Changes) -> tuple[Diagnostic, ...]:
    """An error if the folder is not what the specs say."""
    if not changes.any:
        return ()
    message = f"the folder is not what {request.specs.as_posix()} compiles to: {_counted(changes)}"
    hint = f"ullage compile {request.specs.as_posix()} --out {request.out.as_posix()}"
    return (Diagnostic("U901", message, Place(folder.as_posix(), 1, 1), hint),)


def _told(folder: Path, changes: Changes) -> str:
    """A line for each file that changed, and how many did not."""
    if not changes.any:
        return f"{folder.as_posix()}: nothing changed\n"
    named = [
        *(f"  added    {name}" for name in changes.added),
        *(f"  changed  {name}" for name in changes.changed),
        *(f"  removed  {name}" for name in changes.removed),
    ]
    return "\n".join([f"{folder.as_posix()}: {_counted(changes)}", *named]) + "\n"


def _counted(changes: Changes) -> str:
    kinds = {"added": changes.added, "changed": changes.changed, "removed": changes.removed}
    counts = [f"{len(names)} {kind}" for kind, names in kinds.items() if names]
    return ", ".join(counts)


def _document(folder: Path, changes: Changes, found: tuple[Diagnostic, ...]) -> Json:
    return {
        "folder": folder.as_posix(),
        "added": list(changes.added),
        "changed": list(changes.changed),
        "removed": list(changes.removed),
        "unchanged": changes.unchanged,
        "diff": changes.diff,
        "diagnostics": json_of(found),
    }
