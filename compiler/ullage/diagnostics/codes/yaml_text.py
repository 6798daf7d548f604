"""U1xx: what YAML offers beyond text with structure, and what is not YAML."""

from __future__ import annotations

from typing import Final

from ullage.diagnostics.entry import Code

CODES: Final = (
    Code(
        "U101",
        "not UTF-8",
        "A spec file is UTF-8 text, with or without a byte order mark.",
        "doc: caf\\xe9   # one byte of Latin-1",
        "Save the file as UTF-8.",
    ),
    Code(
        "U102",
        "file too large",
        "A spec file has at most 1 MiB; no hand-written spec comes near it.",
        "a file of 3 MiB",
        "Split the file; all files of the folder are read together.",
    ),
    Code(
        "U103",
        "character not allowed",
        "Control characters, lone surrogates, unusual line breaks and marks that change the "
        "direction of writing are refused, also when an escape makes them: they would show one "
        "text and compile another.",
        'doc: "a \\x1b b"',
        "Delete the character. Tabs and line feeds are allowed.",
    ),
    Code(
        "U104",
        "not YAML",
        "The YAML parser cannot read the file from this place on.",
        "doc: widths: three of them",
        "Put values that contain ': ', or start with punctuation, in quotes; align keys.",
    ),
    Code(
        "U105",
        "tag",
        "Tags such as !!int choose a type. Here the schema does, so tags are refused.",
        "tp_size: !!int 4",
        "Delete the tag, or put a value that starts with ! in quotes.",
    ),
    Code(
        "U106",
        "anchor or alias",
        "Anchors and aliases are refused: what a key means stands at the key, and a small file "
        "cannot grow without bound.",
        "first: &shared {rows: live}\nsecond: *shared",
        "Write the value out, or name an expression under definitions.",
    ),
    Code(
        "U107",
        "merge key",
        "The key << copies another mapping. It is refused, as aliases are.",
        "<<: {rows: live}",
        "Write the keys out.",
    ),
    Code(
        "U108",
        "key stands twice",
        "In one mapping a key stands once; YAML itself would silently keep the last.",
        "doc: one\ndoc: two",
        "Delete or rename one of the two.",
    ),
    Code(
        "U109",
        "key is not text",
        "Keys are plain or quoted text; lists, mappings and empty keys are refused.",
        "shape: {{tokens}}",
        "Put a value that starts with a bracket in quotes.",
    ),
    Code(
        "U110",
        "nested too deeply",
        "Lists and mappings nest at most 32 levels deep.",
        "shape: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[tokens]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
        "Flatten the value; the spec language needs about six levels.",
    ),
    Code(
        "U111",
        "second document",
        "A file is one YAML document; a line --- starts another one.",
        "mode: decode\n---\nmode: extend",
        "Put each document in a file of its own.",
    ),
    Code(
        "U112",
        "file is not a mapping",
        "The top level of a spec file is a mapping such as 'mode: decode'.",
        "- decode",
        "Write keys and values, or delete the empty file.",
    ),
    Code(
        "U113",
        "unquoted expression",
        "Inside {} and [] YAML ends a plain value at every comma and bracket. An expression "
        "with a call, a list or a comprehension falls apart there.",
        "expand: {requests: min(rows, cap)}",
        "Put the expression in quotes, or write the mapping over several lines.",
    ),
    Code(
        "U114",
        "directive",
        "Lines that start with % at the top of a file change how YAML is read. They are refused.",
        "%YAML 1.1\n---\nmode: decode",
        "Delete the line.",
    ),
)
