"""Spec files to trees of texts. YAML is text: nothing here decides what a scalar means.

PyYAML scans and parses; its resolver and constructor never run, and whatever makes YAML more
than text with structure (tags, anchors, merge keys, directives) is refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import yaml

from ullage.diagnostics.diagnostic import Collector, DiagnosticError
from ullage.text.compose import SPEC_RULE, Composer, EventLoader
from ullage.text.decoding import MAX_BYTES, decode, read_bytes
from ullage.text.nodes import Entry, Mapping, Node, Scalar, Sequence, kind_of
from ullage.text.positions import Source

__all__ = [
    "MAX_BYTES",
    "Entry",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "compose",
    "decode",
    "kind_of",
    "parse_bytes",
    "read_bytes",
    "read_file",
]


QUICK: Final[EventLoader | None] = getattr(yaml, "CSafeLoader", None)
"""The parser of libyaml, where PyYAML was built with it: ten times as quick, and as exact."""

PECULIAR: Final = re.compile(r"[\t?]|:\s*[\],}#]|[|>]\S*#")
"""What the two parsers do not read alike: tabs and `?` in plain texts, `{a: }`, and `|#`."""


def parse_bytes(data: bytes, name: str) -> Mapping:
    """The tree of one spec file. Raises DiagnosticError with all that is wrong, nothing else."""
    collector = Collector()
    text = decode(data, name, collector)
    tree = None if text is None else compose(text, name, collector)
    collector.raise_if_errors()
    if tree is None:  # pragma: no cover - either tree or error, for the type checker
        raise DiagnosticError(collector.diagnostics)
    return tree


def read_file(path: Path, name: str) -> Mapping:
    """The tree of the file at `path`, called `name` in messages. Raises DiagnosticError."""
    collector = Collector()
    data = read_bytes(path, name, collector)
    collector.raise_if_errors()
    return parse_bytes(data or b"", name)


def compose(text: str, name: str, collector: Collector, rule: str = SPEC_RULE) -> Mapping | None:
    """The tree of a decoded text, or None after recording at least one error.

    `rule`: what such a text is, for the error about one that is something else.
    """
    source = Source(name, text)
    tree = composed_quickly(source, rule)
    return Composer(source, collector, rule).compose() if tree is None else tree


def composed_quickly(source: Source, rule: str) -> Mapping | None:
    """The tree by the quick parser if nothing is wrong with it, so that one parser tells errors."""
    if QUICK is None or PECULIAR.search(source.text):
        return None
    try:
        return Composer(source, Collector(), rule, QUICK).compose()
    except yaml.YAMLError:
        return None
