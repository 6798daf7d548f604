"""Writing the output folder in one step, or saying what would change."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ullage.diagnostics.diagnostic import Collector, Diagnostic, DiagnosticError
from ullage.emit.output.changes import Changes, compare
from ullage.emit.output.lock import WAIT_SECONDS, locked
from ullage.emit.output.manifest import MANIFEST, render
from ullage.emit.output.names import check_folder, check_names
from ullage.emit.output.survey import Survey, survey
from ullage.emit.output.swap import (
    discard,
    leftovers,
    new_aside,
    recover,
    swap,
    sync_folder,
)
from ullage.place import Place

_SHOWN: Final = 10


def write_output(
    files: Mapping[str, str],
    folder: Path,
    *,
    provenance: Mapping[str, str],
    check: bool = False,
    wait_seconds: float = WAIT_SECONDS,
) -> Changes:
    """Make `folder` hold exactly `files` (by posix path) and their manifest; or only compare.

    The folder is whole at every moment, also when the process is killed. Raises DiagnosticError:
    U902 for files that Ullage did not write, U903 if it cannot be written (or another run writes
    for longer than `wait_seconds`), U910 for two files of one path.
    """
    wanted = _wanted(files, folder, provenance)
    try:
        found = _own(folder)
        changes = compare(found.files, wanted, folder.name, with_diff=check)
        if check or not (changes.any or leftovers(folder)):
            return changes
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder, wait_seconds):
            return _write(folder, wanted)
    except OSError as error:
        raise _refused("read" if check else "written", error, folder) from error


def _refused(done: str, error: OSError, folder: Path) -> DiagnosticError:
    reason = error.strerror or str(error)
    if isinstance(error.filename, str):  # its name only: messages hold no paths of a machine
        reason += f": {os.path.basename(error.filename)}"
    message = f"the folder cannot be {done}: {reason}"
    return DiagnosticError([Diagnostic("U903", message, _place(folder))])


def _wanted(
    files: Mapping[str, str], folder: Path, provenance: Mapping[str, str]
) -> dict[str, bytes]:
    collector = Collector()
    check_folder(folder, collector)
    check_names(files, collector, _place(folder))
    collector.raise_if_errors()
    # A lone surrogate, from a spec that holds one, is kept visible rather than refused here.
    data = {name: text.encode(errors="backslashreplace") for name, text in files.items()}
    return {**data, MANIFEST: render(data, provenance)}


def _place(folder: Path) -> Place:
    return Place(str(folder), 1, 1)


def _own(folder: Path) -> Survey:
    """What the folder holds, if all of it is Ullage's."""
    found = survey(folder)
    if found.damage is not None:
        message = f"the manifest {MANIFEST} is damaged: {found.damage}"
        hint = f"restore {MANIFEST}, or remove the folder and compile again"
        raise DiagnosticError([Diagnostic("U902", message, _place(folder), hint)])
    if found.foreign:
        raise _foreign(found.foreign, folder)
    return found


def _foreign(names: tuple[str, ...], folder: Path) -> DiagnosticError:
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    message = f"the folder holds what Ullage did not write: {shown}{more}"
    hint = "move it elsewhere, or choose an empty folder"
    return DiagnosticError([Diagnostic("U902", message, _place(folder), hint)])


def _write(folder: Path, wanted: Mapping[str, bytes]) -> Changes:
    recover(folder)
    found = _own(folder)  # again: it may have been restored, or written by another run
    changes = compare(found.files, wanted, folder.name, with_diff=False)
    if changes.any:
        _replace(folder, wanted, {name for name in wanted if found.files.get(name) == wanted[name]})
    return changes


def _replace(folder: Path, wanted: Mapping[str, bytes], kept: set[str]) -> None:
    aside = new_aside(folder)
    try:
        _write_tree(aside, wanted, folder, kept)
        swap(folder, aside)
        if late := survey(aside).foreign:  # saved there while this run was writing
            swap(folder, aside)
            raise _foreign(late, folder)
    finally:
        with suppress(OSError):  # what stays is removed by the next run
            discard(aside)


def _write_tree(aside: Path, wanted: Mapping[str, bytes], folder: Path, kept: set[str]) -> None:
    folders = sorted({parent for name in wanted for parent in (aside / name).parents})
    folders = [path for path in folders if path.is_relative_to(aside)]
    for path in folders:
        path.mkdir()  # never with parents: were `aside` gone, half a tree would come of it
    for name, data in wanted.items():
        if name in kept:
            _keep(folder / name, aside / name)
        else:
            _create(aside / name, data)
    for path in reversed(folders):
        sync_folder(path)


def _create(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _keep(old: Path, new: Path) -> None:
    """An unchanged file, as it is: build tools go by its time."""
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:  # a file system without links, or with too many of them
        shutil.copy2(old, new, follow_symlinks=False)
        with open(new, "rb") as file:
            os.fsync(file.fileno())
