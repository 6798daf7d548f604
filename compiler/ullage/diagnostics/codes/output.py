"""U9xx: files that are read and written."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U901",
        "generated code is out of date",
        "The checked-in output is not what the specs compile to.",
        "a spec edited without compiling",
        "Run 'ullage compile' and commit the result.",
    ),
    Code(
        "U902",
        "foreign file",
        "The output folder holds a file that this compiler did not write; it is not touched.",
        "generated/notes.txt",
        "Move the file elsewhere, or choose an empty folder.",
    ),
    Code(
        "U903",
        "cannot write",
        "The output could not be written; what was there before is unchanged.",
        "a read-only folder",
        "Check permissions and free space.",
    ),
    Code(
        "U904",
        "cannot read",
        "A spec file or folder is missing, or is not readable.",
        "a folder name with a typing error",
        "Check the path and its permissions.",
    ),
    Code(
        "U905",
        "no spec files",
        "The folder holds no *.yaml file.",
        "ullage check docs",
        "Name the folder with the specs.",
    ),
    Code(
        "U906",
        "link leaves the folder",
        "Specs are read from one folder. Links to files outside of it, and links to folders, "
        "are refused.",
        "specs/shared.yaml -> /etc/shared.yaml",
        "Copy the file into the folder.",
    ),
    Code(
        "U907",
        "file is called .yml",
        "Only *.yaml is read; a file that is silently left out would be a trap.",
        "specs/modes/decode.yml",
        "Rename it to .yaml.",
    ),
    Code(
        "U908",
        "too many files",
        "A specs folder holds at most 2000 files; this is probably another folder.",
        "ullage check /",
        "Name the folder with the specs.",
    ),
    Code(
        "U909",
        "file name not allowed",
        "File names appear in generated code and messages: letters, digits, dot, dash and "
        "underscore.",
        "specs/my mode.yaml",
        "Rename the file.",
    ),
    Code(
        "U910",
        "two writers of one file",
        "Two parts of the output have the same path.",
        "two runners of the same name",
        "Rename one of them.",
    ),
    Code(
        "U911",
        "formatter failed",
        "The formatter rejected generated code.",
        "an installation without ruff",
        "Install the pinned formatter; otherwise report the spec.",
    ),
    Code(
        "U912",
        "the system refused",
        "A file, folder or program could not be used, for a reason that the system gives.",
        "no space left on the device",
        "Correct what the message names, and run again; nothing was half-written.",
    ),
)
